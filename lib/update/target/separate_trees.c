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

/* Is it a hash tree for so many bytes? No file is waited for, nor anything but a file opened. */
static bool is_tree(const struct search *search, const char *name)
{
	uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES];
	struct dm_verity_value value;
	struct stat status;
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
	problem_set_reason(&problem, ESTALE, path, "no longer fits",
	                   "it is a hash tree of dm-verity for %s as that was: make it anew (veritysetup format %s %s)",
	                   search->options->image, search->options->image, path);
	return warnings_add(warnings, &problem, 1);
}

errcode_t separate_trees_warn(const struct update_options *options, uint64_t bytes, struct warnings *warnings)
{
	const char *slash = strrchr(options->image, '/');
	const char *base = slash ? slash + 1 : options->image, *dot = strrchr(base, '.');
	size_t common = dot && dot != base ? (size_t)(dot - base) : strlen(base), files = 0;
	SCOPE_FREE char *folder = strndup(options->image, (size_t)(base - options->image));
	DIR *directory = folder ? opendir(*folder ? folder : ".") : NULL;
	const struct dirent *entry;
	errcode_t error = 0;

	if (!directory)
		return folder ? 0 : ENOMEM;
	const struct search search = { options, dirfd(directory), bytes };

	while (!error && files < MOST_FILES && (entry = readdir(directory)) != NULL) {
		if (strncmp(entry->d_name, base, common) != 0)
			continue;
		files++;
		if (is_tree(&search, entry->d_name))
			error = warn(&search, folder, entry->d_name, warnings);
	}
	closedir(directory);
	return error;
}
