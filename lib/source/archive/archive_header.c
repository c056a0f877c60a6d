/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the raw header of a tar member. */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "source/archive/archive_scan.h"
#include "source/archive/tar_header.h"

#define NANOSECOND_DIGITS 9

/* A record of an extended header. */
struct record {
	const char *key, *value; /* neither ends in a NUL */
	size_t key_bytes, value_bytes;
	bool is_global;
};

/* The fields that extended headers replace. */
enum { SIZE = 1, UID = 2, GID = 4, TIME = 8 };

static errcode_t damaged(const struct archive_scan *scan, const char *what, size_t bytes)
{
	SCOPE_FREE char *reason = NULL;

	if (asprintf(&reason, "its \"%.*s\" is damaged", (int)(bytes < 100 ? bytes : 100), what) < 0)
		reason = NULL;
	return archive_scan_problem(scan, EBADMSG, "cannot read", reason);
}

/* libarchive does not read it, and we have left it out. */
static errcode_t too_large(const struct archive_scan *scan)
{
	SCOPE_FREE char *reason = NULL;

	if (asprintf(&reason, "its \"%s\" is too large: no more than 1 MiB of a header is read",
	             scan->input.too_large) < 0)
		reason = NULL;
	return archive_scan_problem(scan, EFBIG, "cannot read", reason);
}

static bool is_key(const struct record *record, const char *key)
{
	return record->key_bytes == strlen(key) && !memcmp(record->key, key, record->key_bytes);
}

static bool is_number(const char *text, size_t bytes)
{
	size_t digits = 0;

	while (digits < bytes && isdigit((unsigned char)text[digits]))
		digits++;
	return bytes && digits == bytes;
}

/* Parses [-]SECONDS[.FRACTION]; -0.97 is 0.03 seconds after -1. */
static bool parse_time(const char *text, size_t bytes, struct tree_time *time)
{
	bool is_negative = bytes && *text == '-';
	size_t at = is_negative, digits = 0;
	int64_t seconds = 0;
	uint32_t nanoseconds = 0;

	for (; at < bytes && isdigit((unsigned char)text[at]); at++, digits++)
		if (__builtin_mul_overflow(seconds, 10, &seconds) ||
		    __builtin_add_overflow(seconds, text[at] - '0', &seconds))
			return false;
	if (at < bytes && text[at] == '.')
		at++;
	else if (at < bytes)
		return false;
	for (unsigned int digit = 0; digit < NANOSECOND_DIGITS; digit++) {
		bool is_there = at < bytes && isdigit((unsigned char)text[at]);

		nanoseconds = nanoseconds * 10 + (is_there ? (uint32_t)(text[at] - '0') : 0);
		at += is_there;
		digits += is_there;
	}
	while (at < bytes && isdigit((unsigned char)text[at]))
		at++;
	time->is_known = true;
	time->seconds = !is_negative ? seconds : -seconds - (nanoseconds != 0);
	time->nanoseconds = is_negative && nanoseconds ? 1000000000 - nanoseconds : nanoseconds;
	return digits && at == bytes;
}

static errcode_t read_text(struct archive_scan *scan, const struct record *record, const char **text)
{
	if (memchr(record->value, '\0', record->value_bytes))
		return damaged(scan, record->key, record->key_bytes);
	*text = arena_copy_string(&scan->member_memory, record->value, record->value_bytes);
	return *text ? 0 : archive_scan_problem(scan, ENOMEM, "cannot read", NULL);
}

/* Reads a label. "tar --selinux" writes it as text, and setfilecon(3) adds the NUL when tar extracts it. */
static errcode_t read_label(struct archive_scan *scan, const struct record *record)
{
	struct record text = *record;

	while (text.value_bytes && !text.value[text.value_bytes - 1])
		text.value_bytes--;
	return read_text(scan, &text, &scan->header.label);
}

/* libarchive takes the last record of a name, and reads as base64 what is none. Those that GNU tar reads count more. */
static errcode_t note_xattr(struct archive_scan *scan, const struct record *record, size_t name_at)
{
	struct header_xattr *xattr = arena_alloc(&scan->member_memory, sizeof(*xattr));
	const char *name = arena_copy_string(&scan->member_memory, record->key + name_at, record->key_bytes - name_at);

	if (!xattr || !name)
		return archive_scan_problem(scan, ENOMEM, "cannot read", NULL);
	*xattr = (struct header_xattr){ scan->header.xattrs, name, record->value, record->value_bytes };
	scan->header.xattrs = xattr;
	return 0;
}

static bool begins_with(const struct record *record, const char *prefix)
{
	return record->key_bytes >= strlen(prefix) && !memcmp(record->key, prefix, strlen(prefix));
}

/* The keys of a file's extended headers that libarchive uses. */
static const struct pax_key {
	const char *name;
	bool is_number;
	bool is_private;    /* only one writer has it, and does not give it for all files at once */
	bool is_asked;      /* we ignore it unless times are asked for */
	unsigned int given; /* the field that it replaces */
	bool is_time;
	size_t time; /* its offset in struct archive_header */
} pax_keys[] = {
	{ .name = "path" },
	{ .name = "linkpath" },
	{ .name = "uname" },
	{ .name = "gname" },
	{ .name = "SCHILY.acl.access" },
	{ .name = "SCHILY.acl.default" },
	{ .name = "RHT.security.selinux" },
	{ "mtime", .given = TIME, .is_time = true, .time = offsetof(struct archive_header, mtime) },
	{ "atime", .is_asked = true, .is_time = true, .time = offsetof(struct archive_header, atime) },
	{ "ctime", .is_asked = true, .is_time = true, .time = offsetof(struct archive_header, ctime) },
	{ "LIBARCHIVE.creationtime", .is_asked = true, .is_time = true,
	  .time = offsetof(struct archive_header, crtime) },
	{ "size", .is_number = true, .given = SIZE },
	{ "uid", .is_number = true, .given = UID },
	{ "gid", .is_number = true, .given = GID },
	{ "GNU.sparse.size", .is_number = true, .is_private = true },
	{ "GNU.sparse.realsize", .is_number = true, .is_private = true },
	{ "SCHILY.realsize", .is_number = true, .is_private = true },
	{ "SCHILY.devmajor", .is_number = true, .is_private = true },
	{ "SCHILY.devminor", .is_number = true, .is_private = true },
};

static const struct pax_key *find_key(const struct archive_scan *scan, const struct record *record)
{
	for (size_t i = 0; i < sizeof(pax_keys) / sizeof(*pax_keys); i++)
		if (is_key(record, pax_keys[i].name))
			return pax_keys[i].is_asked && !archive_scan_takes_times(scan) ? NULL : &pax_keys[i];
	return NULL;
}

static errcode_t read_record(struct archive_scan *scan, const struct record *record, unsigned int *given)
{
	static const char binary[] = "SCHILY.xattr.", encoded[] = "LIBARCHIVE.xattr.";
	bool is_binary = begins_with(record, binary), is_encoded = begins_with(record, encoded), is_right = true;
	const struct pax_key *key = find_key(scan, record);

	/*
	 * libarchive ignores these keys in global headers. Keys of other writers (git writes a comment) may be ignored
	 * without a loss.
	 */
	if (record->is_global && ((key && !key->is_private) || is_binary || is_encoded))
		return archive_scan_problem(scan, ENOTSUP, "cannot read",
		                            "a global extended header says something of files, which is not supported");
	if (record->is_global)
		return 0;
	if (is_key(record, "SCHILY.acl.access"))
		return read_text(scan, record, &scan->header.access_acl);
	if (is_key(record, "SCHILY.acl.default"))
		return read_text(scan, record, &scan->header.default_acl);
	if (is_key(record, "RHT.security.selinux"))
		return read_label(scan, record);
	*given |= key ? key->given : 0;
	if (key && key->is_number)
		is_right = is_number(record->value, record->value_bytes);
	else if (key && key->is_time)
		is_right = parse_time(record->value, record->value_bytes, (void *)((char *)&scan->header + key->time));
	else if (is_encoded)
		scan->header.has_encoded_xattrs = is_right = record->key_bytes > strlen(encoded);
	else if (is_binary && record->key_bytes > strlen(binary))
		return note_xattr(scan, record, strlen(binary));
	else if (is_binary)
		is_right = false;
	return is_right ? 0 : damaged(scan, record->key, record->key_bytes);
}

/* Reads records. Each is "BYTES KEY=VALUE\n", where BYTES counts the whole record. */
static errcode_t read_records(struct archive_scan *scan, const char *text, size_t bytes, bool is_global,
                              unsigned int *given)
{
	errcode_t error = 0;

	while (!error && bytes) {
		size_t length = 0, at = 0;

		for (; at < bytes && at < 8 && isdigit((unsigned char)text[at]); at++)
			length = length * 10 + (size_t)(text[at] - '0');
		if (!at || at >= bytes || text[at] != ' ' || length <= at + 2 || length > bytes ||
		    text[length - 1] != '\n')
			return damaged(scan, "extended header", strlen("extended header"));
		struct record record = { .key = text + at + 1, .is_global = is_global };
		const char *equals = memchr(record.key, '=', length - at - 2);

		if (!equals)
			return damaged(scan, "extended header", strlen("extended header"));
		record.key_bytes = (size_t)(equals - record.key);
		record.value = equals + 1;
		record.value_bytes = (size_t)(text + length - 1 - record.value);
		error = read_record(scan, &record, given);
		text += length;
		bytes -= length;
	}
	return error;
}

/* True for digits with blanks or NULs around them, and for one of GNU tar's binary numbers. */
static bool is_octal(const char *field, size_t bytes, bool may_be_negative)
{
	size_t at = 0;

	if ((unsigned char)*field & 0x80)
		return true;
	while (at < bytes && field[at] == ' ')
		at++;
	at += may_be_negative && at < bytes && field[at] == '-';
	while (at < bytes && field[at] >= '0' && field[at] <= '7')
		at++;
	while (at < bytes && (field[at] == ' ' || !field[at]))
		at++;
	return at == bytes;
}

static errcode_t check_fields(const struct archive_scan *scan, const char *block, unsigned int given)
{
	static const struct {
		const char *name;
		size_t at, bytes;
		unsigned int given;
	} fields[] = {
		{ "uid", 108, 8, UID }, { "gid", 116, 8, GID }, { "size", 124, 12, SIZE }, { "mtime", 136, 12, TIME }
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!(given & fields[i].given) &&
		    !is_octal(block + fields[i].at, fields[i].bytes, fields[i].given == TIME))
			return damaged(scan, fields[i].name, strlen(fields[i].name));
	return 0;
}

/* Reads a tar member's headers: any number of extended ones, each with a body, and then the member's own. */
static errcode_t read_tar(struct archive_scan *scan, const char *bytes, size_t count)
{
	unsigned int given = 0;

	for (;;) {
		if (count < TAR_BLOCK_BYTES)
			return damaged(scan, "header", strlen("header"));
		if (!tar_header_is_extension(bytes))
			return check_fields(scan, bytes, given);
		uint64_t body = tar_header_body_bytes(bytes), padded = body + -body % TAR_BLOCK_BYTES;

		if (!is_octal(bytes + TAR_SIZE_AT, TAR_SIZE_BYTES, false) || (unsigned char)bytes[TAR_SIZE_AT] & 0x80 ||
		    padded > count - TAR_BLOCK_BYTES)
			return damaged(scan, "header", strlen("header"));
		errcode_t error = tar_header_has_records(bytes) ?
		                          read_records(scan, bytes + TAR_BLOCK_BYTES, (size_t)body,
		                                       bytes[TAR_TYPE_AT] == 'g', &given) :
		                          0;

		if (error)
			return error;
		bytes += TAR_BLOCK_BYTES + padded;
		count -= TAR_BLOCK_BYTES + (size_t)padded;
	}
}

errcode_t archive_header_read(struct archive_scan *scan)
{
	const uint8_t *bytes;
	size_t count;

	arena_destroy(&scan->member_memory);
	scan->header = (struct archive_header){ 0 };
	if ((archive_format(scan->input.archive) & ARCHIVE_FORMAT_BASE_MASK) != ARCHIVE_FORMAT_TAR)
		return 0;
	errcode_t error = archive_input_header(&scan->input, &bytes, &count);

	if (!error && !bytes)
		error = EBADMSG;
	if (error)
		return archive_scan_problem(scan, error, "cannot read",
		                            error == ENOMEM ? NULL : "its header cannot be looked at");
	error = read_tar(scan, (const char *)bytes, count);
	return !error && *scan->input.too_large ? too_large(scan) : error;
}
