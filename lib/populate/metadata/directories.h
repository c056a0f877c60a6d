/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the blocks of directories and of long symlinks. */
#pragma once

#include "populate/build/build.h"

/* After inode numbers and block placement. */
MUST_CHECK errcode_t directories_write(struct build *build);
