/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_NAME FILE...: the harness's function for each file, as libFuzzer calls it. How many there were. */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "support/io/whole_io.h"

/* The memory has the file's exact length, so that a sanitizer sees reads beyond it. */
static uint8_t *read_file(const char *path, size_t *count)
{
	struct stat status;
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);

	if (descriptor < 0 || fstat(descriptor, &status))
		err(2, "%s", path);
	*count = (size_t)status.st_size;
	uint8_t *bytes = malloc(*count ? *count : 1);

	if (!bytes || whole_read(descriptor, bytes, *count, 0))
		errx(2, "%s: cannot be read", path);
	return bytes;
}

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t most)
{
	(void)bytes;
	(void)most;
	return count;
}

int main(int argument_count, char **arguments)
{
	for (int n = 1; n < argument_count; n++) {
		size_t count;
		uint8_t *bytes = read_file(arguments[n], &count);

		if (getenv("FUZZ_SHOW"))
			fprintf(stderr, "%s\n", arguments[n]);
		LLVMFuzzerTestOneInput(bytes, count);
		free(bytes);
	}
	printf("%d\n", argument_count - 1);
	return EXIT_SUCCESS;
}
