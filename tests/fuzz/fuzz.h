/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the harnesses. Each passes any bytes to a parser, as a file of them would, and checks that it fails only
 * in the ways that its header allows. A broken promise ends the program by abort(3), as a sanitizer would.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "source/sources.h"
#include "support/problem.h"

/* libFuzzer, or tests/fuzz/replay.c, calls this for each input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/*
 * Where a harness has its own, libFuzzer asks it for another input to be made of one, in place, of at most so many
 * bytes; its new count. The other is libFuzzer's way of doing it (tests/fuzz/replay.c makes no inputs).
 */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t most);

#define FUZZ_CHECK(promise)                                                                                            \
	do {                                                                                                           \
		if (!(promise))                                                                                        \
			fuzz_fail(__FILE__, __LINE__, #promise);                                                       \
	} while (0)

_Noreturn void fuzz_fail(const char *file, int line, const char *promise);

struct fuzz_path {
	char text[PATH_MAX];
};

/* A file of these bytes in a folder that goes away in the end. name may lie in folders, which are made. */
struct fuzz_path fuzz_file(const char *name, const void *bytes, size_t count);

/* The folder itself. */
const char *fuzz_folder(void);

/* A failure has a problem of the same error, success has none; it is cleared. */
void fuzz_check_problem(errcode_t error, struct problem *problem);

/* The input up to a line of its own, "====", and what follows it. Empty at the end. */
struct fuzz_part {
	const uint8_t *bytes;
	size_t count;
};

struct fuzz_part fuzz_next_part(struct fuzz_part *rest);

/* Checks a tree's names, and reads its contents. */
void fuzz_check_tree(const struct tree *tree);

/* The tree of a source, whose names are checked and whose contents are read; NULL: it was refused. */
struct tree *fuzz_scan(const char *name);

/* The same of several, laid over each other. */
struct tree *fuzz_scan_layers(const char *const *names, uint32_t count, enum whiteout_form whiteouts);
