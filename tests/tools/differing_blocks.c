/* SPDX-License-Identifier: GPL-2.0-or-later */
/* differing_blocks FILE FILE: in how many blocks of 4096 bytes they differ; what only one of them has differs. */
#include <stdio.h>
#include <string.h>

#include "support/cleanup.h"

#define BLOCK_BYTES 4096

int main(int argument_count, char **arguments)
{
	SCOPE_FCLOSE FILE *first = argument_count == 3 ? fopen(arguments[1], "r") : NULL;
	SCOPE_FCLOSE FILE *second = argument_count == 3 ? fopen(arguments[2], "r") : NULL;
	unsigned char one[BLOCK_BYTES], other[BLOCK_BYTES];
	unsigned long long differing = 0;
	size_t one_bytes, other_bytes;

	if (!first || !second) {
		fputs("usage: differing_blocks FILE FILE\n", stderr);
		return 2;
	}
	do {
		one_bytes = fread(one, 1, BLOCK_BYTES, first);
		other_bytes = fread(other, 1, BLOCK_BYTES, second);
		differing += one_bytes != other_bytes || memcmp(one, other, one_bytes) != 0;
	} while (one_bytes || other_bytes);
	printf("%llu\n", differing);
	return ferror(first) || ferror(second);
}
