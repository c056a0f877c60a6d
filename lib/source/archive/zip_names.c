/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/zip_names.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/little_endian.h"

/*
 * The bytes of a local header. Its name and its extra field follow, and the target of a symbolic link that is not
 * packed.
 */
#define HEADER_BYTES 30u
#define MOST_BYTES (HEADER_BYTES + 2u * UINT16_MAX + PATH_MAX)

struct local_header {
	const uint8_t *name, *target; /* target NULL: it is packed, or the member is not a symbolic link */
	size_t name_bytes, target_bytes;
};

/* True if a header begins here, and it and all that belongs to it end after `count` bytes. */
static bool parse(const uint8_t *bytes, size_t count, bool has_target, struct local_header *header)
{
	if (count < HEADER_BYTES || memcmp(bytes, "PK\3\4", 4))
		return false;
	bool is_packed = little_endian(bytes + 8, 2);
	size_t target_bytes = has_target ? little_endian(bytes + 18, 4) : 0;
	size_t name_bytes = little_endian(bytes + 26, 2),
	       head_bytes = HEADER_BYTES + name_bytes + little_endian(bytes + 28, 2);

	*header = (struct local_header){
		.name = bytes + HEADER_BYTES,
		.name_bytes = name_bytes,
		.target = has_target && !is_packed ? bytes + head_bytes : NULL,
		.target_bytes = target_bytes,
	};
	return name_bytes && (count == head_bytes || count == head_bytes + target_bytes);
}

/* Finds the last header that fits. The bytes between a header and the end are the header's own. */
static bool find(const uint8_t *bytes, size_t count, bool has_target, struct local_header *header)
{
	for (size_t from = count >= HEADER_BYTES ? count - HEADER_BYTES + 1 : 0; from--;)
		if (parse(bytes + from, count - from, has_target, header))
			return true;
	return false;
}

errcode_t zip_names_restore(const struct archive_input *input, struct archive_entry *entry)
{
	bool is_link = archive_entry_filetype(entry) == AE_IFLNK;
	uint64_t end = archive_input_position(input);
	size_t count = end < MOST_BYTES ? (size_t)end : MOST_BYTES;
	SCOPE_FREE uint8_t *bytes = malloc(count + 1);
	struct local_header header;

	if (!bytes)
		return ENOMEM;
	errcode_t error = archive_input_read_back(input, bytes, count, end - count + (input->store ? 0 : input->start));

	if (error || !find(bytes, count, is_link, &header))
		return error;
	SCOPE_FREE char *name = strndup((const char *)header.name, header.name_bytes);
	SCOPE_FREE char *target = header.target ? strndup((const char *)header.target, header.target_bytes) : NULL;

	if (!name || (header.target && !target))
		return ENOMEM;
	if (!archive_entry_pathname(entry))
		archive_entry_copy_pathname(entry, name);
	if (target && !archive_entry_symlink(entry))
		archive_entry_copy_symlink(entry, target);
	return 0;
}
