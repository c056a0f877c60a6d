/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library to be preloaded: libarchive does not come to the end of a xar archive. Before 3.7.5 it really did not where
 * a file was in a list of hard links twice; what a program does about it is to be seen with later ones, too.
 */
#include <archive.h>
#include <dlfcn.h>
#include <stdbool.h>

/* A pointer to a function from dlsym(3)'s pointer to an object, as POSIX has it. */
union function {
	void *found;
	int (*support)(struct archive *archive);
	int (*next)(struct archive *archive, struct archive_entry **entry);
};

static volatile bool is_xar;

__attribute__((visibility("default"))) int archive_read_support_format_xar(struct archive *archive)
{
	union function real = { .found = dlsym(RTLD_NEXT, "archive_read_support_format_xar") };

	is_xar = true;
	return real.support(archive);
}

__attribute__((visibility("default"))) int archive_read_next_header(struct archive *archive,
                                                                    struct archive_entry **entry)
{
	union function real = { .found = dlsym(RTLD_NEXT, "archive_read_next_header") };

	while (is_xar)
		;
	return real.next(archive, entry);
}
