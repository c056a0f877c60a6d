/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/directory_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

/*
 * The largest hash that an entry may have; the even number above it is the kernel's mark for the end. libext2fs 1.47
 * does not fold it, so its e2fsck would object to a run of folded names longer than a leaf; we follow the kernel.
 */
#define HASH_END 0xfffffffeu
#define HASH_MAX 0xfffffffcu

errcode_t directory_hash(const struct ondisk_format *format, const struct directory_name *name, bool is_casefolded,
                         uint32_t *hash, uint32_t *minor)
{
	errcode_t error = ext2fs_dirhash2(format->hash_version, name->name, name->length_bytes, format->encoding,
	                                  is_casefolded ? EXT4_CASEFOLD_FL : 0, format->hash_seed, hash, minor);

	if (!error && *hash == HASH_END)
		*hash = HASH_MAX;
	return error;
}

errcode_t directory_source_hash(const struct ondisk_format *format, const struct directory_source *source,
                                uint32_t entry, struct directory_hashes *hashes)
{
	if (source->hashes) {
		*hashes = source->hashes(source->context, entry);
		return 0;
	}
	const struct directory_name name = source->name(source->context, entry);

	return directory_hash(format, &name, source->is_casefolded, &hashes->hash, &hashes->minor);
}

static int compare_keys(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left;
	const uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

#define RADIX_BITS 11
#define RADIX_PASSES 3    /* for the 32 bits of a hash */
#define RADIX_FEWEST 256u /* with fewer, clearing the counts takes as long as qsort() */

/*
 * Sorts keys by hash, and keeps the order of equal hashes, in three passes: qsort() takes 3 times as long for 500
 * keys, 14 times for 20 000 and 7 times for 2 million.
 */
static void order_by_hash(uint64_t *keys, uint64_t *spare, size_t count)
{
	uint32_t places[RADIX_PASSES][1u << RADIX_BITS] = { { 0 } };

	for (size_t i = 0; i < count; i++)
		for (unsigned int pass = 0; pass < RADIX_PASSES; pass++)
			places[pass][directory_key_hash(keys[i]) >> (pass * RADIX_BITS) & ((1u << RADIX_BITS) - 1)]++;
	for (unsigned int pass = 0; pass < RADIX_PASSES; pass++) {
		uint64_t *const from = pass % 2 ? spare : keys, *const to = pass % 2 ? keys : spare;
		uint32_t next = 0;

		for (size_t digit = 0; digit < 1u << RADIX_BITS; digit++) {
			const uint32_t place = next;

			next += places[pass][digit];
			places[pass][digit] = place;
		}
		for (size_t i = 0; i < count; i++) {
			const uint32_t digit = directory_key_hash(from[i]) >> (pass * RADIX_BITS);

			to[places[pass][digit & ((1u << RADIX_BITS) - 1)]++] = from[i];
		}
	}
	memcpy(keys, spare, count * sizeof(*keys));
}

static errcode_t sort_keys(uint64_t *keys, size_t count)
{
	if (count < RADIX_FEWEST) {
		qsort(keys, count, sizeof(*keys), compare_keys);
		return 0;
	}
	SCOPE_FREE uint64_t *spare = malloc(count * sizeof(*spare));

	if (!spare)
		return ENOMEM;
	order_by_hash(keys, spare, count);
	return 0;
}

/*
 * Orders count keys of equal hash by minor hash, which is computed again rather than kept: of n names about
 * n^2 / 2^32 share a hash, 10 pairs in 200 000.
 */
static errcode_t order_equals(const struct ondisk_format *format, const struct directory_source *source, uint64_t *keys,
                              size_t count)
{
	const uint32_t hash = directory_key_hash(keys[0]);

	for (size_t i = 0; i < count; i++) {
		const uint32_t entry = directory_key_entry(keys[i]);
		struct directory_hashes hashes;
		errcode_t error = directory_source_hash(format, source, entry, &hashes);

		if (error)
			return error;
		keys[i] = (uint64_t)hashes.minor << 32 | entry;
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count; i++)
		keys[i] = (uint64_t)hash << 32 | directory_key_entry(keys[i]);
	return 0;
}

errcode_t directory_order(const struct ondisk_format *format, const struct directory_source *source, uint64_t **ret)
{
	const size_t count = source->count;
	SCOPE_FREE uint64_t *keys = malloc(count * sizeof(*keys));

	if (!keys)
		return ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct directory_hashes hashes;
		errcode_t error = directory_source_hash(format, source, (uint32_t)i, &hashes);

		if (error)
			return error;
		keys[i] = (uint64_t)hashes.hash << 32 | i;
	}
	errcode_t error = sort_keys(keys, count);

	if (error)
		return error;
	for (size_t start = 0, end; start < count; start = end) {
		for (end = start + 1; end < count; end++)
			if (directory_key_hash(keys[end]) != directory_key_hash(keys[start]))
				break;
		error = end - start > 1 ? order_equals(format, source, keys + start, end - start) : 0;
		if (error)
			return error;
	}
	*ret = TAKE(keys);
	return 0;
}

static errcode_t check_names(const struct ondisk_format *format, const struct directory_source *source, uint32_t *first)
{
	for (uint32_t entry = 0; entry < source->count; entry++) {
		struct directory_name name = source->name(source->context, entry);
		char *bad;

		*first = entry;
		/* The function only reads the name, whatever its prototype says. */
		if (ext2fs_check_encoded_name(format->encoding, (char *)(uintptr_t)name.name, name.length_bytes, &bad))
			return EILSEQ;
	}
	return 0;
}

bool directory_is_same_name(const struct ondisk_format *format, struct directory_name one, struct directory_name other,
                            bool is_casefolded)
{
	if (one.length_bytes == other.length_bytes && memcmp(one.name, other.name, one.length_bytes) == 0)
		return true;
	return is_casefolded && ext2fs_casefold_cmp(format->encoding, (const unsigned char *)one.name, one.length_bytes,
	                                            (const unsigned char *)other.name, other.length_bytes) == 0;
}

static bool is_same_name(const struct ondisk_format *format, const struct directory_source *source, uint32_t one,
                         uint32_t other)
{
	struct directory_name left = source->name(source->context, one), right = source->name(source->context, other);

	return directory_is_same_name(format, left, right, true);
}

/* Equal names have equal hashes: only neighbours with equal hashes are compared. */
static errcode_t find_equal(const struct ondisk_format *format, const struct directory_source *source, uint32_t *first,
                            uint32_t *second)
{
	SCOPE_FREE uint64_t *keys = NULL;
	errcode_t error = directory_order(format, source, &keys);

	for (size_t i = 0; !error && i < source->count; i++) {
		for (size_t j = i + 1; j < source->count; j++) {
			if (directory_key_hash(keys[j]) != directory_key_hash(keys[i]))
				break;
			*first = directory_key_entry(keys[i]);
			*second = directory_key_entry(keys[j]);
			if (is_same_name(format, source, *first, *second))
				return EEXIST;
		}
	}
	return error;
}

errcode_t directory_check_casefold(const struct ondisk_format *format, const struct directory_source *source,
                                   uint32_t *first, uint32_t *second)
{
	errcode_t error = check_names(format, source, first);

	return error || source->count < 2 ? error : find_equal(format, source, first, second);
}
