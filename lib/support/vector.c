/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/vector.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* A vector's first allocation has this many bytes, so that short ones are not reallocated often. */
#define FIRST_BYTES 64

errcode_t vector_reserve(void *items, size_t *capacity, size_t needed, size_t item_bytes)
{
	size_t wanted = *capacity;
	void *pointer;

	if (needed <= *capacity)
		return 0;
	if (!wanted)
		wanted = item_bytes < FIRST_BYTES ? FIRST_BYTES / item_bytes : 1;
	while (wanted < needed)
		wanted = wanted > SIZE_MAX / 2 ? needed : 2 * wanted;
	if (wanted > PTRDIFF_MAX / item_bytes)
		wanted = needed;
	if (wanted > PTRDIFF_MAX / item_bytes)
		return ENOMEM;

	/* items points to a pointer of the caller's own type; it is copied, since void ** may not alias it. */
	memcpy(&pointer, items, sizeof(pointer));
	pointer = realloc(pointer, wanted * item_bytes);
	if (!pointer)
		return ENOMEM;
	memcpy(items, &pointer, sizeof(pointer));
	*capacity = wanted;
	return 0;
}

errcode_t vector_add(void *items, size_t *count, size_t *capacity, const void *item, size_t item_bytes)
{
	errcode_t error = vector_reserve(items, capacity, *count + 1, item_bytes);
	char *first;

	if (error)
		return error;
	memcpy(&first, items, sizeof(first));
	memcpy(first + (*count)++ * item_bytes, item, item_bytes);
	return 0;
}
