/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/separate_trees.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ondisk/dm_verity.h"
#include "support/io/same_file.h"

/* Folders of images have thousands of files. */
#define MOST_FILES 256u

struct search {
	const struct update_options *options;
	int directory;
	uint64_t bytes; /* of the filesystem */
};

/* Is it a hash tree for so many bytes? Nothing but a file is opened. */
static bool is_tree(const struct search *search, const char *name)
{
	uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES];
	struct dm_verity_value value;
	struct stat status;

	if (fstatat(search->directory, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
		return false;
	SCOPE_CLOSE int descriptor =
		openat(search->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	return descriptor >= 0 && !fstat(descriptor, &status) && S_ISREG(status.st_mode) &&
	       !is_same_file(search->options->image, &status) &&
	       pread(descriptor, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) && dm_verity_is_there(bytes) &&
	       dm_verity_decode(bytes, &value) && value.data_blocks == search->bytes / value.data_block_bytes;
}

static errcode_t warn(const struct search *search, const char *folder, const char *name, struct warnings *warnings)
{
	SCOPE_FREE char *path = NULL;
	struct problem problem = { 0 };

	if (asprintf(&path, "%s%s", folder, name) < 0) {
		path = NULL;
		return ENOMEM;
	}
	problem_set_reason(&problem, ESTALE, path, "may no longer fit",
	                   "it is a hash tree of dm-verity for the size that %s had; if it is that one's, make it anew "
	                   "(veritysetup format)",
	                   search->options->image);
	return warnings_add(warnings, &problem, 1);
}

/* True for the image's name, with or without what follows its last dot, and then a dot. */
static bool is_named_after(const char *name, const char *base)
{
	const char *dot = strrchr(base, '.');
	size_t stem = dot && dot != base ? (size_t)(dot - base) : strlen(base);

	return strncmp(name, base, stem) == 0 && name[stem] == '.';
}

void separate_trees_warn(const struct update_options *options, uint64_t bytes, struct warnings *warnings)
{
	const char *slash = strrchr(options->image, '/');
	const char *base = slash ? slash + 1 : options->image;
	SCOPE_FREE char *folder = strndup(options->image, (size_t)(base - options->image));
	SCOPE_CLOSEDIR DIR *directory = folder ? opendir(*folder ? folder : ".") : NULL;
	const struct dirent *entry;
	errcode_t error = 0;

	if (!directory)
		return;
	const struct search search = { options, dirfd(directory), bytes };

	for (size_t files = 0; !error && files < MOST_FILES && (entry = readdir(directory)) != NULL;) {
		if (!is_named_after(entry->d_name, base))
			continue;
		files++;
		if (is_tree(&search, entry->d_name))
			error = warn(&search, folder, entry->d_name, warnings);
	}
}
