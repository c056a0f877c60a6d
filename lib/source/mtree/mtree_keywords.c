/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/mtree/mtree.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <nettle/base64.h>
#include <nettle/nettle-meta.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "tree/file_flags.h"
#include "support/text/units.h"
#include "support/vector.h"

#define LARGEST_ID (UINT32_MAX - 1)
/* Linux has so many bits for device numbers. */
#define LARGEST_MAJOR 4095u
#define LARGEST_MINOR 1048575u

static const char no_memory[] = "does not fit into memory";

/* read() sets a field of an entry from a value. It returns the problem, or NULL. */
struct keyword {
	const char *name;
	unsigned int given;                         /* 0: skipped, with or without a value */
	const char *(*read)(void *to, char *value); /* NULL: no value */
	size_t field; /* the field's offset in the entry; 0: read() gets the entry itself */
};

/*
 * Decodes what mtree(8) writes for bytes that cannot be printed: \^C is a control character, \M-C and \M^C are a
 * character and a control character with the highest bit set. Returns the number of its characters after the backslash;
 * 0: it is none of these.
 */
static size_t decode_control(const char *code, char *byte)
{
	size_t at = *code == 'M';
	char character = *code ? code[at + (code[at] != '\0')] : '\0';

	if (!character || !(code[at] == '^' || (at && code[at] == '-')))
		return 0;
	if (code[at] == '^')
		character = character == '?' ? '\177' : (char)(character & 037);
	*byte = (char)(character | (at ? 0200 : 0));
	return at + 2;
}

bool mtree_decode(char *text)
{
	static const char codes[] = "abfnrstvE\\#", bytes[] = "\a\b\f\n\r \t\v\033\\#";
	char *to = text, byte;

	while (*text) {
		if (*text != '\\') {
			*to++ = *text++;
			continue;
		}
		text++;
		const char *code = *text ? strchr(codes, *text) : NULL;

		if (code) {
			*to++ = bytes[code - codes];
			text++;
		} else if (text[0] >= '0' && text[0] <= '3' && strspn(text, "01234567") >= 3) {
			*to = (char)((text[0] - '0') << 6 | (text[1] - '0') << 3 | (text[2] - '0'));
			if (!*to++)
				return false;
			text += 3;
		} else {
			size_t used = decode_control(text, &byte);

			if (!used || !byte)
				return false;
			*to++ = byte;
			text += used;
		}
	}
	*to = '\0';
	return true;
}

static const char *read_type(void *type, char *value)
{
	static const struct {
		const char *name;
		uint32_t type;
	} types[] = { { "file", S_IFREG },  { "dir", S_IFDIR },  { "link", S_IFLNK },   { "char", S_IFCHR },
		      { "block", S_IFBLK }, { "fifo", S_IFIFO }, { "socket", S_IFSOCK } };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, value)) {
			*(uint32_t *)type = types[i].type;
			return NULL;
		}
	return "is not file, dir, link, char, block, fifo or socket";
}

static const char *read_mode(void *permissions, char *value)
{
	size_t digits = strspn(value, "01234567");

	if (!digits || value[digits] || digits > 5 || strtoul(value, NULL, 8) > 07777)
		return "is not an octal number up to 7777";
	*(uint16_t *)permissions = (uint16_t)strtoul(value, NULL, 8);
	return NULL;
}

static const char *read_id(void *id, char *value)
{
	uint64_t number;

	if (units_parse_number(value, 0, LARGEST_ID, &number))
		return "is not a number up to 4294967294";
	*(uint32_t *)id = (uint32_t)number;
	return NULL;
}

static const char *read_name(void *name, char *value)
{
	*(const char **)name = value;
	return *value && mtree_decode(value) ? NULL : "is not a name as vis(3) writes it";
}

/*
 * Reads a time. The digits after the point are a number of nanoseconds, not a fraction: some writers give nine digits,
 * others leave out the leading zeros.
 */
static const char *read_time(void *to, char *value)
{
	struct mtree_entry *entry = to;
	static const char why[] = "is not SECONDS or SECONDS.NANOSECONDS";
	bool is_negative = *value == '-';
	char *nanoseconds = value + is_negative;
	const char *seconds = strsep(&nanoseconds, ".");
	uint64_t number, fraction = 0;

	if (units_parse_number(seconds, 0, INT64_MAX, &number) ||
	    (nanoseconds && units_parse_number(nanoseconds, 0, 999999999, &fraction)))
		return why;
	entry->mtime_seconds = is_negative ? -(int64_t)number : (int64_t)number;
	entry->mtime_nanoseconds = (uint32_t)fraction;
	return NULL;
}

static const char *read_path(void *path, char *value)
{
	*(const char **)path = value;
	return *value && mtree_decode(value) ? NULL : "is not a path as vis(3) writes it";
}

static const char *read_link(void *target, char *value)
{
	const char *why = read_path(target, value);

	return why ? why : strlen(value) < PATH_MAX ? NULL : "is too long for a link";
}

static const char *read_size(void *bytes, char *value)
{
	return units_parse_number(value, 0, INT64_MAX, bytes) ? "is not a number of bytes" : NULL;
}

static const char *read_flags(void *flags, char *value)
{
	*(uint32_t *)flags = file_flags_parse(value);
	return NULL;
}

/* Reads a number, which mtree(8) writes in hexadecimal. EINVAL, as units_parse_number(). */
static errcode_t read_device_number(const char *text, uint64_t most, uint64_t *number)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t count;

	if (strncmp(text, "0x", 2) != 0)
		return units_parse_number(text, 0, most, number);
	count = strspn(text + 2, digits);
	if (!count || count > 2 * sizeof(*number) || text[2 + count])
		return EINVAL;
	*number = strtoull(text + 2, NULL, 16);
	return *number > most ? EINVAL : 0;
}

/*
 * Reads [FORMAT,]MAJOR,MINOR, whose numbers mean the same in every format, or one number that packs both as Linux does.
 */
static const char *read_device(void *to, char *value)
{
	struct mtree_entry *entry = to;
	static const char why[] = "is not [FORMAT,]MAJOR,MINOR up to 4095,1048575 or a number";
	uint64_t major_number, minor_number;
	char *rest = value;
	const char *word = strsep(&rest, ",");

	bool has_format = rest && isalpha((unsigned char)*word);

	if (has_format)
		word = strsep(&rest, ",");
	if (!rest && !has_format) {
		uint64_t both;

		if (read_device_number(word, UINT64_MAX, &both))
			return why;
		major_number = major(both);
		minor_number = minor(both);
	} else if (!rest || read_device_number(word, LARGEST_MAJOR, &major_number) ||
	           read_device_number(rest, LARGEST_MINOR, &minor_number)) {
		return why;
	}
	if (major_number > LARGEST_MAJOR || minor_number > LARGEST_MINOR)
		return why;
	entry->major = (uint32_t)major_number;
	entry->minor = (uint32_t)minor_number;
	return NULL;
}

/* Decodes base64 in place; false if the text is not base64. */
static bool decode_base64(char *text, uint32_t *bytes)
{
	SCOPE_FREE char *copy = strdup(text);
	struct base64_decode_ctx context;
	size_t count = strlen(text);

	base64_decode_init(&context);
	if (!copy || !base64_decode_update(&context, &count, (uint8_t *)text, count, copy) ||
	    !base64_decode_final(&context))
		return false;
	*bytes = (uint32_t)count;
	return true;
}

static const char *read_verity(void *to, char *value)
{
	struct tree_verity *verity = to;
	size_t name_bytes = strcspn(value, ":"), digest_bytes = 0;

	verity->algorithm = tree_verity_algorithm(value, name_bytes);
	verity->has_digest = verity->algorithm && value[name_bytes];
	if (!strcmp(value, "none"))
		return NULL;
	if (!verity->algorithm)
		return "is not sha256, sha512 or none";
	if (verity->has_digest &&
	    (!tree_verity_read_digits(value + name_bytes + 1, verity->digest, sizeof(verity->digest), &digest_bytes) ||
	     digest_bytes != verity_digest_bytes(verity->algorithm)))
		return "does not have as many hexadecimal digits as this digest";
	return NULL;
}

static const char *read_verity_block(void *to, char *value)
{
	struct tree_verity *verity = to;
	uint64_t bytes;

	if (units_parse_number(value, 1 << VERITY_LEAST_BLOCK_BITS, 1 << VERITY_MOST_BLOCK_BITS, &bytes) ||
	    (bytes & (bytes - 1)))
		return "is not a power of two from 1024 to 65536";
	verity->block_bits = (uint8_t)__builtin_ctzll(bytes);
	return NULL;
}

static const char *read_verity_salt(void *to, char *value)
{
	struct tree_verity *verity = to;
	size_t bytes;

	memset(verity->salt, 0, sizeof(verity->salt));
	if (!tree_verity_read_digits(value, verity->salt, sizeof(verity->salt), &bytes))
		return "is not 0 to 32 bytes in hexadecimal digits";
	verity->salt_bytes = (uint8_t)bytes;
	return NULL;
}

static const char *read_verity_signature(void *to, char *value)
{
	struct tree_verity *verity = to;

	if (!decode_base64(value, &verity->signature_bytes) || !verity->signature_bytes ||
	    verity->signature_bytes > VERITY_MOST_SIGNATURE_BYTES)
		return "is not 1 to 16128 bytes in base64";
	verity->signature = value;
	return NULL;
}

static const struct keyword keywords[] = {
	{ "type", MTREE_TYPE, read_type, offsetof(struct mtree_entry, type) },
	{ "mode", MTREE_MODE, read_mode, offsetof(struct mtree_entry, permissions) },
	{ "uid", MTREE_UID, read_id, offsetof(struct mtree_entry, uid) },
	{ "gid", MTREE_GID, read_id, offsetof(struct mtree_entry, gid) },
	{ "uname", MTREE_UNAME, read_name, offsetof(struct mtree_entry, uname) },
	{ "gname", MTREE_GNAME, read_name, offsetof(struct mtree_entry, gname) },
	{ "time", MTREE_TIME, read_time, 0 },
	{ "link", MTREE_LINK, read_link, offsetof(struct mtree_entry, target) },
	{ "device", MTREE_DEVICE, read_device, 0 },
	{ "size", MTREE_SIZE, read_size, offsetof(struct mtree_entry, size_bytes) },
	{ "flags", MTREE_FLAGS, read_flags, offsetof(struct mtree_entry, flags) },
	{ "content", MTREE_CONTENTS, read_path, offsetof(struct mtree_entry, contents) },
	{ "contents", MTREE_CONTENTS, read_path, offsetof(struct mtree_entry, contents) },
	{ "fsverity", MTREE_VERITY, read_verity, offsetof(struct mtree_entry, verity) },
	{ "fsverity.block", MTREE_VERITY_BLOCK, read_verity_block, offsetof(struct mtree_entry, verity) },
	{ "fsverity.salt", MTREE_VERITY_SALT, read_verity_salt, offsetof(struct mtree_entry, verity) },
	{ "fsverity.signature", MTREE_VERITY_SIGNATURE, read_verity_signature, offsetof(struct mtree_entry, verity) },
	{ "optional", MTREE_OPTIONAL, NULL, 0 },
	{ "nochange", MTREE_NOCHANGE, NULL, 0 },
	{ .name = "ignore" },
	{ .name = "cksum" },
	{ .name = "inode" },
	{ .name = "nlink" },
	{ .name = "resdevice" },
	{ .name = "tags" },
};

const struct mtree_digest_kind mtree_digests[MTREE_DIGEST_KINDS] = {
	[MTREE_MD5] = { "md5", &nettle_md5 },          [MTREE_RMD160] = { "rmd160", &nettle_ripemd160 },
	[MTREE_SHA1] = { "sha1", &nettle_sha1 },       [MTREE_SHA256] = { "sha256", &nettle_sha256 },
	[MTREE_SHA384] = { "sha384", &nettle_sha384 }, [MTREE_SHA512] = { "sha512", &nettle_sha512 },
};

/* Returns the kind of digest that a keyword (NAME or NAMEdigest) gives; MTREE_DIGEST_KINDS if it gives none. */
static unsigned int find_digest(const char *name)
{
	unsigned int kind = 0;

	if (!strcmp(name, "ripemd160digest"))
		return MTREE_RMD160;
	for (; kind < MTREE_DIGEST_KINDS; kind++) {
		const char *digest = mtree_digests[kind].name;
		size_t bytes = strlen(digest);

		if (!strncmp(name, digest, bytes) && (!name[bytes] || !strcmp(name + bytes, "digest")))
			break;
	}
	return kind;
}

static const char *read_digest(struct mtree_entry *entry, unsigned int kind, const char *value)
{
	size_t digits = value ? strspn(value, "0123456789abcdefABCDEF") : 0;

	if (!value)
		return "has no value";
	if (value[digits])
		return "is not a hexadecimal number";
	if (digits != 2 * mtree_digests[kind].hash->digest_size)
		return "has the wrong length for this digest";
	entry->digests[kind] = value;
	entry->given |= (unsigned int)MTREE_FIRST_DIGEST << kind;
	return NULL;
}

static const struct keyword *find_keyword(const char *name)
{
	static const struct keyword skipped;
	size_t bytes = strlen(name);

	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (!strcmp(keywords[i].name, name))
			return &keywords[i];
	return bytes > 6 && !strcmp(name + bytes - 6, "digest") ? &skipped : NULL;
}

static const char *read_xattr(struct mtree_entry *entry, char *name, char *value)
{
	uint32_t bytes;

	if (!mtree_decode(name) || !tree_xattr_is_kept(name) || !strchr(name, '.')[1] || strlen(name) > XATTR_NAME_MAX)
		return "does not name an extended attribute that ext4 can store";
	if (!value || !decode_base64(value, &bytes) || bytes > XATTR_SIZE_MAX)
		return "needs a value in base64";
	if (vector_reserve(&entry->xattrs, &entry->xattr_capacity, entry->xattr_count + 1, sizeof(*entry->xattrs)))
		return no_memory;
	entry->xattrs[entry->xattr_count++] = (struct tree_xattr){ name, value, bytes };
	return NULL;
}

/* A number overrides a name. A keyword of the line itself overrides one of /set. */
static unsigned int add_given(unsigned int given, unsigned int own, unsigned int more)
{
	static const struct {
		unsigned int number, name;
	} pairs[] = { { MTREE_UID, MTREE_UNAME }, { MTREE_GID, MTREE_GNAME } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		if (more == pairs[i].number)
			given &= ~pairs[i].name;
		else if (more == pairs[i].name && (own & pairs[i].number))
			return given;
		else if (more == pairs[i].name)
			given &= ~pairs[i].number;
	}
	return given | more;
}

const char *mtree_read_keyword(struct mtree_entry *entry, unsigned int *own, char *name, char *value)
{
	if (!strncmp(name, "xattr.", 6) || !strncmp(name, "xattrs.", 7))
		return read_xattr(entry, strchr(name, '.') + 1, value);
	unsigned int digest = find_digest(name);

	if (digest < MTREE_DIGEST_KINDS)
		return read_digest(entry, digest, value);
	const struct keyword *keyword = find_keyword(name);

	if (!keyword)
		return "is not a keyword of mtree(5)";
	if (!keyword->given)
		return NULL;
	if (keyword->read && !value)
		return "has no value";
	if (!keyword->read && value)
		return "takes no value";
	const char *why = keyword->read ? keyword->read((char *)entry + keyword->field, value) : NULL;

	entry->given = add_given(entry->given, *own, keyword->given);
	*own |= keyword->given;
	return why;
}

bool mtree_forget(struct mtree_entry *entry, const char *name)
{
	const struct keyword *keyword = find_keyword(name);
	unsigned int digest = find_digest(name);

	if (!strcmp(name, "all"))
		entry->given = 0;
	else if (digest < MTREE_DIGEST_KINDS)
		entry->given &= ~((unsigned int)MTREE_FIRST_DIGEST << digest);
	else if (keyword)
		entry->given &= ~keyword->given;
	return keyword || digest < MTREE_DIGEST_KINDS || !strcmp(name, "all");
}

struct tree_node mtree_plain_node(uint32_t type, int64_t mtime_seconds, uint32_t mtime_nanoseconds)
{
	uint32_t permissions = type == S_IFDIR ? 0755 : type == S_IFLNK ? 0777 : 0644;

	return (struct tree_node){
		.mode = (uint16_t)(type | permissions),
		.mtime_seconds = mtime_seconds,
		.mtime_nanoseconds = mtime_nanoseconds,
	};
}

static bool is_device(uint32_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

errcode_t mtree_entry_apply(const struct mtree_entry *entry, struct arena *memory, struct tree_node *node)
{
	if (entry->given & MTREE_MODE)
		node->mode = (uint16_t)((node->mode & S_IFMT) | entry->permissions);
	if (entry->given & MTREE_UID)
		node->uid = entry->uid;
	if (entry->given & MTREE_GID)
		node->gid = entry->gid;
	if (entry->given & MTREE_FLAGS) {
		node->flags = entry->flags;
		node->has_flags = true;
	}
	if (entry->given & MTREE_TIME) {
		node->mtime_seconds = entry->mtime_seconds;
		node->mtime_nanoseconds = entry->mtime_nanoseconds;
	}
	if ((entry->given & MTREE_DEVICE) && is_device(node->mode)) {
		node->device.major = entry->major;
		node->device.minor = entry->minor;
	}
	if ((entry->given & MTREE_LINK) && S_ISLNK(node->mode)) {
		node->size_bytes = strlen(entry->target);
		node->target = arena_copy_string(memory, entry->target, node->size_bytes);
		if (!node->target)
			return ENOMEM;
	}
	return 0;
}

errcode_t mtree_entry_protect(const struct mtree_entry *entry, struct tree *tree, struct tree_node *node)
{
	struct tree_detail detail = *tree_detail(tree, node);
	struct tree_verity verity = entry->verity;

	if (!(entry->given & MTREE_VERITY) || !S_ISREG(node->mode))
		return 0;
	if (!(entry->given & MTREE_VERITY_BLOCK))
		verity.block_bits = 0;
	if (!(entry->given & MTREE_VERITY_SALT))
		verity.salt_bytes = 0;
	if (!(entry->given & MTREE_VERITY_SIGNATURE))
		verity.signature_bytes = 0;
	detail.verity = verity.algorithm ? tree_keep_verity(tree, &verity) : NULL;
	if (verity.algorithm && !detail.verity)
		return ENOMEM;
	return tree_add_detail(tree, &detail, &node->detail);
}

const char *mtree_entry_lacks(const struct mtree_entry *entry, uint32_t type)
{
	if (type == S_IFLNK && !(entry->given & MTREE_LINK))
		return "has no link=";
	return is_device(type) && !(entry->given & MTREE_DEVICE) ? "has no device=" : NULL;
}
