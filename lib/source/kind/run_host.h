/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's part of what a run depends on: programs, libraries, variables and files that no option names. */
#pragma once

#include "source/kind/run_files.h"

/* Adds this program, the libraries that decide what it makes, and the variables that change what it sees. ENOMEM. */
MUST_CHECK errcode_t run_host_add(struct run_files *files);

/* Adds the host's time zone. ENOMEM. */
MUST_CHECK errcode_t run_host_add_time_zone(struct run_files *files);

/*
 * Adds the host's accounts, whose names ACLs in an archive may have, and its time zone, in which zip has times. ENOMEM.
 */
MUST_CHECK errcode_t run_host_add_for_archives(struct run_files *files);

/* Adds what mke2fs(8) depends on, itself included. ENOMEM. */
MUST_CHECK errcode_t run_host_add_mke2fs(struct run_files *files);
