/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was printed to a stream and may not have reached its file yet. */
#ifndef SUPPORT_FLUSH_H
#define SUPPORT_FLUSH_H

#include <stdio.h>

#include "support/problem.h"

/* Writes it. The reason why it, or what was printed before, cannot be written; EIO if nothing says which. */
MUST_CHECK errcode_t flush_output(FILE *stream);

#endif
