/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What would be lost: like mke2fs(8), look at what the image or device holds now, and ask the user at the terminal. */
#pragma once

#include <stdbool.h>

/*
 * True if path holds nothing that libblkid knows, if there is no terminal to ask at (both standard input and output,
 * as for mke2fs), or if the answer is yes.
 */
bool existing_may_go(const char *path);
