/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the blocks of directories and of long symlinks. */
#ifndef POPULATE_DIRECTORIES_H
#define POPULATE_DIRECTORIES_H

#include "populate/build/build.h"

/* After inode numbers and block placement. */
MUST_CHECK errcode_t directories_write(struct build *build);

#endif
