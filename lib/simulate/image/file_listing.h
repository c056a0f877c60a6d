/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of a simulated directory as lib/ondisk builds directories from them. */
#pragma once

#include "ondisk/directory.h"
#include "simulate/image/file_set.h"

#define FILE_LISTING_NAME_BYTES 12

struct file_listing_entry {
	const struct file_set *set; /* a subdirectory, else a file */
	uint32_t ino;
	char name[FILE_LISTING_NAME_BYTES];
};

struct file_listing {
	struct file_listing_entry *entries; /* owned: file_listing_close() */
	uint32_t count;
	uint32_t subdirectories;
};

/* Subdirectories, then the files that exist. ENOMEM, EFBIG (more than 2^32 entries). */
MUST_CHECK errcode_t file_listing_open(const struct file_set *set, struct file_listing *listing);

void file_listing_close(struct file_listing *listing);

struct directory_source file_listing_source(const struct file_listing *listing);
