/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The image file. A new one gets its name when it is complete (output/temporary_file.h), and a failure leaves
 * nothing of it; a device, or on request an existing file, is written in place and has no superblock after a failure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "output/temporary_file.h"
#include "support/problem.h"

/* As much of the beginning as mke2fs clears before anything else (it leaves the first KiB of some machines alone). */
#define OUTPUT_HEAD_BYTES 4096

struct output {
	const char *path;                /* the final name; where it is renamed, what symlinks lead to */
	char *resolved_path;             /* owned; NULL where path is as it was given */
	struct temporary_file temporary; /* where not in_place */
	const char *work_path; /* where it is built, for this process and its children: that of the temporary file, or
	                          path where in_place */
	char *offset_path;     /* the same as e2fsprogs are told of an offset; owned; NULL without one */
	int descriptor;        /* open for reading and writing */
	int direct_descriptor; /* the same for writing past the page cache; -1: it is no device, or has no such thing */
	bool is_device;        /* a block device */
	bool in_place; /* a device, or an existing file that is written instead of replaced, as with an offset */
	uint64_t offset_bytes;   /* where in the file the filesystem begins */
	uint64_t existing_bytes; /* in place: size of what is there from the offset on; 0: no block of a filesystem */
	uint64_t original_bytes; /* in place: size of the whole file */
	char *head;          /* in place: the first OUTPUT_HEAD_BYTES from the offset on, before mke2fs ran; owned */
	bool is_overwritten; /* in place: what was there is certainly gone */
	const char *advice;  /* what the user can do where replacing is not safe, a string literal; NULL: do not look */
	bool existed;        /* a regular file was there that is replaced; the finished file gets its owner: */
	uid_t uid;
	gid_t gid;
	mode_t mode; /* what the finished file gets */
};

/*
 * Examines an existing output, without opening it for writing or making a file. The caller sets path, offset_bytes,
 * in_place and advice; all other members are zero. Errors name the path.
 *
 * If a new file replaces a regular file by rename(2), a program that uses the old one by another way than its name does
 * not see the new one: further hard links, bind mounts, loop devices, open descriptors. With an advice such a file is
 * refused, here and by output_finish(): EBUSY, or the error that rename(2) would return; the reason ends in the advice.
 * Filesystems with leases (fcntl(2)) tell the file's owner and root whether a process has it open; all filesystems tell
 * whether a loop device has. A file that is closed within half a second is not in use.
 */
MUST_CHECK errcode_t output_examine(struct output *output, struct problem *problem);

/*
 * Can a file with this name be made, by a temporary file in the same folder? 0, or the error that making it would
 * return, without a problem.
 */
MUST_CHECK errcode_t output_examine_folder(const char *path);

/* Then makes the temporary file (or opens what is written in place). */
MUST_CHECK errcode_t output_open(struct output *output, struct problem *problem);

/*
 * Removes the superblock that mke2fs has just written, so that what is written in place holds no filesystem that could
 * be taken for a whole one until it is whole. Main thread only; does nothing to a new file, which has no name yet.
 */
MUST_CHECK errcode_t output_hide_superblock(struct output *output, struct problem *problem);

/*
 * After a failure, when nothing has the image open any more: what was written in place is left without a superblock,
 * which is added to the problem, unless mke2fs failed before it wrote anything; a file that was empty is so again. Does
 * nothing before output_open().
 */
void output_fail(struct output *output, struct problem *problem);

/* True for a new file, or one that was empty: it does not set the filesystem's size. */
static inline bool output_is_fresh(const struct output *output)
{
	return !output->is_device && !output->existing_bytes;
}

/* Makes a file that mke2fs left shorter than the filesystem as long as that. */
MUST_CHECK errcode_t output_extend(const struct output *output, uint64_t filesystem_bytes, struct problem *problem);

/*
 * Gives back the host's blocks that nothing was written to. mke2fs asks for zeros where the journal lies
 * (FALLOC_FL_ZERO_RANGE), for which ext4, XFS and btrfs keep unwritten blocks: 16 MiB of an image of 1 GiB. A host that
 * cannot is left alone.
 */
void output_release_unwritten(const struct output *output);

/*
 * Makes another temporary file for what the first is to be turned into. The first one is removed; its descriptor
 * becomes the caller's. Not for what is written in place.
 */
MUST_CHECK errcode_t output_renew(struct output *output, int *previous, struct problem *problem);

/* Waits for the data to be on disk and gives the file its final name. EINTR: a signal arrived before that. */
MUST_CHECK errcode_t output_finish(struct output *output, struct problem *problem);

/*
 * The steps of it, for several files that belong together: each step is done for all of them before the next one. Only
 * rename(2) can fail in the last.
 */
MUST_CHECK errcode_t output_settle(struct output *output, struct problem *problem);
MUST_CHECK errcode_t output_link(struct output *output, struct problem *problem);
MUST_CHECK errcode_t output_name(struct output *output, struct problem *problem);

/* Removes the temporary file if output_finish() has not been reached, and frees. */
void output_close(struct output *output);

/* Writes a text; what it returns need not cover errors of the stream that closing it shows as well. */
typedef errcode_t (*text_writer)(void *context, FILE *stream);

/* Can a text be written there, as far as that is known without doing it? The problem names the path. */
MUST_CHECK errcode_t text_file_examine(const char *path, struct problem *problem);

/*
 * Makes a file with a text, which the caller finishes and closes. A stream gets the text right away, and then the
 * descriptor is -1: there is nothing to finish.
 */
MUST_CHECK errcode_t text_file_open(const char *path, text_writer write, void *context, struct output *output,
                                    struct problem *problem);

/*
 * A text in a file that gets its name once it is whole: what is there stays until then. action: what messages say has
 * failed.
 */
MUST_CHECK errcode_t text_file_write(const char *path, text_writer write, void *context, const char *action,
                                     struct problem *problem);
