/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/verify/verify.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "filesystem/fs_errors.h"
#include "populate/format/filesystem.h"
#include "populate/format/likeness.h"
#include "populate/metadata/inodes.h"
#include "populate/verify/verify_protection.h"
#include "populate/verify/verify_runs.h"
#include "tree/contents.h"
#include "tree/file_flags.h"
#include "support/run/interrupt.h"

#define BUFFER_BYTES (1u << 20)

/* The state of each worker. libext2fs reads the image independently of how it was made. */
struct verify_worker {
	ext2_filsys fs;
	struct verify_runs runs;
	struct content_reader *source;
	struct protect_worker protect;
	char *from_image, *from_source; /* BUFFER_BYTES each */
};

struct verifying {
	const struct plan *plan;
	const struct image_file *file;
	struct verify_worker *workers;
};

/* The node that is being compared. */
struct subject {
	const struct verifying *verifying;
	struct verify_worker *own;
	struct problem *problem;
	uint32_t node;
	uint32_t found;                   /* how many names or xattrs the image has */
	struct ext2_xattr_handle *xattrs; /* the image's xattrs, while they are compared */
	errcode_t error;                  /* of the functions that libext2fs's iterations call */
};

static const struct tree_node *node_of(const struct subject *subject)
{
	return plan_node(subject->verifying->plan, subject->node);
}

static uint32_t ino_of(const struct subject *subject)
{
	return subject->verifying->plan->placements[subject->node].ino;
}

__attribute__((format(printf, 2, 3))) static errcode_t differs(const struct subject *subject, const char *format, ...)
{
	SCOPE_FREE char *path = tree_path(subject->verifying->plan->source->tree, subject->node);
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
	return plan_node_problem(subject->verifying->plan, subject->problem, subject->node, error,
	                         "cannot be read back from the image");
}

static errcode_t compare_time(const struct subject *subject, const char *name, uint32_t low, uint32_t extra,
                              struct inode_time given)
{
	struct inode_time wanted = inode_stored_time(&subject->verifying->plan->format, given);
	/* The lower two bits of the extra field extend the seconds beyond 32 bits. */
	int64_t seconds = (int32_t)low + ((int64_t)(extra & 3) << 32);
	uint32_t nanoseconds = extra >> 2;

	if (seconds == wanted.seconds && nanoseconds == wanted.nanoseconds)
		return 0;
	return differs(subject, "its %s is %" PRId64 ".%09u, not %" PRId64 ".%09u", name, seconds, nanoseconds,
	               wanted.seconds, wanted.nanoseconds);
}

static errcode_t compare_times(const struct subject *subject, const struct ext2_inode_large *inode,
                               const struct inode_value *wanted)
{
	errcode_t error = compare_time(subject, "time", inode->i_mtime, inode->i_mtime_extra, wanted->mtime);

	if (!error)
		error = compare_time(subject, "atime", inode->i_atime, inode->i_atime_extra, wanted->atime);
	if (!error)
		error = compare_time(subject, "ctime", inode->i_ctime, inode->i_ctime_extra, wanted->ctime);
	if (!error && subject->verifying->plan->format.extra_isize)
		error = compare_time(subject, "crtime", inode->i_crtime, inode->i_crtime_extra, wanted->crtime);
	return error;
}

static errcode_t compare_device(const struct subject *subject, const struct ext2_inode_large *inode)
{
	const struct tree_node *node = node_of(subject);
	/* The device is in the old form, of 16 bits, or in the new one, of 32 bits, in the next word. */
	dev_t device = inode->i_block[0] ? inode->i_block[0] : inode->i_block[1];

	if (major(device) == node->device.major && minor(device) == node->device.minor)
		return 0;
	return differs(subject, "it is device %u:%u, not %u:%u", major(device), minor(device), node->device.major,
	               node->device.minor);
}

static errcode_t compare_inode(const struct subject *subject, const struct ext2_inode_large *inode)
{
	const struct tree_node *node = node_of(subject);
	uint32_t uid = inode_uid(*inode), gid = inode_gid(*inode);
	uint64_t size_bytes = EXT2_I_SIZE(inode);
	struct inode_value wanted;

	inodes_describe(subject->verifying->plan, subject->node, &wanted);
	if (inode->i_mode != wanted.mode)
		return differs(subject, "its mode is %o, not %o", inode->i_mode, wanted.mode);
	if (uid != wanted.uid || gid != wanted.gid)
		return differs(subject, "its owner is %u:%u, not %u:%u", uid, gid, wanted.uid, wanted.gid);
	if ((inode->i_flags ^ wanted.flags) & EXT4_ENCRYPT_FL)
		return differs(subject, "it is%s encrypted", inode->i_flags & EXT4_ENCRYPT_FL ? "" : " not");
	if (inode->i_projid != wanted.project)
		return differs(subject, "its project is %u, not %u", inode->i_projid, wanted.project);
	if ((inode->i_flags ^ wanted.flags) & EXT4_PROJINHERIT_FL)
		return differs(subject, "its project is%s inherited",
		               inode->i_flags & EXT4_PROJINHERIT_FL ? "" : " not");
	if ((inode->i_flags ^ wanted.flags) & FILE_FLAGS_KEPT)
		return differs(subject, "its file flags are 0x%x, not 0x%x", inode->i_flags & FILE_FLAGS_KEPT,
		               wanted.flags & FILE_FLAGS_KEPT);
	if ((inode->i_flags ^ wanted.flags) & EXT4_VERITY_FL)
		return differs(subject, "fs-verity %s it",
		               inode->i_flags & EXT4_VERITY_FL ? "protects" : "does not protect");
	/* A directory with more links than can be counted has the count 1. */
	if (inode->i_links_count != (wanted.links > EXT2_LINK_MAX ? 1 : wanted.links))
		return differs(subject, "it has %u links, not %u", inode->i_links_count, wanted.links);
	errcode_t error = compare_times(subject, inode, &wanted);

	if (error)
		return error;
	if ((S_ISREG(node->mode) || S_ISLNK(node->mode)) && size_bytes != node->size_bytes)
		return differs(subject, "its size is %" PRIu64 ", not %" PRIu64, size_bytes, node->size_bytes);
	return S_ISCHR(node->mode) || S_ISBLK(node->mode) ? compare_device(subject, inode) : 0;
}

#define NAME_OFFSET 8 /* within an entry */

/* Returns where an entry stores the hashes of its name, if its directory is encrypted and case-insensitive. */
static size_t hash_offset(int name_bytes)
{
	return ((size_t)name_bytes + NAME_OFFSET + 3) & ~(size_t)3;
}

static errcode_t compare_name(struct subject *subject, const char *name, int name_bytes, ext2_ino_t child)
{
	const struct plan *plan = subject->verifying->plan;
	const struct tree_node *directory = node_of(subject);

	if (name_bytes == 1 && name[0] == '.')
		return child == ino_of(subject) ? 0 : differs(subject, "its '.' entry has the wrong inode");
	if (name_bytes == 2 && name[0] == '.' && name[1] == '.')
		return child == plan->placements[directory->parent].ino ?
		               0 :
		               differs(subject, "its '..' entry has the wrong inode");
	if (subject->node == TREE_ROOT && plan->lost_found && child == plan->lost_found)
		return 0;
	uint32_t node = tree_find(plan->source->tree, subject->node, name, (size_t)name_bytes);
	const char *shown = directory->is_encrypted ? ENCRYPTED_NAME_TEXT : name;
	int shown_bytes = directory->is_encrypted ? (int)sizeof(ENCRYPTED_NAME_TEXT) - 1 : name_bytes;

	if (node == TREE_ROOT)
		return differs(subject, "it has an extra entry %.*s", shown_bytes, shown);
	subject->found++;
	if (child != plan->placements[node].ino)
		return differs(subject, "its entry %.*s has the wrong inode", shown_bytes, shown);
	return directory->is_encrypted && directory->is_casefolded &&
	                       memcmp(name - NAME_OFFSET + hash_offset(name_bytes),
	                              tree_stored_hashes(plan_node(plan, node)), TREE_STORED_HASH_BYTES) != 0 ?
	               differs(subject, "the hash of one of its names") :
	               0;
}

static int visit_name(struct ext2_dir_entry *entry, int offset, int block_bytes, char *block, void *context)
{
	struct subject *subject = context;

	(void)offset;
	(void)block_bytes;
	(void)block;
	subject->error = compare_name(subject, entry->name, ext2fs_dirent_name_len(entry), entry->inode);
	return subject->error ? DIRENT_ABORT : 0;
}

static errcode_t compare_directory(struct subject *subject)
{
	uint32_t wanted = node_of(subject)->child_count;

	subject->found = 0;
	errcode_t error =
		FS_ERROR_OF(ext2fs_dir_iterate(subject->own->fs, ino_of(subject), 0, NULL, visit_name, subject));

	if (subject->error || error)
		return unreadable(subject, subject->error ? subject->error : error);
	/* e2fsck has checked that no name is there twice. */
	return subject->found == wanted ? 0 : differs(subject, "it has %u entries, not %u", subject->found, wanted);
}

/* Entries that do not name a user or group have no id: the kernel stores -1 for it, libext2fs stores 0. */
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

/* libext2fs knows no prefix for the name index of encryption. */
static const char *name_in_libext2fs(const struct tree_xattr *xattr)
{
	return strcmp(xattr->name, XATTR_ENCRYPTION_CONTEXT) ? xattr->name : strrchr(xattr->name, '.') + 1;
}

static errcode_t compare_xattr(struct subject *subject, const char *name, const void *value, size_t value_bytes)
{
	const struct tree_xattr_set *set =
		&subject->verifying->plan->source->tree->xattr_sets[node_of(subject)->xattrs];

	for (uint32_t number = 0; number < set->count; number++) {
		const struct tree_xattr *wanted = &set->list[number];

		if (strcmp(name, name_in_libext2fs(wanted)) != 0)
			continue;
		subject->found++;
		return same_value(wanted, value, value_bytes) ?
		               0 :
		               differs(subject, "its attribute %s has another value", name);
	}
	return differs(subject, "it has an extra attribute %s", name);
}

/* An iteration shows the bytes on disk. For ACLs, only asking by name gives the form that users see. */
static int visit_xattr(char *name, char *stored, size_t stored_bytes, void *context)
{
	struct subject *subject = context;
	size_t value_bytes;
	void *value;

	(void)stored;
	(void)stored_bytes;
	/* Inline data. */
	if (strcmp(name, "system.data") == 0)
		return 0;
	subject->error = ext2fs_xattr_get(subject->xattrs, name, &value, &value_bytes);
	if (subject->error)
		return XATTR_ABORT;
	subject->error = compare_xattr(subject, name, value, value_bytes);
	ext2fs_free_mem(&value);
	return subject->error ? XATTR_ABORT : 0;
}

static errcode_t compare_xattrs(struct subject *subject)
{
	uint32_t wanted = subject->verifying->plan->source->tree->xattr_sets[node_of(subject)->xattrs].count;
	errcode_t error = ext2fs_xattrs_open(subject->own->fs, ino_of(subject), &subject->xattrs);

	/* Without the feature there are none. */
	if (error == EXT2_ET_MISSING_EA_FEATURE && !wanted)
		return 0;
	if (error)
		return unreadable(subject, error);
	subject->found = 0;
	error = FS_ERROR_OF(ext2fs_xattrs_read(subject->xattrs));
	if (!error)
		error = FS_ERROR_OF(ext2fs_xattrs_iterate(subject->xattrs, visit_xattr, subject));
	ext2fs_xattrs_close(&subject->xattrs);
	if (subject->error || error)
		return unreadable(subject, subject->error ? subject->error : error);
	return subject->found == wanted ? 0 : differs(subject, "it has %u attributes, not %u", subject->found, wanted);
}

/* Reads the first `count` bytes of a small file or of a symlink's target. EIO if there are fewer. */
static errcode_t read_small(const struct subject *subject, uint32_t count)
{
	const struct verify_worker *own = subject->own;
	struct ext2_inode inode;
	ext2_file_t file;
	unsigned int got = 0;
	errcode_t error = ext2fs_read_inode(own->fs, ino_of(subject), &inode);

	if (error)
		return error;
	if (ext2fs_is_fast_symlink(&inode)) {
		if (count > sizeof(inode.i_block))
			return EIO;
		memcpy(own->from_image, inode.i_block, count);
		return 0;
	}
	error = ext2fs_file_open(own->fs, ino_of(subject), 0, &file);
	if (error)
		return error;
	error = FS_ERROR_OF(ext2fs_file_read(file, own->from_image, count, &got));
	ext2fs_file_close(file);
	return !error && got != count ? EIO : error;
}

static errcode_t compare_symlink(const struct subject *subject)
{
	const struct tree_node *node = node_of(subject);
	const char *target = subject->own->from_image;
	/* A target fits in a block. */
	errcode_t error = read_small(subject, (uint32_t)node->size_bytes);

	if (error)
		return unreadable(subject, error);
	if (memcmp(target, node->target, node->size_bytes) == 0)
		return 0;
	return node->is_encrypted ? differs(subject, "its encrypted target") :
	                            differs(subject, "it points to %.*s", (int)node->size_bytes, target);
}

/* Compares count bytes from offset. In the image they are at byte `physical`; if that is 0, they are zeros. */
static errcode_t compare_bytes(const struct subject *subject, uint64_t offset, uint64_t count, uint64_t physical)
{
	const struct verify_worker *own = subject->own;
	const struct plan *plan = subject->verifying->plan;

	while (count) {
		size_t piece = count < BUFFER_BYTES ? (size_t)count : BUFFER_BYTES;
		errcode_t error = content_reader_read(own->source, own->from_source, piece, offset, subject->problem);

		if (error)
			return error;
		if (physical)
			error = image_read(&subject->verifying->file->image, own->from_image, piece, physical);
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
		progress_add(plan->options->progress, piece, 0);
		offset += piece;
		physical += physical ? piece : 0;
		count -= piece;
	}
	return 0;
}

/* Checks that the source has only zeros where the image has a hole; holes of both are not read. */
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

static bool is_protected(const struct subject *subject)
{
	return subject->verifying->plan->placements[subject->node].is_protected;
}

static errcode_t compare_protection(const struct subject *subject)
{
	const struct verifying *verifying = subject->verifying;
	struct verify_worker *own = subject->own;
	const char *what;
	errcode_t error = verify_protection(verifying->plan, &verifying->file->image, &own->protect, own->source,
	                                    subject->node, &own->runs.written, &what, subject->problem);

	if (error)
		return unreadable(subject, error);
	return what ? differs(subject, "%s", what) : 0;
}

static errcode_t compare_mapped(struct subject *subject)
{
	const unsigned int block_bits = subject->verifying->plan->format.block_bits;
	uint64_t size_bytes = tree_stored_bytes(subject->verifying->plan->source->tree, node_of(subject)), done = 0;
	const struct plan *plan = subject->verifying->plan;
	struct extent_list *runs = &subject->own->runs.written;
	bool equal;
	errcode_t error = verify_runs_read(plan, subject->own->fs, subject->node, &subject->own->runs);

	if (!error)
		error = verify_runs_compare(plan, subject->node, &subject->own->runs, &equal);
	if (error)
		return unreadable(subject, error);
	if (!equal)
		return differs(subject, "other blocks of it are preallocated");
	for (size_t number = 0; number < runs->count; number++) {
		const struct file_extent *run = &runs->extents[number];
		uint64_t start = (uint64_t)run->logical << block_bits;
		uint64_t end = start + ((uint64_t)run->count << block_bits);

		if (start >= size_bytes && is_protected(subject))
			break;
		if (start >= size_bytes)
			return differs(subject, "it has blocks after its end");
		end = end < size_bytes ? end : size_bytes;
		error = compare_hole(subject, done, start);
		if (!error)
			error = compare_bytes(subject, start, end - start, run->physical << block_bits);
		if (error)
			return error;
		done = end;
	}
	error = compare_hole(subject, done, size_bytes);
	return error || !is_protected(subject) ? error : compare_protection(subject);
}

static errcode_t compare_file(struct subject *subject, const struct ext2_inode_large *inode)
{
	const struct verify_worker *own = subject->own;
	uint32_t size_bytes = (uint32_t)node_of(subject)->size_bytes;
	errcode_t error = content_reader_open(own->source, subject->node, subject->problem);

	if (error)
		return error;
	progress_add(subject->verifying->plan->options->progress, 0, 1);
	if (!(inode->i_flags & EXT4_INLINE_DATA_FL))
		return compare_mapped(subject);
	error = read_small(subject, size_bytes);
	if (error)
		return unreadable(subject, error);
	error = content_reader_read(own->source, own->from_source, size_bytes, 0, subject->problem);
	if (error)
		return error;
	return memcmp(own->from_image, own->from_source, size_bytes) ? differs(subject, "its content") : 0;
}

static errcode_t compare_node(struct subject *subject)
{
	struct ext2_inode_large inode = { 0 };
	uint16_t mode = node_of(subject)->mode;
	errcode_t error =
		ext2fs_read_inode_full(subject->own->fs, ino_of(subject), (struct ext2_inode *)&inode, sizeof(inode));

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
	if (!S_ISREG(mode) || (!node_of(subject)->size_bytes && !is_protected(subject) &&
	                       !plan_unwritten(subject->verifying->plan, subject->node)))
		return 0;
	return compare_file(subject, &inode);
}

static errcode_t open_worker(const struct plan *plan, const struct image_file *file, struct verify_worker *own)
{
	own->from_image = malloc(BUFFER_BYTES);
	own->from_source = malloc(BUFFER_BYTES);
	if (!own->from_image || !own->from_source)
		return ENOMEM;
	errcode_t error = content_reader_create(plan->source->tree, &own->source);

	return error ? error : filesystem_open_at(file->path, file->image.offset_bytes, 0, &own->fs);
}

static errcode_t verify_nodes(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct verifying *verifying = context;
	struct node_range nodes = node_task(verifying->plan->source->tree, task);
	struct subject subject = {
		.verifying = verifying,
		.own = &verifying->workers[worker],
		.problem = problem,
		.node = nodes.first,
	};
	errcode_t error = 0;

	if (!subject.own->fs)
		error = open_worker(verifying->plan, verifying->file, subject.own);
	if (error)
		return problem_set(problem, error, verifying->plan->options->image, "cannot be read back");
	for (; !error && subject.node < nodes.end; subject.node++) {
		if (interrupt_pending())
			return EINTR;
		if (!tree_node_is_link(verifying->plan->source->tree, subject.node))
			error = compare_node(&subject);
	}
	return error;
}

/* Is the superblock as in the source? libext2fs reads it. */
static errcode_t compare_superblock(const struct plan *plan, const struct image_file *file, struct problem *problem)
{
	const struct populate_options *options = plan->options;
	ext2_filsys fs;

	if (!plan->source->like.is_wanted)
		return 0;
	errcode_t error = filesystem_open_at(file->path, file->image.offset_bytes, 0, &fs);

	if (error)
		return problem_set(problem, error, options->image, "cannot be read back");
	const char *difference = likeness_difference(&plan->source->like, options, fs->super);

	ext2fs_free(fs);
	return difference ? problem_set_reason(problem, EUCLEAN, options->image, "differs from the source", "its %s",
	                                       difference) :
	                    0;
}

errcode_t verify_image(const struct plan *plan, const struct image_file *file, const struct workplace *work)
{
	const char *e2fsck[] = { "e2fsck", "-fn", file->filesystem_path, NULL };
	unsigned int count = pool_workers(work->pool);
	SCOPE_FREE struct verify_worker *workers =
		aligned_alloc(alignof(struct verify_worker), count * sizeof(*workers));
	struct verifying verifying = { plan, file, workers };
	errcode_t error = ENOMEM;

	if (workers) {
		memset(workers, 0, count * sizeof(*workers));
		error = filesystem_run(file, work, e2fsck, "e2fsck finds it damaged");
	}
	if (!error)
		error = compare_superblock(plan, file, work->problem);
	if (!error)
		error = pool_run(work->pool, node_task_count(plan->source->tree), verify_nodes, &verifying,
		                 work->problem);
	for (unsigned int worker = 0; workers && worker < count; worker++) {
		if (workers[worker].fs)
			ext2fs_free(workers[worker].fs);
		verify_runs_free(&workers[worker].runs);
		protect_worker_free(&workers[worker].protect);
		content_reader_destroy(workers[worker].source);
		free(workers[worker].from_image);
		free(workers[worker].from_source);
	}
	return workplace_result(work, error, "cannot be verified");
}
