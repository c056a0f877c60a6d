// SPDX-License-Identifier: GPL-2.0-or-later
#include "printed.h"

#include <stdlib.h>

#include <ext2fs/ext2fs.h>

#include "support/flush.h"

void exit_after_printing(const char *tool)
{
	errcode_t error = flush_output(stdout);

	if (error)
		fprintf(stderr, "%s: standard output: cannot write: %s\n", tool, error_message(error));
	exit(error ? EXIT_FAILURE : EXIT_SUCCESS);
}
