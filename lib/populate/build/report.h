/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of populate(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/kind/source_kind.h"
#include "source/layers/image_configuration.h"
#include "source/layers/merge.h"
#include "ondisk/dm_verity.h"
#include "ondisk/verity.h"
#include "image/delta.h"
#include "source/pack/layer_cache.h"
#include "support/problem.h"

/* In their order; each is also a stage of the progress that is shown. */
enum populate_stage {
	POPULATE_SCAN,
	POPULATE_FORMAT, /* choosing the size included */
	POPULATE_PLAN,
	POPULATE_COPY,
	POPULATE_SEAL,
	POPULATE_VERIFY, /* if asked for */
	POPULATE_STAGES,
};

/* A source's contribution, without files that other sources replaced. */
struct populate_source {
	char *path;
	uint64_t names;
	uint64_t data_bytes; /* holes left out; of a file with several names once */
	enum layer_use cache_use;
	uint64_t pack_bytes; /* which its pack takes on the disk; 0: it has none */
};

/* The hash tree for dm-verity. Texts are hexadecimal digits. */
struct populate_dm_verity {
	const char *algorithm; /* NULL: none was asked for */
	uint32_t data_block_bytes, hash_block_bytes;
	uint64_t data_blocks;
	uint64_t offset_bytes;                               /* of its superblock, in the file that has it */
	uint64_t bytes;                                      /* of superblock and tree */
	char root_hash[2 * HASH_TREE_MOST_DIGEST_BYTES + 1]; /* empty with size_only */
	char salt[2 * DM_VERITY_MOST_SALT_BYTES + 1];
	char uuid[2 * DM_VERITY_UUID_BYTES + 5];
};

/* A file that fs-verity protects. */
struct populate_protected {
	char *path; /* from the root, with a slash; owned */
	uint8_t algorithm, block_bits;
	uint8_t digest[HASH_TREE_MOST_DIGEST_BYTES];
};

/* What the image has of the one that it is made of, and lacks. */
struct populate_likeness {
	bool is_like;  /* that was wanted */
	char uuid[37]; /* that both have; empty: they have different ones */
	uint64_t preallocated_files;
	const char *lost[8];
	uint32_t lost_count;
};

/* The built image. */
struct populate_report {
	uint64_t image_bytes;
	uint64_t blocks;
	uint64_t reserved_blocks; /* for the superuser */
	uint64_t journal_blocks;  /* inside the image */
	uint32_t block_bytes;
	uint32_t image_inodes;  /* that the image has */
	uint64_t names;         /* directory entries */
	uint64_t inodes;        /* files of any type that have an inode */
	uint64_t regular_files; /* of these, regular files with data */
	uint64_t data_bytes;    /* read from the source */
	uint64_t data_blocks;   /* of regular files */
	uint64_t data_extents;
	uint64_t flagged_files; /* of any type, that have file flags */
	uint64_t labelled;      /* files that have an SELinux label; counted only where rules are given */
	uint64_t zero_blocks;   /* found to hold only zeros and made holes */
	uint64_t shared_bytes;  /* of data_bytes, in blocks that the image shares with files of the source */
	uint64_t free_blocks;   /* the reserved ones too; with size_only: at least */
	uint64_t free_inodes;
	double seconds[POPULATE_STAGES];
	double serial_seconds[POPULATE_STAGES];    /* of these, while at most one thread had something to do */
	double (*worker_seconds)[POPULATE_STAGES]; /* of each worker, in what is shared out among them; owned */
	unsigned int worker_count;
	bool verified;                   /* asked for, and nothing was found */
	struct populate_source *sources; /* in their order, each layer of an OCI image by itself; owned */
	uint32_t source_count;
	struct populate_likeness likeness;
	struct populate_dm_verity dm_verity;
	struct populate_protected *protected_files; /* in the order of the tree; owned */
	uint64_t protected_count;
	struct delta delta;                       /* against the older image, if one is given */
	bool skipped[SCAN_OUTPUTS];               /* they were found in the source and left out */
	struct image_configuration configuration; /* of the last source that is a container image, with oci_config */
	struct directory_links links;             /* that were met in the sources */
	struct warnings warnings;
};
