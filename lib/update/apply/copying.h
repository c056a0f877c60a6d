/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second stage of a batch: contents of files go to blocks that nothing refers to yet, by all workers. */
#pragma once

#include "update/apply/applying.h"

/* Also finds out the flags of files. Errors of reading name the file. */
MUST_CHECK errcode_t copy_contents(struct applying *applying);
