/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Headers of tar: a block of 512 bytes as POSIX's ustar has it, and before it, in a file of its own, the records of pax
 * for all that has no room there. Facts and names are those of POSIX.1-2017 (pax), of tar(5) of libarchive and of GNU
 * tar's manual (sparse files 1.0, SCHILY records).
 */
#pragma once

#include "tree/tree.h"

#define TAR_BLOCK_BYTES 512u

/* What a header says. */
struct tar_member {
	const char *path; /* ends in a slash where it is a directory */
	const char *link; /* target of a hard or symbolic link; NULL: it is none */
	char type;        /* '0' to '6' of POSIX */
	uint32_t mode, uid, gid;
	uint32_t major, minor;
	uint64_t size_bytes; /* that follow the header, without what fills the last block */
	int64_t mtime_seconds;
	uint32_t mtime_nanoseconds;
	bool is_sparse;
	uint64_t real_bytes; /* of a sparse file */
};

/* Records, one after the other. Zero-initialise; bytes are the caller's to free. */
struct tar_records {
	char *bytes;
	size_t count, capacity;
};

/* "LENGTH KEYWORD=VALUE\n", with any bytes as the value. ENOMEM. */
MUST_CHECK errcode_t tar_record_add(struct tar_records *records, const char *keyword, const void *value,
                                    size_t value_bytes);
MUST_CHECK errcode_t tar_record_add_number(struct tar_records *records, const char *keyword, uint64_t number);

/* As decimal fractions: -1 second and 0.25 seconds are -0.75. */
MUST_CHECK errcode_t tar_record_add_time(struct tar_records *records, const char *keyword, int64_t seconds,
                                         uint32_t nanoseconds);

/* Adds records of what the member has no room for in its block. ENOMEM. */
MUST_CHECK errcode_t tar_records_complete(struct tar_records *records, const struct tar_member *member);

/* The member's own block, and that of the records that go before it. */
void tar_block_fill(const struct tar_member *member, uint8_t block[TAR_BLOCK_BYTES]);
void tar_records_block_fill(const struct tar_member *member, size_t records_bytes, uint8_t block[TAR_BLOCK_BYTES]);

/* How many bytes fill the last block. */
static inline size_t tar_padding(uint64_t bytes)
{
	return (size_t)(-bytes % TAR_BLOCK_BYTES);
}
