/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognises files and devices that are images of ext2, ext3 or ext4. Only this kind of source is recognised by its
 * bytes, if its name says nothing: an image's files are read like an archive's, and name no file of this host. A file
 * that begins like an archive is one.
 */
#pragma once

#include "source/kind/source_kind.h"

struct volume;

/* image:FILE, image:FILE?WORDS, see struct image_name. */
bool image_has_prefix(struct source *source);

/*
 * A regular file, packed perhaps, or a block device that begins with a filesystem, or with a table of partitions, one
 * of which does; a qcow2 or an Android sparse image.
 */
bool image_has_name(struct source *source);

/* An image's name, taken apart. Its words are separated by commas. */
struct image_name {
	char *file;            /* the caller frees it; NULL after an error */
	uint64_t offset_bytes; /* offset=N: where in it the filesystem begins */
	bool ignores_journal;  /* noload, as for mount(8): what the log has counts for nothing */
};

/* Takes source->path apart. EINVAL: the offset is not a number, or a word is not known; ENOMEM. */
MUST_CHECK errcode_t image_parse_name(const struct source *source, struct image_name *name, struct problem *problem);

/*
 * How large the filesystem is, by its superblock. most_unpacked_bytes: of a packed file; 0: no limit. EINVAL: there is
 * none; ENOMEM, EDQUOT, errors in reading.
 */
MUST_CHECK errcode_t image_filesystem_bytes(const struct source *source, uint64_t most_unpacked_bytes, uint64_t *bytes,
                                            struct problem *problem);

/* The filesystem that such a tree was read from, which stays open with the tree; NULL: it was another source. */
const struct volume *image_volume_of(const struct tree *tree);

/* Where the partitions of a file are that hold ext2, ext3 or ext4, as "N1, N2"; NULL: there are none, or no memory. */
char *image_partition_offsets(const char *file);
