/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user's options. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/pack/layer_cache.h"
#include "ondisk/dm_verity.h"
#include "tree/details.h"
#include "tree/source_limits.h"
#include "source/labels/labels.h"
#include "source/owners/owner_map.h"
#include "source/sources.h"
#include "tree/exclude.h"
#include "support/run/progress.h"

/* What is done with data that the filesystem could share, instead of reading and writing them. */
enum reflink {
	REFLINK_AUTO,   /* they are shared where that is possible, else copied */
	REFLINK_ALWAYS, /* an error where it is not */
	REFLINK_NEVER,
};

/* The place of contents of regular files. */
enum populate_layout {
	LAYOUT_TREE,   /* with what lies beside them in the tree */
	LAYOUT_LAYERS, /* with all that is of the same merged source (populate/plan/layer_placement.h) */
};

/* The most readers there are, unless the user gives a number. Each takes half a MiB once it has work. */
#define POPULATE_MOST_READERS 64

/* What of its filesystem an image keeps that is made of one image. */
enum populate_like {
	LIKE_SOLE_SOURCE, /* what can be kept, if the sources are one image */
	LIKE_SOURCE,      /* the same, and an error if they are not */
	LIKE_NONE,
};

enum dm_verity_algorithm {
	DM_VERITY_SHA256,
	DM_VERITY_SHA512,
};

/* The hash tree that dm-verity checks the filesystem by. */
struct dm_verity_options {
	const char *target;         /* the file for it; NULL: none is made */
	bool is_appended;           /* it follows the filesystem instead */
	const char *root_hash_path; /* a file for the root hash; NULL: none */
	enum dm_verity_algorithm algorithm;
	uint32_t data_block_bytes; /* powers of two; 0: 4096, or the filesystem's if those are smaller */
	uint32_t hash_block_bytes; /* 0: 4096 */
	bool has_salt, has_uuid;   /* those that follow are given; else they are derived */
	uint32_t salt_bytes;
	uint8_t salt[DM_VERITY_MOST_SALT_BYTES];
	uint8_t uuid[DM_VERITY_UUID_BYTES];
};

/* Files that fs-verity is to protect, beside those that sources and the manifest name. */
struct verity_rules {
	const struct exclude *patterns; /* regular files that match; NULL: none */
	struct tree_verity form;        /* how */
	const char *signatures;         /* a folder with PATH.sig for some of them; NULL: none */
};

struct populate_options {
	const char *const *sources; /* what the image is to hold, laid over each other, see source/sources.h */
	uint32_t source_count;      /* at least 1 */
	struct source_layering layering;
	const char *image;     /* what is made: a regular file, or a block device */
	uint64_t offset_bytes; /* where in it the filesystem begins; what an existing file holds around it stays */
	bool in_place;         /* a file that is there is written; otherwise a new one takes its place */
	bool android_sparse;   /* the finished filesystem is put into Android's sparse format */
	const char *size;      /* as mke2fs(8) reads it; NULL: just large enough, or that of what is written in place */
	char *const *mke2fs;   /* options for mke2fs, in order, NULL-terminated; no -E among them */
	const char *extended;  /* all -E options, joined by commas; NULL: none */
	const char *uuid;      /* -U, also among mke2fs; NULL: not given */
	unsigned int bad_block_checks; /* how often -c was given; honoured only where the image is a device */
	bool inodes_given;             /* -i or -T among mke2fs: the user wants more inodes than the source needs */
	bool inodes_fixed;             /* -N among mke2fs: exactly so many */
	bool block_size_given;         /* -b among mke2fs */
	bool usage_given;              /* -T among mke2fs */
	bool type_given;               /* -t or -j among mke2fs, from the user */
	enum populate_like like;       /* see populate/format/likeness.h */
	bool own_defaults;      /* blocks of 4 KiB, and no holes that are not worth an extent; false: as mke2fs(8) */
	const char *platform;   /* of container images, OS/ARCH[/VARIANT]; NULL: the host's */
	const char *oci_config; /* a file that the caller writes report->configuration to; NULL: none */
	struct layer_cache_place layer_cache; /* of unpacked layers */
	const char *stable_from;              /* an earlier image whose layout is to be kept; NULL: none */
	const char *against;                  /* an older image, of which the report says what differs; NULL: none */
	uint64_t against_chunk_bytes;
	uint64_t free_bytes;       /* to be left free at least for any user, as statfs(2) counts; or: */
	unsigned int free_percent; /* of the filesystem's blocks, below 100 */
	uint32_t free_inodes;      /* to be left free at least */
	bool free_inodes_given;    /* false: also as many as mke2fs would make for the space to be left free */
	bool verify;               /* run e2fsck and read everything back before the image gets its name */
	bool size_only;            /* fill in the report's sizes and write nothing */
	int mke2fs_output;         /* a file that gets what the last mke2fs says of its filesystem; 0: not asked for */
	struct source_limits limits; /* of what others may have made */
	uint64_t memory_bytes;       /* as much of what is unpacked stays in memory until it is copied */
	unsigned int threads;        /* 0: no threads at all, the serial reference */
	unsigned int readers; /* that read the source at once; 0: as many as threads, and more while they wait for it */
	char *const *casefolded;       /* directories of the source that become case-insensitive with all below them,
	                             NULL-terminated; "/" is the root; NULL: none */
	bool has_epoch;                /* SOURCE_DATE_EPOCH is set: */
	int64_t epoch;                 /* its value */
	const struct exclude *exclude; /* what is left out of the source; NULL: nothing */
	bool one_file_system;          /* directories on which something is mounted stay empty */
	bool without_xattrs;           /* leave them all out */
	bool without_flags;            /* likewise file flags; those that metadata gives stay */
	bool all_times;                /* atime, ctime and crtime are the source's, where it has them; false: mtime's */
	bool zeros_of_source;          /* holes are those of the source, and no data are looked at for more zeros */
	enum populate_layout layout;
	bool keeps_hidden; /* with LAYOUT_LAYERS: free blocks in the places of what upper layers hide, so that a layer
	                      stays in one piece (populate/plan/hidden_gaps.h) */
	enum reflink reflink;     /* other than REFLINK_NEVER only with zeros_of_source */
	struct owner_map *owners; /* NULL: owners stay the source's; names in it are resolved */
	const char *metadata;     /* a manifest for source/manifest/metadata.h; NULL: none */
	struct dm_verity_options dm_verity;
	struct verity_rules verity;
	struct label_options labels; /* SELinux's */
	struct progress *progress;   /* may be NULL */
};

/* A file's time as it is asked for: none is after the epoch, if there is one. */
static inline struct tree_time populate_time(const struct populate_options *options, struct tree_time time)
{
	return options->has_epoch && time.seconds >= options->epoch ? (struct tree_time){ options->epoch, 0, true } :
	                                                              time;
}

/* The time at which a reproducible filesystem was made: e2fsprogs up to 1.47.0 take 0 for "now". */
static inline int64_t populate_clock(const struct populate_options *options)
{
	return options->epoch ? options->epoch : 1;
}
