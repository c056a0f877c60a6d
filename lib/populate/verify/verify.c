// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/verify/verify.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/build/run_writer.h"
#include "populate/format/child.h"
#include "populate/metadata/inodes.h"
#include "populate/verify/image_reader.h"
#include "source/host/content_reader.h"
#include "source/tree/file_flags.h"
#include "support/run/interrupt.h"

#define BUFFER_BYTES (1u << 20)

/* What each worker has of its own. */
struct verify_worker {
	struct image_reader *image;
	struct content_reader *source;
	char *from_image, *from_source; /* BUFFER_BYTES each */
};

struct verifying {
	struct build *build;
	const struct output *output;
	struct verify_worker *workers;
};

/* One node being compared. */
struct subject {
	const struct verifying *verifying;
	struct verify_worker *own;
	struct problem *problem;
	uint32_t node;
	uint32_t found; /* names or xattrs that the image has */
};

static const struct tree_node *node_of(const struct subject *subject)
{
	return build_node(subject->verifying->build, subject->node);
}

static uint32_t ino_of(const struct subject *subject)
{
	return subject->verifying->build->placements[subject->node].ino;
}

__attribute__((format(printf, 2, 3))) static errcode_t differs(const struct subject *subject, const char *format, ...)
{
	SCOPE_FREE char *path = tree_path(subject->verifying->build->tree, subject->node);
	SCOPE_FREE char *reason = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&reason, format, arguments) < 0)
		reason = NULL;
	va_end(arguments);
	return problem_set_reason(subject->problem, EUCLEAN, path, "differs in the image", "%s",
	                          reason ? reason : "out of memory");
}

static errcode_t unreadable(const struct subject *subject, errcode_t error)
{
	if (error == EUCLEAN)
		return error;
	return build_node_problem(subject->verifying->build, subject->problem, subject->node, error,
	                          "cannot be read back from the image");
}

static errcode_t compare_inode(const struct subject *subject, const struct image_inode *inode)
{
	const struct build *build = subject->verifying->build;
	const struct tree_node *node = node_of(subject);
	struct inode_value wanted;

	inodes_describe(build, subject->node, &wanted);
	struct inode_time mtime = inode_stored_time(&build->format, wanted.mtime);

	if (inode->mode != wanted.mode)
		return differs(subject, "its mode is %o, not %o", inode->mode, wanted.mode);
	if (inode->uid != wanted.uid || inode->gid != wanted.gid)
		return differs(subject, "its owner is %u:%u, not %u:%u", inode->uid, inode->gid, wanted.uid,
		               wanted.gid);
	if (inode->project != wanted.project)
		return differs(subject, "its project is %u, not %u", inode->project, wanted.project);
	if ((inode->flags ^ wanted.flags) & EXT4_PROJINHERIT_FL)
		return differs(subject, "its project is%s inherited", inode->flags & EXT4_PROJINHERIT_FL ? "" : " not");
	if ((inode->flags ^ wanted.flags) & FILE_FLAGS_KEPT)
		return differs(subject, "its file flags are 0x%x, not 0x%x", inode->flags & FILE_FLAGS_KEPT,
		               wanted.flags & FILE_FLAGS_KEPT);
	/* A directory with more links than can be counted has 1. */
	if (inode->links != (wanted.links > EXT2_LINK_MAX ? 1 : wanted.links))
		return differs(subject, "it has %u links, not %u", inode->links, wanted.links);
	if (inode->mtime_seconds != mtime.seconds || inode->mtime_nanoseconds != mtime.nanoseconds)
		return differs(subject, "its time is %" PRId64 ".%09u, not %" PRId64 ".%09u", inode->mtime_seconds,
		               inode->mtime_nanoseconds, mtime.seconds, mtime.nanoseconds);
	if ((S_ISREG(node->mode) || S_ISLNK(node->mode)) && inode->size_bytes != node->size_bytes)
		return differs(subject, "its size is %" PRIu64 ", not %" PRIu64, inode->size_bytes, node->size_bytes);
	if ((S_ISCHR(node->mode) || S_ISBLK(node->mode)) &&
	    (inode->major != node->device.major || inode->minor != node->device.minor))
		return differs(subject, "it is device %u:%u, not %u:%u", inode->major, inode->minor, node->device.major,
		               node->device.minor);
	return 0;
}

static errcode_t visit_name(void *context, const char *name, uint32_t name_bytes, uint32_t child)
{
	struct subject *subject = context;
	const struct build *build = subject->verifying->build;
	const struct tree_node *directory = node_of(subject);

	if (name_bytes == 1 && name[0] == '.')
		return child == ino_of(subject) ? 0 : differs(subject, "its '.' entry has the wrong inode");
	if (name_bytes == 2 && name[0] == '.' && name[1] == '.')
		return child == build->placements[directory->parent].ino ?
		               0 :
		               differs(subject, "its '..' entry has the wrong inode");
	if (subject->node == TREE_ROOT && build->lost_found && child == build->lost_found)
		return 0;
	uint32_t node = tree_find(build->tree, subject->node, name, name_bytes);

	if (node == TREE_ROOT)
		return differs(subject, "it has an extra entry %.*s", (int)name_bytes, name);
	subject->found++;
	return child == build->placements[node].ino ?
	               0 :
	               differs(subject, "its entry %.*s has the wrong inode", (int)name_bytes, name);
}

static errcode_t compare_directory(struct subject *subject)
{
	uint32_t wanted = node_of(subject)->child_count;

	subject->found = 0;
	errcode_t error = image_reader_names(subject->own->image, ino_of(subject), visit_name, subject);
	if (error)
		return unreadable(subject, error);
	/* e2fsck has made sure that no name is there twice. */
	return subject->found == wanted ? 0 : differs(subject, "it has %u entries, not %u", subject->found, wanted);
}

/* Entries that do not name a user or group have no id: the kernel stores -1 for it, libext2fs 0. */
static bool same_acl(const char *left, const char *right, size_t bytes)
{
	const size_t header_bytes = sizeof(struct posix_acl_xattr_header);
	struct posix_acl_xattr_entry one, other;

	if (bytes < header_bytes || memcmp(left, right, header_bytes) != 0)
		return false;
	for (size_t at = header_bytes; at + sizeof(one) <= bytes; at += sizeof(one)) {
		memcpy(&one, left + at, sizeof(one));
		memcpy(&other, right + at, sizeof(other));
		uint16_t tag = le16toh(one.e_tag);

		if (one.e_tag != other.e_tag || one.e_perm != other.e_perm ||
		    ((tag == ACL_USER || tag == ACL_GROUP) && one.e_id != other.e_id))
			return false;
	}
	return true;
}

static bool same_value(const struct tree_xattr *wanted, const void *value, size_t value_bytes)
{
	if (value_bytes != wanted->value_bytes)
		return false;
	if (strncmp(wanted->name, "system.posix_acl_", strlen("system.posix_acl_")) == 0)
		return same_acl(wanted->value, value, value_bytes);
	return memcmp(value, wanted->value, value_bytes) == 0;
}

static errcode_t visit_xattr(void *context, const char *name, const void *value, size_t value_bytes)
{
	struct subject *subject = context;
	const struct tree_xattr_set *set = &subject->verifying->build->tree->xattr_sets[node_of(subject)->xattrs];

	for (uint32_t number = 0; number < set->count; number++) {
		const struct tree_xattr *wanted = &set->list[number];

		if (strcmp(name, wanted->name) != 0)
			continue;
		subject->found++;
		return same_value(wanted, value, value_bytes) ?
		               0 :
		               differs(subject, "its attribute %s has another value", name);
	}
	return differs(subject, "it has an extra attribute %s", name);
}

static errcode_t compare_xattrs(struct subject *subject)
{
	uint32_t wanted = subject->verifying->build->tree->xattr_sets[node_of(subject)->xattrs].count;

	subject->found = 0;
	errcode_t error = image_reader_xattrs(subject->own->image, ino_of(subject), visit_xattr, subject);
	if (error)
		return unreadable(subject, error);
	return subject->found == wanted ? 0 : differs(subject, "it has %u attributes, not %u", subject->found, wanted);
}

static errcode_t compare_symlink(const struct subject *subject)
{
	const struct tree_node *node = node_of(subject);
	char *target = subject->own->from_image;

	/* A target fits a block. */
	errcode_t error =
		image_reader_small(subject->own->image, ino_of(subject), target, (uint32_t)node->size_bytes);
	if (error)
		return unreadable(subject, error);
	return memcmp(target, node->target, node->size_bytes) == 0 ?
	               0 :
	               differs(subject, "it points to %.*s", (int)node->size_bytes, target);
}

/* Compares count bytes from offset, which are at `physical` bytes in the image, or zeros where that is 0. */
static errcode_t compare_bytes(const struct subject *subject, uint64_t offset, uint64_t count, uint64_t physical)
{
	const struct verify_worker *own = subject->own;
	const struct build *build = subject->verifying->build;

	while (count) {
		size_t piece = count < BUFFER_BYTES ? (size_t)count : BUFFER_BYTES;
		errcode_t error = content_reader_read(own->source, own->from_source, piece, offset, subject->problem);

		if (error)
			return error;
		if (physical)
			error = image_read(&build->image, own->from_image, piece, physical);
		else
			memset(own->from_image, 0, piece);
		if (error)
			return unreadable(subject, error);
		if (memcmp(own->from_source, own->from_image, piece) != 0) {
			size_t byte = 0;

			while (own->from_source[byte] == own->from_image[byte])
				byte++;
			return differs(subject, "its content, from byte %" PRIu64 " on", offset + byte);
		}
		progress_add(build->options->progress, piece, 0);
		offset += piece;
		physical += physical ? piece : 0;
		count -= piece;
	}
	return 0;
}

/* Where the image has a hole, the source's data in it, if any, must be zeros; holes of both are not read. */
static errcode_t compare_hole(const struct subject *subject, uint64_t start, uint64_t end)
{
	const struct tree_node *node = node_of(subject);

	if (!node->is_sparse)
		return compare_bytes(subject, start, end - start, 0);
	for (uint32_t number = 0; number < node->data_map->count; number++) {
		uint64_t from = node->data_map->segments[number].start_bytes;
		uint64_t to = from + node->data_map->segments[number].length_bytes;

		from = from > start ? from : start;
		to = to < end ? to : end;
		errcode_t error = from < to ? compare_bytes(subject, from, to - from, 0) : 0;

		if (error)
			return error;
	}
	return 0;
}

static errcode_t compare_mapped(const struct subject *subject)
{
	const struct build *build = subject->verifying->build;
	uint64_t size_bytes = node_of(subject)->size_bytes, done = 0;
	const struct file_extent *runs;
	size_t count;
	errcode_t error = image_reader_map(subject->own->image, ino_of(subject), &runs, &count);

	if (error)
		return unreadable(subject, error);
	for (size_t run = 0; run < count; run++) {
		uint64_t start = (uint64_t)runs[run].logical << build->format.block_bits;
		uint64_t end = start + ((uint64_t)runs[run].count << build->format.block_bits);

		if (start >= size_bytes)
			return differs(subject, "it has blocks after its end");
		end = end < size_bytes ? end : size_bytes;
		error = compare_hole(subject, done, start);
		if (!error)
			error = compare_bytes(subject, start, end - start,
			                      runs[run].physical << build->format.block_bits);
		if (error)
			return error;
		done = end;
	}
	return compare_hole(subject, done, size_bytes);
}

static errcode_t compare_file(const struct subject *subject, const struct image_inode *inode)
{
	const struct verify_worker *own = subject->own;
	uint32_t size_bytes = (uint32_t)node_of(subject)->size_bytes;
	errcode_t error = content_reader_open(own->source, subject->node, subject->problem);

	if (error)
		return error;
	progress_add(subject->verifying->build->options->progress, 0, 1);
	if (!(inode->flags & EXT4_INLINE_DATA_FL))
		return compare_mapped(subject);
	error = image_reader_small(own->image, ino_of(subject), own->from_image, size_bytes);
	if (error)
		return unreadable(subject, error);
	error = content_reader_read(own->source, own->from_source, size_bytes, 0, subject->problem);
	if (error)
		return error;
	return memcmp(own->from_image, own->from_source, size_bytes) ? differs(subject, "its content") : 0;
}

static errcode_t compare_node(struct subject *subject)
{
	struct image_inode inode;
	uint16_t mode = node_of(subject)->mode;
	errcode_t error = image_reader_inode(subject->own->image, ino_of(subject), &inode);

	if (error)
		return unreadable(subject, error);
	error = compare_inode(subject, &inode);
	if (!error)
		error = compare_xattrs(subject);
	if (error)
		return error;
	if (S_ISDIR(mode))
		return compare_directory(subject);
	if (S_ISLNK(mode))
		return compare_symlink(subject);
	return S_ISREG(mode) && node_of(subject)->size_bytes ? compare_file(subject, &inode) : 0;
}

static errcode_t open_worker(const struct verifying *verifying, struct verify_worker *own)
{
	own->from_image = malloc(BUFFER_BYTES);
	own->from_source = malloc(BUFFER_BYTES);
	if (!own->from_image || !own->from_source)
		return ENOMEM;
	errcode_t error = content_reader_create(verifying->build->tree, &own->source);

	return error ? error : image_reader_open(output_filesystem(verifying->output), &own->image);
}

static errcode_t verify_nodes(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct verifying *verifying = context;
	struct node_range nodes = build_task_nodes(verifying->build, task);
	struct subject subject = {
		.verifying = verifying,
		.own = &verifying->workers[worker],
		.problem = problem,
		.node = nodes.first,
	};
	errcode_t error = 0;

	if (!subject.own->image)
		error = open_worker(verifying, subject.own);
	if (error)
		return problem_set(problem, error, verifying->build->options->image, "cannot be read back");
	for (; !error && subject.node < nodes.end; subject.node++) {
		if (interrupt_pending())
			return EINTR;
		if (!tree_node_is_link(verifying->build->tree, subject.node))
			error = compare_node(&subject);
	}
	return error;
}

static errcode_t run_e2fsck(const struct build *build, const struct output *output)
{
	const char *arguments[] = { "e2fsck", "-fn", output_filesystem(output), NULL };
	const struct child child = {
		.arguments = arguments,
		.path = output->work_path,
		.image_path = build->options->image,
		.has_epoch = build->options->has_epoch,
		.epoch = populate_clock(build->options),
	};

	return child_run(&child, "e2fsck finds it damaged", build->problem);
}

errcode_t verify_image(struct build *build, const struct output *output)
{
	unsigned int count = pool_workers(build->pool);
	SCOPE_FREE struct verify_worker *workers = calloc(count, sizeof(*workers));
	struct verifying verifying = { build, output, workers };
	errcode_t error = workers ? run_e2fsck(build, output) : ENOMEM;

	if (!error)
		error = pool_run(build->pool, build_task_count(build), verify_nodes, &verifying, build->problem);
	for (unsigned int worker = 0; workers && worker < count; worker++) {
		image_reader_close(workers[worker].image);
		content_reader_destroy(workers[worker].source);
		free(workers[worker].from_image);
		free(workers[worker].from_source);
	}
	return build_result(build, error, "cannot be verified");
}
