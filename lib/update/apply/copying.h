/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second stage of a batch: all workers write contents of files to blocks that nothing refers to yet. */
#pragma once

#include "update/apply/applying.h"

/* Also reads the flags of files. Errors of reading name the file. */
MUST_CHECK errcode_t copy_contents(struct applying *applying);
