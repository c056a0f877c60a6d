/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the inode tables and the maps of files, a group at a time. */
#ifndef POPULATE_INODES_H
#define POPULATE_INODES_H

#include "populate/build.h"

/* Needs the final places of everything (zeros punched). Adds what it counts to the report. */
MUST_CHECK errcode_t inodes_write(struct build *build, struct populate_report *report);

#endif
