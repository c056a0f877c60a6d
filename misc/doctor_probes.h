/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trials of e2populate --doctor. Each of these adds its findings, and leaves nothing behind. */
#pragma once

#include "doctor_findings.h"

/* Processors, memory, limits, the kernel and what it lets this user do. threads: how many are to work. */
void doctor_probe_host(struct findings *findings, unsigned int threads);

/* The programs that are run or recommended, and the libraries. */
void doctor_probe_programs(struct findings *findings);

/* The folders of temporary files and of the cache of layers. NULL: it is the usual one. */
void doctor_probe_own_folders(struct findings *findings, const char *layer_cache);

/* A source as -d names it. */
void doctor_probe_source(struct findings *findings, const char *name);

/*
 * The place of the image: a folder, a file in one, or a device. source: a file or folder with which it might share
 * blocks; NULL: the folder itself.
 */
void doctor_probe_image(struct findings *findings, const char *path, const char *source);
