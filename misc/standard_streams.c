// SPDX-License-Identifier: GPL-2.0-or-later
#include "standard_streams.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "support/io/flush.h"

void standard_streams_open(void)
{
	/* open() gives the lowest free number. With O_PATH both reading and writing fail, even where there is no /dev. */
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
		if (fcntl(stream, F_GETFD) < 0 && open("/", O_PATH) != stream)
			_exit(EXIT_FAILURE);
}

void exit_after_printing(const char *tool)
{
	errcode_t error = flush_output(stdout);

	if (error)
		fprintf(stderr, "%s: standard output: cannot write: %s\n", tool, error_message(error));
	exit(error ? EXIT_FAILURE : EXIT_SUCCESS);
}
