/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/pax_cut.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/archive/tar_header.h"
#include "support/buffer_size.h"
#include "support/vector.h"
#include "tree/tree.h"

/* libarchive (3.6) reads so much of a record, and of a header. */
#define MOST_RECORD_BYTES ((size_t)BUFFER_SIZE(999999, 999))
#define MOST_BODY_BYTES ((size_t)BUFFER_SIZE(1024, 1) << 10)

/* All headers of a member. */
#define MOST_BYTES ((size_t)8 << 20)

#define MOST_LENGTH_DIGITS 8

/* "BYTES KEY=", as far as it is looked at: an xattr's name has at most 255 bytes. */
struct head {
	char text[320];
	size_t count, key_at;
};

bool pax_cut_is_for(const char *block)
{
	return tar_header_has_records(block) && tar_header_body_bytes(block) > MOST_RECORD_BYTES;
}

static errcode_t append(struct pax_cut *cut, const void *bytes, size_t count)
{
	if (count > MOST_BYTES - cut->count && cut->count <= MOST_BYTES)
		return EBADMSG;
	errcode_t error = vector_reserve(&cut->bytes, &cut->capacity, cut->count + count, 1);

	if (error || !count)
		return error;
	memcpy(cut->bytes + cut->count, bytes, count);
	cut->count += count;
	return 0;
}

static errcode_t fill(struct pax_cut *cut)
{
	errcode_t error = cut->at_hand_count ? 0 : cut->next(cut->context, &cut->at_hand, &cut->at_hand_count);

	if (error || !cut->at_hand_count)
		return error ? error : EBADMSG;
	return 0;
}

/* Takes the next bytes of the archive, as a part of what is made or not. */
static errcode_t take(struct pax_cut *cut, uint64_t count, bool is_kept)
{
	errcode_t error = 0;

	while (!error && count) {
		error = fill(cut);
		size_t part = error ? 0 : count < cut->at_hand_count ? (size_t)count : cut->at_hand_count;

		if (!error && is_kept)
			error = append(cut, cut->at_hand, part);
		cut->at_hand += part;
		cut->at_hand_count -= part;
		cut->taken += part;
		count -= part;
	}
	return error;
}

/* Reads a record's length and its key, with the '='. */
static errcode_t read_head(struct pax_cut *cut, uint64_t left, struct head *head, uint64_t *length)
{
	char last = 0;
	errcode_t error = 0;

	*head = (struct head){ 0 };
	*length = 0;
	while (!error && last != '=' && head->count < sizeof(head->text) && head->count < left) {
		error = fill(cut);
		if (error)
			break;
		last = (char)*cut->at_hand;
		head->text[head->count++] = last;
		error = take(cut, 1, false);
		if (head->key_at)
			continue;
		if (last == ' ' && head->count > 1)
			head->key_at = head->count;
		else if (isdigit((unsigned char)last) && head->count <= MOST_LENGTH_DIGITS)
			*length = *length * 10 + (uint64_t)(last - '0');
		else
			return EBADMSG;
		if (head->key_at)
			left = *length < left ? *length : left;
	}
	if (error)
		return error;
	return head->key_at && *length > head->count && *length <= left ? 0 : EBADMSG;
}

static bool begins_with(const char *key, const char *prefix)
{
	return !strncmp(key, prefix, strlen(prefix));
}

static bool is_xattr_wanted(const struct pax_cut *cut, const char *name)
{
	/* libarchive decodes a name with %. */
	return !cut->without_xattrs && (tree_xattr_is_kept(name) || strchr(name, '%'));
}

/* May libarchive, or we, use a record? It ignores those of other writers, and comments. */
static bool is_used(struct pax_cut *cut, const char *key, bool is_global)
{
	static const char *const xattrs[] = { "SCHILY.xattr.", "LIBARCHIVE.xattr." };
	static const char *const writers[] = { "GNU.", "LIBARCHIVE.", "RHT.", "SCHILY.", "SUN." };

	for (size_t i = 0; !is_global && i < sizeof(xattrs) / sizeof(*xattrs); i++) {
		if (!begins_with(key, xattrs[i]))
			continue;
		bool is_wanted = is_xattr_wanted(cut, key + strlen(xattrs[i]));

		cut->has_lost_xattr |= !is_wanted && !cut->without_xattrs;
		return is_wanted;
	}
	for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++)
		if (begins_with(key, writers[i]))
			return true;
	return !strchr(key, '.') && strcmp(key, "comment");
}

static errcode_t take_record(struct pax_cut *cut, bool is_global, size_t body_at, uint64_t *left)
{
	struct head head;
	char key[sizeof(head.text) + 1] = "";
	uint64_t length;
	errcode_t error = read_head(cut, *left, &head, &length);

	if (error)
		return error;
	memcpy(key, head.text + head.key_at, head.count - head.key_at);
	key[strcspn(key, "=")] = '\0';
	bool is_kept = is_used(cut, key, is_global);

	if (is_kept && (length > MOST_RECORD_BYTES || length > MOST_BODY_BYTES - (cut->count - body_at))) {
		is_kept = false;
		if (!*cut->too_large)
			snprintf(cut->too_large, sizeof(cut->too_large), "%s", key);
	}
	error = is_kept ? append(cut, head.text, head.count) : 0;
	*left -= length;
	return error ? error : take(cut, length - head.count, is_kept);
}

/* Writes a header's new size. A checksum that was wrong stays wrong. */
static void set_size(char *block, size_t size)
{
	char *field = block + TAR_CHECKSUM_AT, text[TAR_SIZE_BYTES + 1];
	uint64_t sum = tar_header_octal(field, TAR_CHECKSUM_BYTES);

	for (unsigned int n = 0; n < TAR_SIZE_BYTES; n++)
		sum -= (unsigned char)block[TAR_SIZE_AT + n];
	snprintf(text, sizeof(text), "%011o", (unsigned int)size);
	memcpy(block + TAR_SIZE_AT, text, TAR_SIZE_BYTES);
	for (unsigned int n = 0; n < TAR_SIZE_BYTES; n++)
		sum += (unsigned char)block[TAR_SIZE_AT + n];
	snprintf(text, sizeof(text), "%06o", (unsigned int)(sum & 0777777));
	memcpy(field, text, TAR_CHECKSUM_BYTES - 1);
}

static errcode_t cut_records(struct pax_cut *cut, size_t block_at, uint64_t body)
{
	static const char zeros[TAR_BLOCK_BYTES];
	const bool is_global = cut->bytes[block_at + TAR_TYPE_AT] == 'g';
	const size_t body_at = cut->count;
	uint64_t left = body;
	errcode_t error = 0;

	while (!error && left)
		error = take_record(cut, is_global, body_at, &left);
	if (!error)
		error = take(cut, -body % TAR_BLOCK_BYTES, false);
	if (error)
		return error;
	size_t kept = cut->count - body_at;

	set_size((char *)cut->bytes + block_at, kept);
	return append(cut, zeros, -kept % TAR_BLOCK_BYTES);
}

errcode_t pax_cut_make(struct pax_cut *cut)
{
	bool is_last = false;
	errcode_t error = 0;

	while (!error && !is_last) {
		const size_t block_at = cut->count;

		error = take(cut, TAR_BLOCK_BYTES, true);
		if (error)
			break;
		const char *block = (const char *)cut->bytes + block_at;
		uint64_t body = tar_header_body_bytes(block);

		is_last = !tar_header_is_extension(block);
		if (!is_last && pax_cut_is_for(block))
			error = cut_records(cut, block_at, body);
		else if (!is_last)
			error = take(cut, body + -body % TAR_BLOCK_BYTES, true);
	}
	cut->taken += error ? 0 : cut->at_hand_count;
	if (error)
		return error;
	error = vector_reserve(&cut->bytes, &cut->capacity, cut->count + cut->at_hand_count, 1);
	if (!error && cut->at_hand_count)
		memcpy(cut->bytes + cut->count, cut->at_hand, cut->at_hand_count);
	cut->count += error ? 0 : cut->at_hand_count;
	return error;
}
