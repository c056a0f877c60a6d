/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A temporary file without a name, which goes away with its last descriptor. */
#pragma once

#include "support/problem.h"

/* For reading and writing, close-on-exec, in a folder. *descriptor is -1 after an error. Errors of open(2), ENOMEM. */
MUST_CHECK errcode_t unnamed_file_open(const char *folder, int *descriptor);
