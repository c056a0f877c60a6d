/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was printed to a stream and may not have reached its file yet. */
#pragma once

#include <stdio.h>

#include "support/problem.h"

/* Writes it. The reason why it, or what was printed before, cannot be written; EIO if nothing says which. */
MUST_CHECK errcode_t flush_output(FILE *stream);
