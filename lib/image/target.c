/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/target.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <blkid/blkid.h>

#include "filesystem/fs_errors.h"
#include "image/volume.h"
#include "support/io/whole_io.h"

#define SUPERBLOCK_OFFSET 1024
#define TEXT_BYTES 512   /* that tell text */
#define CUT_OFF_BYTES 96 /* of the reason */
#define SECTOR_BYTES 512 /* libblkid's sectors, whatever the device's own */

static void cleanup_probe(blkid_probe *probe)
{
	blkid_free_probe(*probe);
}

static errcode_t find_partition(struct target *target, unsigned int partition, struct problem *problem)
{
	errno = 0;
	__attribute__((cleanup(cleanup_probe))) blkid_probe probe = blkid_new_probe_from_filename(target->path);

	if (!probe)
		return problem_set(problem, errno ? errno : EINVAL, target->path, "cannot open");
	blkid_partlist list = blkid_probe_get_partitions(probe);

	if (!list || !blkid_partlist_numof_partitions(list))
		return problem_set_reason(problem, EINVAL, target->path, "cannot find the partition",
		                          "there is no partition table");
	blkid_partition found = blkid_partlist_get_partition_by_partno(list, (int)partition);

	if (!found)
		return problem_set_reason(problem, ENOENT, target->path, "cannot find the partition",
		                          "none has the number %u", partition);
	blkid_loff_t start = blkid_partition_get_start(found);

	if (start < 0 || start > INT64_MAX / SECTOR_BYTES)
		return problem_set_reason(problem, EINVAL, target->path, "cannot find the partition",
		                          "it begins nowhere");
	target->offset_bytes = (uint64_t)start * SECTOR_BYTES;
	return 0;
}

/* True for a tag, unless a file has that name. */
static bool is_tag(const char *name)
{
	const char *equals = strchr(name, '=');

	return equals && !memchr(name, '/', (size_t)(equals - name)) && access(name, F_OK);
}

errcode_t target_find(const char *name, uint64_t offset_bytes, unsigned int partition, struct target *target,
                      struct problem *problem)
{
	*target = (struct target){ .offset_bytes = offset_bytes };
	target->path = is_tag(name) ? blkid_evaluate_spec(name, NULL) : strdup(name);
	if (!target->path)
		return is_tag(name) ? problem_set_reason(problem, ENODEV, name, "cannot find the filesystem",
		                                         "no device has this tag") :
		                      problem_set(problem, ENOMEM, name, "cannot find the filesystem");
	errcode_t error = fs_may_be_at(target->path) ?
	                          0 :
	                          problem_set_reason(problem, EINVAL, name, "cannot open the filesystem",
	                                             "it is neither a regular file nor a block device");

	if (!error && partition)
		error = find_partition(target, partition, problem);

	if (error)
		target_free(target);
	return error;
}

void target_free(struct target *target)
{
	free(target->path);
	target->path = NULL;
}

static unsigned int count_partitions(const char *path)
{
	__attribute__((cleanup(cleanup_probe))) blkid_probe probe = blkid_new_probe_from_filename(path);
	blkid_partlist list = probe ? blkid_probe_get_partitions(probe) : NULL;
	int count = list ? blkid_partlist_numof_partitions(list) : 0;

	return count > 0 ? (unsigned int)count : 0;
}

/* These formats are often taken for a filesystem's image. */
static const struct {
	size_t offset;
	const char *magic;
	const char *reason;
} known[] = {
	{ 0, "QFI\xfb", "it is a qcow2 image: make it raw, with qemu-img convert -O raw or e2image -r" },
	{ 4, "Ext2 Image 1.", "it is a file of e2image: make one with e2image -r, which has a filesystem's form" },
	{ 512, "LABELONE", "it is an LVM2 physical volume: name one of its logical volumes" },
};

/* Returns NULL if the target has none of these formats. */
static const char *known_reason(const struct target *target)
{
	char bytes[1024] = "";
	SCOPE_CLOSE int descriptor = open(target->path, O_RDONLY | O_CLOEXEC);

	if (descriptor < 0 || pread(descriptor, bytes, sizeof(bytes), (off_t)target->offset_bytes) < 0)
		return NULL;
	for (size_t n = 0; n < sizeof(known) / sizeof(*known); n++)
		if (!memcmp(bytes + known[n].offset, known[n].magic, strlen(known[n].magic)))
			return known[n].reason;
	return NULL;
}

/* How many of the blocks that the superblock counts are there? False: all of them, or that is no superblock. */
static bool is_cut_off(const char *path, uint64_t offset_bytes, char *reason, size_t count)
{
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = descriptor < 0 ? -1 : lseek(descriptor, 0, SEEK_END);
	struct ext2_super_block super;

	if (end < 0 || (uint64_t)end < offset_bytes ||
	    whole_read(descriptor, &super, sizeof(super), offset_bytes + SUPERBLOCK_OFFSET) ||
	    le16toh(super.s_magic) != EXT2_SUPER_MAGIC ||
	    le32toh(super.s_log_block_size) > EXT2_MAX_BLOCK_LOG_SIZE - EXT2_MIN_BLOCK_LOG_SIZE)
		return false;
	bool has_more = le32toh(super.s_feature_incompat) & EXT4_FEATURE_INCOMPAT_64BIT;
	uint64_t blocks =
		le32toh(super.s_blocks_count) | (has_more ? (uint64_t)le32toh(super.s_blocks_count_hi) << 32 : 0);
	uint64_t there = ((uint64_t)end - offset_bytes) >> (EXT2_MIN_BLOCK_LOG_SIZE + le32toh(super.s_log_block_size));

	snprintf(reason, count, VOLUME_CUT_OFF, there, blocks);
	return there < blocks;
}

errcode_t target_check_end(const struct target *target, const char *name, const char *action, struct problem *problem)
{
	char reason[CUT_OFF_BYTES];

	return is_cut_off(target->path, target->offset_bytes, reason, sizeof(reason)) ?
	               problem_set_reason(problem, EXT2_ET_SHORT_READ, name, action, "%s", reason) :
	               0;
}

/* Text, of which a filesystem's beginning has none: a page or a report that was given in its place. */
static const char *text_reason(const struct target *target)
{
	char bytes[TEXT_BYTES + 1];
	SCOPE_CLOSE int descriptor = open(target->path, O_RDONLY | O_CLOEXEC);
	ssize_t count = descriptor < 0 ? 0 : pread(descriptor, bytes, TEXT_BYTES, (off_t)target->offset_bytes);

	for (ssize_t n = 0; n < count; n++)
		if (!bytes[n] || ((unsigned char)bytes[n] < ' ' && !strchr("\t\n\r\f", bytes[n])))
			return NULL;
	if (count <= 0)
		return NULL;
	bytes[count] = '\0';
	const char *first = bytes + strspn(bytes, " \t\n\r\f");

	return !strncasecmp(first, "<!doctype html", 14) || !strncasecmp(first, "<html", 5) ?
	               "it is a page of HTML, not a filesystem" :
	       *first == '{' || *first == '[' ? "it is JSON, not a filesystem" :
	                                        "it is text, not a filesystem";
}

/* The name of another filesystem or container, as blkid(8) has it. */
static bool find_type(const struct target *target, char *reason, size_t count)
{
	__attribute__((cleanup(cleanup_probe))) blkid_probe probe = blkid_new_probe();
	SCOPE_CLOSE int descriptor = open(target->path, O_RDONLY | O_CLOEXEC);
	const char *type;

	if (!probe || descriptor < 0 ||
	    blkid_probe_set_device(probe, descriptor, (blkid_loff_t)target->offset_bytes, 0) ||
	    blkid_do_safeprobe(probe) || blkid_probe_lookup_value(probe, "TYPE", &type, NULL))
		return false;
	snprintf(reason, count, "it is %s, not ext2, ext3 or ext4", type);
	return true;
}

errcode_t target_explain(const struct target *target, errcode_t error, struct problem *problem)
{
	const char *reason = known_reason(target);
	char cut_off[CUT_OFF_BYTES], other[CUT_OFF_BYTES];
	bool may_have_partitions = error == EXT2_ET_BAD_MAGIC && !target->offset_bytes && !reason;
	unsigned int partitions = may_have_partitions ? count_partitions(target->path) : 0;

	if (!reason && !partitions && error)
		reason = text_reason(target);
	if (!reason && error == EXT2_ET_SHORT_READ)
		reason = is_cut_off(target->path, target->offset_bytes, cut_off, sizeof(cut_off)) ?
		                 cut_off :
		                 "it is cut off: it ends before the end of the superblock or of the group descriptors";
	if (!reason && !partitions && error == EXT2_ET_BAD_MAGIC && find_type(target, other, sizeof(other)))
		reason = other;
	if (!reason && !partitions)
		return error;
	problem_clear(problem);
	if (reason)
		return problem_set_reason(problem, error ? error : EINVAL, target->path, "cannot open the filesystem",
		                          "%s", reason);
	return problem_set_reason(problem, error, target->path, "cannot open the filesystem",
	                          "it holds %u partition%s: choose one with --partition=N", partitions,
	                          partitions == 1 ? "" : "s");
}
