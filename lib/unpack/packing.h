/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ways in which files are packed, and how they are told: by their first bytes. Those without a function are known
 * by their name only; libarchive would run a program for them.
 */
#pragma once

#include <archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packing {
	const char *name;
	const char *suffix;               /* the usual end of a file's name; NULL: there is none */
	const char *signature;            /* NULL: it has none */
	int (*support)(struct archive *); /* libarchive's; NULL: it is not unpacked here */
	bool is_of_layers;                /* layers of OCI images may be packed so */
};

/* The name of the packing whose signature these bytes are; NULL: unknown. */
const char *packing_name(const uint8_t *bytes, size_t count);

/* How a file is packed that begins with these bytes. may_be_lzma: which has no signature. NULL: not so that it is
 * unpacked. */
const struct packing *packing_find(const uint8_t *bytes, size_t count, bool may_be_lzma);

/* Do they begin a stream of lzma? 14 bytes tell. */
bool packing_is_lzma(const uint8_t *bytes, size_t count);

/* How long a file's name is without the suffix of a packing. */
size_t packing_stem_bytes(const char *file);
