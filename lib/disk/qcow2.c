/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk/qcow2.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "unpack/sparse_file.h"

#define ACTION "cannot read the qcow2 image"
#define ADVICE "make it raw, with qemu-img convert -O raw, or attach it with qemu-nbd --read-only"

#define LEAST_CLUSTER_BITS 9
#define MOST_CLUSTER_BITS 21
#define MOST_L1_BYTES (32u << 20) /* QEMU's limit */

#define PLACE_MASK UINT64_C(0x00fffffffffffe00)
#define IS_COMPRESSED (UINT64_C(1) << 62)
#define READS_AS_ZEROS UINT64_C(1) /* of version 3 */

/* Incompatible features that change nothing for a reader of data: the refcounts are out of date. */
#define FEATURE_DIRTY UINT64_C(1)

struct header {
	uint32_t magic;
	uint32_t version;
	uint64_t backing_file_at;
	uint32_t backing_file_bytes;
	uint32_t cluster_bits;
	uint64_t size_bytes;
	uint32_t encryption;
	uint32_t l1_entries;
	uint64_t l1_at;
	uint64_t refcounts_at;
	uint32_t refcount_clusters;
	uint32_t snapshots;
	uint64_t snapshots_at;
	uint64_t incompatible; /* from version 3 on */
};

struct qcow2 {
	int from, to;
	const char *path;
	struct progress *progress;
	struct problem *problem;
	uint64_t file_bytes;
	uint64_t size_bytes; /* of the disk */
	unsigned int cluster_bits;
	bool has_zero_flags;
	uint64_t l1_at;
	uint64_t l1_entries;
	uint64_t clusters_left; /* how many more the file can have: each is used once by the present state */
	uint64_t *l2;           /* one table */
	uint8_t *cluster;
};

static errcode_t refuse(const struct qcow2 *disk, const char *why)
{
	return problem_set_reason(disk->problem, EINVAL, disk->path, ACTION, "%s: " ADVICE, why);
}

static errcode_t damaged(const struct qcow2 *disk, const char *why)
{
	return problem_set_reason(disk->problem, EBADMSG, disk->path, ACTION, "it is damaged: %s", why);
}

static errcode_t read_at(const struct qcow2 *disk, void *bytes, size_t count, uint64_t at)
{
	if (at > (uint64_t)INT64_MAX - count)
		return damaged(disk, "it leads beyond its end");
	errcode_t error = whole_read(disk->from, bytes, count, at);

	if (error == ENODATA)
		return damaged(disk, "it leads beyond its end");
	return error ? problem_set(disk->problem, error, disk->path, ACTION) : 0;
}

/* Tables and clusters lie at whole clusters, and none is used twice. */
static errcode_t take_cluster(struct qcow2 *disk, uint64_t at)
{
	if (at & ((UINT64_C(1) << disk->cluster_bits) - 1))
		return damaged(disk, "a cluster begins within another one");
	if (!disk->clusters_left)
		return damaged(disk, "it has more clusters than the file has room for");
	disk->clusters_left--;
	return 0;
}

static errcode_t check_header(struct qcow2 *disk, const struct header *header)
{
	uint64_t incompatible = be32toh(header->version) >= 3 ? be64toh(header->incompatible) : 0;
	uint32_t bits = be32toh(header->cluster_bits);

	if (be32toh(header->version) != 2 && be32toh(header->version) != 3)
		return refuse(disk, "its version is neither 2 nor 3");
	if (header->backing_file_at)
		return refuse(disk, "it has a backing file");
	if (header->encryption)
		return refuse(disk, "it is encrypted");
	if (incompatible & ~FEATURE_DIRTY)
		return refuse(disk, "it has its data in another file, or features that are not known here");
	if (bits < LEAST_CLUSTER_BITS || bits > MOST_CLUSTER_BITS)
		return damaged(disk, "the size of its clusters is out of range");
	disk->cluster_bits = bits;
	disk->has_zero_flags = be32toh(header->version) >= 3;
	disk->size_bytes = be64toh(header->size_bytes);
	disk->l1_at = be64toh(header->l1_at);
	disk->l1_entries = be32toh(header->l1_entries);
	if (disk->l1_entries > MOST_L1_BYTES / sizeof(uint64_t))
		return damaged(disk, "its table is too long");
	/* An entry stands for a table of a cluster, so for the square of that, divided by eight. */
	if (disk->size_bytes > INT64_MAX ||
	    (disk->size_bytes && ((disk->size_bytes - 1) >> (2 * bits - 3)) >= disk->l1_entries))
		return damaged(disk, "its table is too short for the disk");
	return 0;
}

static errcode_t copy_cluster(struct qcow2 *disk, uint64_t entry, uint64_t at)
{
	size_t bytes = (size_t)1 << disk->cluster_bits;
	uint64_t place = entry & PLACE_MASK;

	if (entry & IS_COMPRESSED)
		return refuse(disk, "it has compressed clusters");
	if (!place || (disk->has_zero_flags && (entry & READS_AS_ZEROS)))
		return 0;
	errcode_t error = take_cluster(disk, place);

	bytes = disk->size_bytes - at < bytes ? (size_t)(disk->size_bytes - at) : bytes;
	/* The file may end within its last cluster: zeros follow. */
	if (!error && place < disk->file_bytes && disk->file_bytes - place < bytes)
		bytes = (size_t)(disk->file_bytes - place);
	if (!error)
		error = read_at(disk, disk->cluster, bytes, place);
	if (!error)
		error = sparse_file_write(disk->to, disk->cluster, bytes, at, disk->path, disk->problem);
	progress_add(disk->progress, bytes, 0);
	return error;
}

/* Copies what one entry of the first table stands for: the part of the disk that begins at `at`. */
static errcode_t copy_table(struct qcow2 *disk, uint64_t entry, uint64_t at)
{
	size_t entries = ((size_t)1 << disk->cluster_bits) / sizeof(uint64_t);
	uint64_t place = entry & PLACE_MASK;

	if (!place)
		return 0;
	errcode_t error = take_cluster(disk, place);

	if (!error)
		error = read_at(disk, disk->l2, entries * sizeof(uint64_t), place);
	for (size_t n = 0; !error && n < entries && at < disk->size_bytes; n++, at += UINT64_C(1) << disk->cluster_bits)
		error = copy_cluster(disk, be64toh(disk->l2[n]), at);
	if (!error && interrupt_pending())
		error = problem_set(disk->problem, EINTR, disk->path, ACTION);
	return error;
}

static errcode_t copy_disk(struct qcow2 *disk)
{
	SCOPE_FREE uint64_t *l1 = malloc((size_t)disk->l1_entries * sizeof(*l1) + 1);
	SCOPE_FREE uint64_t *l2 = malloc((size_t)1 << disk->cluster_bits);
	SCOPE_FREE uint8_t *cluster = malloc((size_t)1 << disk->cluster_bits);
	unsigned int table_bits = 2 * disk->cluster_bits - 3;

	if (!l1 || !l2 || !cluster)
		return problem_set(disk->problem, ENOMEM, disk->path, ACTION);
	disk->l2 = l2;
	disk->cluster = cluster;
	errcode_t error = read_at(disk, l1, (size_t)disk->l1_entries * sizeof(*l1), disk->l1_at);

	for (uint64_t n = 0; !error && n < disk->l1_entries && n << table_bits < disk->size_bytes; n++)
		error = copy_table(disk, be64toh(l1[n]), n << table_bits);
	return error ? error : sparse_file_end(disk->to, disk->size_bytes, disk->path, disk->problem);
}

errcode_t qcow2_unpack(int from, struct progress *progress, int to, const char *path, struct problem *problem)
{
	struct qcow2 disk = { .from = from, .to = to, .path = path, .progress = progress, .problem = problem };
	struct header header = { 0 };
	struct stat status;

	if (fstat(from, &status))
		return problem_set(problem, errno, path, ACTION);
	/* The header of version 2 ends before the features. */
	size_t bytes = (size_t)status.st_size < sizeof(header) ? offsetof(struct header, incompatible) : sizeof(header);
	errcode_t error = read_at(&disk, &header, bytes, 0);

	if (!error)
		error = check_header(&disk, &header);
	if (error)
		return error;
	disk.file_bytes = (uint64_t)status.st_size;
	disk.clusters_left = (disk.file_bytes >> disk.cluster_bits) + 1;
	progress_stage(progress, "unpack", disk.file_bytes, 0);
	return copy_disk(&disk);
}
