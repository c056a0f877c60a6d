/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a tree as one stream: workers read pieces of it ahead, and each writes its own when those before it are
 * written. So one thread at a time writes while the others read, no more than a piece for each worker is in memory, and
 * what is written depends on the tree alone.
 */
#pragma once

#include "extract/output_sink.h"
#include "extract/tree_output.h"

/*
 * Errors of the output, ENOMEM, EINTR. A file whose beginning was written before the rest of it was found to be damaged
 * has zeros in its place. The problem is of the stream where nothing else is known.
 */
MUST_CHECK errcode_t in_order_write(struct extraction *extraction, struct output_sink *sink, struct problem *problem);
