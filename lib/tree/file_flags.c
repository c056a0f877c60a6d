/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/file_flags.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint32_t file_flags_of_type(uint32_t mode)
{
	if (S_ISDIR(mode))
		return FILE_FLAGS_KEPT;
	if (S_ISREG(mode))
		return FILE_FLAGS_KEPT & ~(uint32_t)(FS_DIRSYNC_FL | FS_TOPDIR_FL);
	return FS_NODUMP_FL | FS_NOATIME_FL;
}

/* Of several names the first is the one that we write. */
static const struct {
	const char *name;
	uint32_t flag;
} names[] = {
	{ "sappnd", FS_APPEND_FL },
	{ "sappend", FS_APPEND_FL },
	{ "uappnd", FS_APPEND_FL },
	{ "uappend", FS_APPEND_FL },
	{ "schg", FS_IMMUTABLE_FL },
	{ "schange", FS_IMMUTABLE_FL },
	{ "simmutable", FS_IMMUTABLE_FL },
	{ "uchg", FS_IMMUTABLE_FL },
	{ "uchange", FS_IMMUTABLE_FL },
	{ "uimmutable", FS_IMMUTABLE_FL },
	{ "nodump", FS_NODUMP_FL },
	{ "noatime", FS_NOATIME_FL },
	{ "sync", FS_SYNC_FL },
	{ "dirsync", FS_DIRSYNC_FL },
	{ "topdir", FS_TOPDIR_FL },
	{ "journal", FS_JOURNAL_DATA_FL },
	{ "journal-data", FS_JOURNAL_DATA_FL },
	{ "notail", FS_NOTAIL_FL },
	{ "compress", FS_COMPR_FL },
	{ "securedeletion", FS_SECRM_FL },
	{ "secdel", FS_SECRM_FL },
	{ "undel", FS_UNRM_FL },
	{ "dax", FS_DAX_FL },
	{ "projinherit", FS_PROJINHERIT_FL },
};

static bool is_word(const char *name, const char *text, size_t bytes)
{
	return strlen(name) == bytes && !memcmp(name, text, bytes);
}

/* "nodump" is a flag and "dump" says that it is not set; "nosync" says that "sync" is not. */
static uint32_t parse_word(const char *text, size_t bytes)
{
	uint32_t result = bytes && !is_word("none", text, bytes) ? FILE_FLAGS_UNKNOWN : 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *name = names[i].name;

		if (is_word(name, text, bytes))
			return names[i].flag;
		if ((bytes > 2 && !memcmp(text, "no", 2) && is_word(name, text + 2, bytes - 2)) ||
		    (!strncmp(name, "no", 2) && is_word(name + 2, text, bytes)))
			result = 0;
	}
	return result;
}

uint32_t file_flags_parse(const char *text)
{
	uint32_t flags = 0;

	for (size_t bytes; *text; text += bytes + (text[bytes] == ',')) {
		bytes = strcspn(text, ",");
		flags |= parse_word(text, bytes);
	}
	return flags;
}

char *file_flags_text(uint32_t flags)
{
	char *text = calloc(1, sizeof(names) / sizeof(*names) * 16), *end = text;

	for (size_t i = 0; text && i < sizeof(names) / sizeof(*names); i++) {
		if (!(flags & names[i].flag))
			continue;
		flags &= ~names[i].flag;
		if (end != text)
			*end++ = ',';
		end = stpcpy(end, names[i].name);
	}
	return text;
}

uint32_t file_flags_nameless(uint32_t flags)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		flags &= ~names[i].flag;
	return flags & ~FILE_FLAGS_UNREAD;
}
