/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tar in the pax format. Names are bytes (hdrcharset=BINARY). Extended attributes are SCHILY.xattr records, which GNU
 * tar, bsdtar and we read (tar_xattr.h has the exception). Owners are numbers. Holes are left out in the form of
 * GNU.sparse 1.0.
 *
 * We write the headers ourselves. libarchive (3.6) cuts off the names of sparse files that have more than 100 bytes, so
 * that one file takes the place of another. Its times before 1970 are a second off, its ids of ACLs end at 2^31, and it
 * gives a file with an ACL other permissions. libarchive only packs the archive.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "extract/tar_acl.h"
#include "extract/tar_header.h"
#include "extract/tar_packer.h"
#include "extract/tar_xattr.h"
#include "extract/tree_output.h"
#include "tree/details.h"
#include "tree/file_flags.h"

/* tar(1) writes records of this size, and some readers of tapes require whole records. */
#define RECORD_BYTES 10240

static const char zeros[RECORD_BYTES];

struct tar {
	const struct tree *tree;
	struct tar_packer *packer;
	struct tar_records records; /* records of the member that is being written */
	uint64_t unpadded_bytes; /* contents since the last header; their last block is padded before the next header */
};

static errcode_t tar_begin(struct extraction *extraction, struct output_sink *sink, void **state)
{
	const struct extract_options *options = extraction->options;
	struct tar *tar = calloc(1, sizeof(*tar));

	*state = tar;
	if (!tar)
		return ENOMEM;
	tar->tree = extraction->tree;
	return tar_packer_create(options->packing, options->pack_threads, sink, &tar->packer);
}

static uint64_t tar_lacks(const struct tree *tree, const struct tree_node *node)
{
	uint64_t lacks = 0;

	if (S_ISSOCK(node->mode))
		return LOSS_BIT(LOSS_SOCKET);
	if (node->has_flags && file_flags_nameless(node->flags))
		lacks |= LOSS_BIT(LOSS_FLAGS);
	if (node->has_lost_acl || node->has_lost_xattr)
		lacks |= LOSS_BIT(LOSS_XATTR_UNKNOWN);
	if (tree_detail(tree, node)->project)
		lacks |= LOSS_BIT(LOSS_PROJECT);
	if (tree_detail(tree, node)->verity)
		lacks |= LOSS_BIT(LOSS_VERITY);
	return lacks;
}

/* --- Records ------------------------------------------------------------------------------------------------------ */

static errcode_t add_xattr(struct tar_records *records, const struct tree_xattr *xattr)
{
	const char *keyword = tar_acl_keyword(xattr);
	SCOPE_FREE char *text = keyword ? tar_acl_text(xattr) : NULL;

	if (!keyword)
		return tar_xattr_add(records, xattr);
	return text ? tar_record_add(records, keyword, text, strlen(text)) : ENOMEM;
}

static errcode_t add_time(struct tar_records *records, const char *keyword, const struct tree_time *time)
{
	return time->is_known ? tar_record_add_time(records, keyword, time->seconds, time->nanoseconds) : 0;
}

static errcode_t add_flags(struct tar_records *records, const struct tree_node *node)
{
	SCOPE_FREE char *text = node->has_flags ? file_flags_text(node->flags) : NULL;

	if (node->has_flags && !text)
		return ENOMEM;
	return text && *text ? tar_record_add(records, "SCHILY.fflags", text, strlen(text)) : 0;
}

/* Adds the metadata. Only the first name of a file has them. Without a creation time it is that of the last change. */
static errcode_t add_metadata(struct tar *tar, const struct tree_node *node)
{
	const struct tree_detail *detail = tree_detail(tar->tree, node);
	const struct tree_xattr_set *set = &tar->tree->xattr_sets[node->xattrs];
	errcode_t error = add_time(&tar->records, "atime", &detail->atime);

	if (!error)
		error = add_time(&tar->records, "ctime", &detail->ctime);
	/* GNU tar warns of the word for each member. */
	if (!error &&
	    (detail->crtime.seconds != node->mtime_seconds || detail->crtime.nanoseconds != node->mtime_nanoseconds))
		error = add_time(&tar->records, "LIBARCHIVE.creationtime", &detail->crtime);
	if (!error)
		error = add_flags(&tar->records, node);
	for (uint32_t i = 0; !error && i < set->count; i++)
		error = add_xattr(&tar->records, &set->list[i]);
	return error;
}

/* --- Members ------------------------------------------------------------------------------------------------------ */

/*
 * Returns the map that GNU.sparse 1.0 puts before the data: the number of segments, and for each its start and its
 * length, one number a line. An empty segment at the end of the file gives the file's size. The caller frees it; NULL:
 * no memory.
 */
static char *map_text(const struct tree_node *node, size_t *bytes)
{
	const struct tree_data_map *map = node->data_map;
	const struct tree_segment *last = map->count ? &map->segments[map->count - 1] : NULL;
	bool has_end = !last || last->start_bytes + last->length_bytes < node->size_bytes;
	char *text = calloc((size_t)map->count + 2, 42), *end = text;

	if (!text)
		return NULL;
	end += sprintf(end, "%zu\n", (size_t)map->count + has_end);
	for (uint32_t i = 0; i < map->count; i++)
		end += sprintf(end, "%" PRIu64 "\n%" PRIu64 "\n", map->segments[i].start_bytes,
		               map->segments[i].length_bytes);
	if (has_end)
		end += sprintf(end, "%" PRIu64 "\n0\n", node->size_bytes);
	*bytes = (size_t)(end - text);
	return text;
}

static errcode_t pad(struct tar *tar)
{
	size_t bytes = tar_padding(tar->unpadded_bytes);

	tar->unpadded_bytes = 0;
	return bytes ? tar_packer_write(tar->packer, zeros, bytes) : 0;
}

static errcode_t write_padded(struct tar *tar, const void *bytes, size_t count)
{
	errcode_t error = tar_packer_write(tar->packer, bytes, count);

	tar->unpadded_bytes = count;
	return error ? error : pad(tar);
}

static errcode_t write_member(struct tar *tar, const struct tar_member *member)
{
	uint8_t block[TAR_BLOCK_BYTES];
	errcode_t error = tar_records_complete(&tar->records, member);

	tar_records_block_fill(member, tar->records.count, block);
	if (!error && tar->records.count)
		error = tar_packer_write(tar->packer, block, sizeof(block));
	if (!error && tar->records.count)
		error = write_padded(tar, tar->records.bytes, tar->records.count);
	tar_block_fill(member, block);
	return error ? error : tar_packer_write(tar->packer, block, sizeof(block));
}

static char type_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFLNK:
		return '2';
	case S_IFCHR:
		return '3';
	case S_IFBLK:
		return '4';
	case S_IFDIR:
		return '5';
	case S_IFIFO:
		return '6';
	default:
		return '0';
	}
}

static struct tar_member plain_member(const struct tree_node *node, const char *path)
{
	struct tar_member member = { .path = path,
		                     .type = type_of(node->mode),
		                     .mode = node->mode & 07777u,
		                     .uid = node->uid,
		                     .gid = node->gid,
		                     .mtime_seconds = node->mtime_seconds,
		                     .mtime_nanoseconds = node->mtime_nanoseconds };

	if (S_ISCHR(node->mode) || S_ISBLK(node->mode)) {
		member.major = node->device.major;
		member.minor = node->device.minor;
	}
	if (S_ISLNK(node->mode))
		member.link = node->target;
	if (S_ISREG(node->mode))
		member.size_bytes = selection_data_bytes(node);
	return member;
}

static errcode_t write_file(struct tar *tar, const struct tree_node *node, const char *path)
{
	struct tar_member member = plain_member(node, path);
	bool is_sparse = S_ISREG(node->mode) && node->is_sparse;
	size_t map_bytes = 0;
	SCOPE_FREE char *map = is_sparse ? map_text(node, &map_bytes) : NULL;
	errcode_t error = is_sparse && !map ? ENOMEM : add_metadata(tar, node);

	if (error)
		return error;
	if (is_sparse) {
		member.is_sparse = true;
		member.real_bytes = node->size_bytes;
		member.size_bytes += map_bytes + tar_padding(map_bytes);
	}
	error = write_member(tar, &member);
	return error || !is_sparse ? error : write_padded(tar, map, map_bytes);
}

/* The caller frees it; NULL: no memory. */
static char *member_name(const struct tar *tar, uint32_t number, const char *end)
{
	SCOPE_FREE char *path = extraction_path(tar->tree, number);
	char *name = NULL;

	return path && asprintf(&name, "%s%s%s", strcmp(path, ".") ? "./" : "", path, end) >= 0 ? name : NULL;
}

static errcode_t write_link(struct tar *tar, const struct output_node *output, const char *path)
{
	SCOPE_FREE char *link = member_name(tar, output->link_to, "");
	struct tar_member member = plain_member(output->node, path);

	member.type = '1';
	member.link = link;
	member.size_bytes = 0;
	return link ? write_member(tar, &member) : ENOMEM;
}

/*
 * Writes a member's headers. Names begin with "./": bsdtar(1) takes "\" and "C:" off their beginnings. A directory's
 * name ends in a slash; the root is "./".
 */
static errcode_t tar_node(void *state, const struct output_node *output, struct problem *problem)
{
	struct tar *tar = state;
	SCOPE_FREE char *name = member_name(tar, output->number, S_ISDIR(output->node->mode) ? "/" : "");

	(void)problem;
	if (S_ISSOCK(output->node->mode))
		return 0;
	if (!name)
		return ENOMEM;
	tar->records.count = 0;
	errcode_t error = pad(tar);

	if (error)
		return error;
	return output->link_to == output->number ? write_file(tar, output->node, name) : write_link(tar, output, name);
}

static errcode_t tar_data(void *state, const void *bytes, size_t count)
{
	struct tar *tar = state;

	tar->unpadded_bytes += count;
	return tar_packer_write(tar->packer, bytes, count);
}

static errcode_t tar_hole(void *state, uint64_t count)
{
	(void)state;
	(void)count;
	return 0;
}

/* Ends the archive with two blocks of zeros, and with as many more as fill a record. */
static errcode_t tar_end(void *state)
{
	struct tar *tar = state;
	errcode_t error = pad(tar);

	if (!error)
		error = tar_packer_write(tar->packer, zeros, 2 * TAR_BLOCK_BYTES);
	if (!error)
		error = tar_packer_write(
			tar->packer, zeros,
			(size_t)((RECORD_BYTES - tar_packer_bytes(tar->packer) % RECORD_BYTES) % RECORD_BYTES));
	return error ? error : tar_packer_end(tar->packer);
}

static void tar_close(void *state)
{
	struct tar *tar = state;

	if (!tar)
		return;
	tar_packer_destroy(tar->packer);
	free(tar->records.bytes);
	free(tar);
}

const struct tree_output tar_output = {
	.name = "tar",
	.has_contents = true,
	.is_binary = true,
	.lacks = tar_lacks,
	.begin = tar_begin,
	.node = tar_node,
	.data = tar_data,
	.hole = tar_hole,
	.end = tar_end,
	.close = tar_close,
};
