/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/sized_struct.h"

#include <string.h>

#include "ext2fs/ext2mb_err.h"

static size_t stated_bytes(const void *callers)
{
	return *(const size_t *)callers;
}

errcode_t sized_struct_is_writable(const void *callers, size_t least_bytes)
{
	size_t bytes = stated_bytes(callers);

	return bytes < least_bytes || bytes > SIZED_STRUCT_MOST_BYTES ? EXT2MB_ET_BAD_ARGUMENT : 0;
}

const void *sized_struct_adapt(const void *callers, void *copy, size_t copy_bytes, size_t least_bytes, errcode_t *error)
{
	size_t bytes = stated_bytes(callers);

	*error = sized_struct_is_writable(callers, least_bytes);
	for (size_t at = copy_bytes; !*error && at < bytes; at++)
		if (((const char *)callers)[at])
			*error = EXT2MB_ET_UNKNOWN_FIELD;
	if (*error)
		return NULL;
	if (bytes >= copy_bytes)
		return callers;
	memcpy(copy, callers, bytes);
	memset((char *)copy + bytes, 0, copy_bytes - bytes);
	return copy;
}

void sized_struct_write(void *callers, const void *ours, size_t our_bytes)
{
	size_t bytes = stated_bytes(callers);
	size_t known = bytes < our_bytes ? bytes : our_bytes;

	memcpy((char *)callers + sizeof(size_t), (const char *)ours + sizeof(size_t), known - sizeof(size_t));
	memset((char *)callers + known, 0, bytes - known);
}
