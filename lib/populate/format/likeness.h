/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an image that is made of one image keeps of that one's filesystem (--like): what its superblock says and no
 * option of the user's says otherwise. mke2fs is told what it has options for; the rest is put into the superblock that
 * it has made.
 */
#pragma once

#include "image/volume.h"
#include "populate/build/report.h"
#include "populate/build/scanned.h"
#include "populate/format/mke2fs.h"

/* Reads what is to be kept. ENOMEM, errors in reading. */
MUST_CHECK errcode_t likeness_read(const struct volume *volume, struct likeness *like);

/* The identity of the source, as far as it has one: a filesystem without UUID or hash seed gets new ones. */
void likeness_identify(const struct likeness *like, struct identity *identity);

/* Options for mke2fs besides the user's. block_bytes: those that are asked for; 0: the user's options say. */
void likeness_words(const struct likeness *like, const struct populate_options *options, uint32_t block_bytes,
                    struct mke2fs_words *words);

/* The block size to ask for; 0: that is left to the user's options. */
uint32_t likeness_block_bytes(const struct likeness *like, const struct populate_options *options);

/* Puts what mke2fs has no options for into the superblock of a filesystem that it made. */
void likeness_apply(const struct likeness *like, const struct populate_options *options,
                    struct ext2_super_block *super);

/* The first thing that should be as in the source and is not, as messages call it; NULL: all is. */
const char *likeness_difference(const struct likeness *like, const struct populate_options *options,
                                const struct ext2_super_block *super);

/* Reports the files that are preallocated, or should be. The format is that of the new filesystem. */
void likeness_report_files(const struct tree *tree, const struct ondisk_format *format,
                           struct populate_likeness *report);

/* Reports what is kept of the identity, and what the source has and the image has not. */
void likeness_report(const struct likeness *like, const struct populate_options *options,
                     struct populate_likeness *report);
