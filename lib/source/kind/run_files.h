/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run of a tool reads and what it writes, by name, so that a program that runs the tool can tell whether the run
 * has to be done again. No contents are read but those of the host's own small files.
 *
 * The digest is over one line for each input, sorted, so that the order of adding does not count; equal lines count
 * once. Memory is for the entries alone: of a folder, however many files it has, there is one.
 */
#pragma once

#include <nettle/sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/kind/folder_sum.h"
#include "support/io/file_version.h"
#include "support/problem.h"

#define RUN_FILES_DIGEST_BYTES (2 * SHA256_DIGEST_SIZE + 1)
#define RUN_FILES_FOLDER_DIGEST_BYTES 33

enum run_file_kind {
	RUN_FILE_REGULAR,
	RUN_FILE_DEVICE,
	RUN_FILE_FOLDER, /* of outputs only */
	RUN_FILE_STREAM, /* a pipe, a terminal, a character device: nothing tells what comes through it */
	RUN_FILE_MISSING,
};

struct run_file {
	const char *role; /* a literal, see e2populate(8), INPUTS AND OUTPUTS */
	char *path;       /* owned; as the tool opens it */
	enum run_file_kind kind;
	uint64_t offset_bytes, bytes; /* an input: the part that is read */
	struct file_version version;  /* not of a stream, and of what is missing */
	bool is_left_out;             /* an output: it lies in a source, which is read without it; any thread sets it */
	bool is_own;                  /* a folder that holds nothing but the tool's files */
	bool is_host; /* a file of the host itself, which each host has for itself: it counts by its contents, too */
	char contents[RUN_FILES_DIGEST_BYTES]; /* with is_host: their sha256; empty: it is missing */
};

struct run_folder {
	const char *role;
	char *path; /* owned */
	struct folder_sum sum;
};

struct run_variable {
	const char *name;
	char *value; /* owned; NULL: it is not set */
};

struct run_program {
	char *name, *version, *path; /* owned; version NULL: unknown, path NULL: a library, or not found */
	struct file_version file;
};

/* Zero-initialise. */
struct run_files {
	bool names_outputs_only; /* set by the caller: nobody asks for inputs, and what is added of them is dropped */
	struct run_file *inputs, *outputs;
	struct run_folder *folders;
	struct run_variable *variables;
	struct run_program *programs;
	size_t input_count, input_capacity, output_count, output_capacity, folder_count, folder_capacity;
	size_t variable_count, variable_capacity, program_count, program_capacity;
};

void run_files_clear(struct run_files *files);

/*
 * Adds a file that is read from offset_bytes on. "-" is standard input. A file that cannot be examined counts as
 * missing. ENOMEM, as of all that follow.
 */
MUST_CHECK errcode_t run_files_read(struct run_files *files, const char *role, const char *path, uint64_t offset_bytes);

/* Adds a small file that belongs to the host, and reads it. */
MUST_CHECK errcode_t run_files_read_host(struct run_files *files, const char *role, const char *path);

MUST_CHECK errcode_t run_files_read_folder(struct run_files *files, const char *role, const char *path,
                                           const struct folder_sum *sum);

/* Adds a variable of the environment with its value. */
MUST_CHECK errcode_t run_files_use_variable(struct run_files *files, const char *name);

/* Adds a program, found by program_find() if path is NULL, or a library: version is known, and path is "". */
MUST_CHECK errcode_t run_files_use_program(struct run_files *files, const char *name, const char *version,
                                           const char *path);

/* Adds a file that is written; run_files_see_outputs() examines it. */
MUST_CHECK errcode_t run_files_write(struct run_files *files, const char *role, const char *path);

/* Adds a folder that files come into and go from. is_own: it holds nothing else. */
MUST_CHECK errcode_t run_files_use_folder(struct run_files *files, const char *role, const char *path, bool is_own);

/* Examines all outputs as they are now. */
void run_files_see_outputs(struct run_files *files);

/* Is this file of a source an output, as it was seen? Then it is to be left out, and is marked. Any thread. */
bool run_files_leave_out(struct run_files *files, const struct stat *status);

/* A folder's sum as hexadecimal digits. */
void run_files_folder_digest(const struct folder_sum *sum, char digest[RUN_FILES_FOLDER_DIGEST_BYTES]);

/* Is the input written by the run, too? Then it does not count in the digest. */
bool run_files_is_output(const struct run_files *files, const struct run_file *input);

/* Its path without links: what is renamed to it is made beside this one. The caller frees it; NULL: no memory. */
char *run_file_place(const struct run_file *file);

/* Is this the name of an output while it is made? */
bool run_files_is_temporary(const struct run_files *files, const char *name);

/*
 * The digest as hexadecimal digits; empty if nothing can tell whether an input has changed, that is, if there is a
 * stream or a device. is_portable: for hosts that share sources, and have files of their own: these count by their
 * contents, and programs by name, version and size.
 */
MUST_CHECK errcode_t run_files_digest(const struct run_files *files, bool is_portable,
                                      char digest[RUN_FILES_DIGEST_BYTES]);
