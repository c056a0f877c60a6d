/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "ext2fs/ext2mb.h"
#include "image/replayed.h"
#include "support/io/file_locks.h"
#include "disk/place.h"

#define ACTION "cannot update"

/* Features that change neither what is read nor what has to be written. */
#define KNOWN_INCOMPAT                                                                                                 \
	(EXT2_FEATURE_INCOMPAT_FILETYPE | EXT3_FEATURE_INCOMPAT_RECOVER | EXT2_FEATURE_INCOMPAT_META_BG |              \
	 EXT3_FEATURE_INCOMPAT_EXTENTS | EXT4_FEATURE_INCOMPAT_64BIT | EXT4_FEATURE_INCOMPAT_MMP |                     \
	 EXT4_FEATURE_INCOMPAT_FLEX_BG | EXT4_FEATURE_INCOMPAT_EA_INODE | EXT4_FEATURE_INCOMPAT_CSUM_SEED |            \
	 EXT4_FEATURE_INCOMPAT_LARGEDIR | EXT4_FEATURE_INCOMPAT_INLINE_DATA | EXT4_FEATURE_INCOMPAT_ENCRYPT |          \
	 EXT4_FEATURE_INCOMPAT_CASEFOLD)
#define KNOWN_RO_COMPAT                                                                                                \
	(EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER | EXT2_FEATURE_RO_COMPAT_LARGE_FILE | EXT4_FEATURE_RO_COMPAT_HUGE_FILE |  \
	 EXT4_FEATURE_RO_COMPAT_GDT_CSUM | EXT4_FEATURE_RO_COMPAT_DIR_NLINK | EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE |     \
	 EXT4_FEATURE_RO_COMPAT_QUOTA | EXT4_FEATURE_RO_COMPAT_BIGALLOC | EXT4_FEATURE_RO_COMPAT_METADATA_CSUM |       \
	 EXT4_FEATURE_RO_COMPAT_PROJECT | EXT4_FEATURE_RO_COMPAT_VERITY | EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT)

static errcode_t refuse(const struct update_options *options, errcode_t error, const char *reason,
                        struct problem *problem)
{
	return problem_set_reason(problem, error, options->image, ACTION, "%s", reason);
}

static errcode_t check_features(const struct update_options *options, const struct ext2_super_block *super,
                                struct problem *problem)
{
	if (super->s_feature_incompat & ~(uint32_t)KNOWN_INCOMPAT)
		return problem_set_reason(problem, EXT2_ET_UNSUPP_FEATURE, options->image, ACTION,
		                          "it has features that this program does not know (incompatible: 0x%x)",
		                          super->s_feature_incompat & ~(uint32_t)KNOWN_INCOMPAT);
	if (super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_SHARED_BLOCKS)
		return refuse(options, EXT2_ET_RO_UNSUPP_FEATURE,
		              "its files share blocks (feature shared_blocks), so it can only be read", problem);
	if (super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_READONLY)
		return refuse(options, EXT2_ET_RO_UNSUPP_FEATURE,
		              "it is marked as read-only (tune2fs -O ^read-only takes the mark away)", problem);
	if (super->s_feature_ro_compat & ~(uint32_t)KNOWN_RO_COMPAT)
		return problem_set_reason(
			problem, EXT2_ET_RO_UNSUPP_FEATURE, options->image, ACTION,
			"it has features that this program does not know (read-only compatible: 0x%x)",
			super->s_feature_ro_compat & ~(uint32_t)KNOWN_RO_COMPAT);
	if (super->s_journal_dev && !super->s_journal_inum)
		return refuse(options, EXT2_ET_UNSUPP_FEATURE, "its journal is on another device", problem);
	return 0;
}

static errcode_t check_state(const struct update_options *options, const struct update_target *target,
                             struct problem *problem)
{
	const struct ext2_super_block *super = &target->volume.superblock;
	bool is_clean = super->s_state & EXT2_VALID_FS || (target->has_journal && target->volume.needs_recovery);

	if (target->volume.was_aborted)
		return 0;
	if (super->s_state & EXT2_ERROR_FS || !is_clean)
		return refuse(options, EUCLEAN, "it is marked as damaged, or was not unmounted: run e2fsck first",
		              problem);
	return 0;
}

static void note_damage(void *context, const struct image_damage *damage)
{
	*(const char **)context = damage->what;
}

/* Only what is told of all groups costs nothing; the rest is looked at where the update goes. */
static errcode_t check_damage(const struct update_options *options, const struct volume *volume,
                              struct problem *problem)
{
	const char *what = NULL;
	const struct damage_listener listener = { note_damage, &what };

	volume_check_descriptors(volume, &listener);
	if (what)
		return refuse(options, EUCLEAN, "its group descriptors are damaged: run e2fsck first", problem);
	for (uint32_t group = 0; group < volume->geometry.groups; group++)
		if (!volume->group[group].block_bitmap || !volume->group[group].inode_table)
			return refuse(options, EUCLEAN, "a group descriptor is damaged: run e2fsck first", problem);
	return 0;
}

static errcode_t check_tree(const struct update_options *options, struct update_target *target, struct problem *problem)
{
	errcode_t error = appended_tree_find(&target->volume, &target->tree);

	if (!target->tree.is_there)
		return options->renews_tree ?
		               refuse(options, EINVAL, "no hash tree of dm-verity follows the filesystem", problem) :
		               0;
	if (!options->renews_tree)
		return refuse(options, EPERM,
		              "a hash tree of dm-verity follows the filesystem, which an update would make stale: "
		              "--dm-verity=append makes it anew",
		              problem);
	return error ? refuse(options, error, "its hash tree of dm-verity has a form that cannot be made anew",
	                      problem) :
	               0;
}

/* False, with lock_error: a mount or another program has the device. */
static bool close_to_others(const struct update_options *options, struct update_target *target)
{
	target->exclusive_descriptor = open(options->image, O_RDONLY | O_CLOEXEC | O_EXCL);
	target->lock_error = target->exclusive_descriptor < 0 ? errno : 0;
	return !target->lock_error;
}

/*
 * Before anything is read, so that all of it is of one moment. Another process may have a file open; a mount that is
 * not ours to see has a device exclusively.
 */
static void lock(const struct update_options *options, struct update_target *target)
{
	struct stat status;

	/* The opening of the volume says why this fails. */
	if (stat(options->image, &status))
		return;
	target->is_device = S_ISBLK(status.st_mode);
	if (!target->is_device && !S_ISREG(status.st_mode))
		return;
	if (target->is_device && !close_to_others(options, target))
		return;
	target->lock_descriptor = open(options->image, O_RDONLY | O_CLOEXEC);
	if (target->lock_descriptor < 0 || fstat(target->lock_descriptor, &status))
		target->lock_error = errno;
	else if (flock(target->lock_descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		target->lock_error = EWOULDBLOCK;
	else if (file_locks_are_held(target->lock_descriptor))
		target->lock_error = EBUSY;
	if (target->lock_error)
		return;
	file_locks_keep_qemu_out(target->lock_descriptor);
	/* Its state may have been older than the lock. */
	if (!target->is_device && !fstat(target->lock_descriptor, &status))
		target->changed = status.st_ctim;
}

static errcode_t check_use(const struct update_options *options, const struct update_target *target,
                           struct problem *problem)
{
	int is_read_only = 0;

	if (target->volume.is_mounted)
		return refuse(options, EBUSY, "it is mounted", problem);
	if (target->lock_error == EBUSY)
		return refuse(options, EBUSY, "it is in use", problem);
	if (target->lock_error == EWOULDBLOCK)
		return refuse(options, EBUSY, "another program is changing it", problem);
	if (target->lock_error)
		return problem_set(problem, target->lock_error, options->image, ACTION);
	if (options->is_dry_run)
		return 0;
	if (access(options->image, W_OK))
		return problem_set(problem, errno, options->image, ACTION);
	if (target->is_device && !ioctl(target->lock_descriptor, BLKROGET, &is_read_only) && is_read_only)
		return refuse(options, EROFS, "the device is read-only (blockdev --setrw makes it writable)", problem);
	return 0;
}

errcode_t target_check(const struct update_options *options, const struct update_target *target,
                       struct problem *problem)
{
	struct stat status, named;

	if (target->is_device || target->lock_descriptor < 0)
		return 0;
	if (fstat(target->lock_descriptor, &status) || stat(options->image, &named))
		return problem_set(problem, errno, options->image, ACTION);
	if (status.st_ctim.tv_sec == target->changed.tv_sec && status.st_ctim.tv_nsec == target->changed.tv_nsec &&
	    status.st_dev == named.st_dev && status.st_ino == named.st_ino)
		return 0;
	return refuse(options, EBUSY, "another program has changed it meanwhile", problem);
}

typedef errcode_t (*journal_writer)(const char *name, const char *io_options, io_manager manager, io_channel channel);

static errcode_t write_journal(const struct update_options *options, journal_writer writer)
{
	char offset[32] = "";
	io_manager manager = options->disk ? options->disk : unix_io_manager;
	io_channel channel;
	errcode_t error = manager->open(options->image, IO_FLAG_RW, &channel);

	if (error)
		return error;
	if (options->offset_bytes)
		snprintf(offset, sizeof(offset), "offset=%" PRIu64, options->offset_bytes);
	error = *offset ? io_channel_set_options(channel, offset) : 0;
	if (!error)
		error = writer(options->image, *offset ? offset : NULL, manager, channel);
	errcode_t close_error = io_channel_close(channel);

	return error ? error : close_error;
}

errcode_t target_note_change(struct update_target *target)
{
	struct stat status;

	if (target->is_device || target->lock_descriptor < 0)
		return 0;
	if (fstat(target->lock_descriptor, &status))
		return errno;
	target->changed = status.st_ctim;
	return 0;
}

errcode_t target_replay(const struct update_options *options, struct update_target *target, struct problem *problem)
{
	errcode_t error = write_journal(options, ext2mb_journal_replay);

	if (!error)
		error = target_note_change(target);
	return error ? problem_set(problem, error, options->image, ACTION) : 0;
}

/*
 * As a mount does: the log comes into its place, and the mark to where e2fsck looks for it. An image that would not be
 * written to stays as it is.
 */
static errcode_t check_abort(const struct update_options *options, struct update_target *target,
                             struct problem *problem)
{
	const bool has_log = target->volume.needs_recovery;
	int32_t reason = target->volume.was_aborted;
	errcode_t error = target->has_journal && !has_log ? volume_journal_error(&target->volume, &reason, problem) : 0;

	if (error || !reason)
		return error;
	if (options->is_dry_run || options->makes_new_file || target->tree.is_there)
		return refuse(options, EUCLEAN, "the kernel has aborted its journal: run e2fsck first", problem);
	error = write_journal(options, has_log ? ext2mb_journal_replay : ext2mb_journal_mark_aborted);
	if (error)
		return problem_set(problem, error, options->image, ACTION);
	return refuse(options, EUCLEAN,
	              has_log ? "the kernel has aborted its journal, which has been replayed; the filesystem is marked "
	                        "as damaged now: run e2fsck first" :
	                        "the kernel has aborted its journal; the filesystem is marked as damaged now: run "
	                        "e2fsck first",
	              problem);
}

errcode_t target_check_mounts(const struct update_options *options, const struct update_target *target,
                              const struct ext2_super_block *super, struct problem *problem)
{
	const struct ext2_super_block *before = &target->volume.superblock;

	if (before->s_mtime == super->s_mtime && before->s_mnt_count == super->s_mnt_count)
		return 0;
	return refuse(options, EBUSY, "it has been mounted meanwhile", problem);
}

void target_unlock(const struct update_target *target)
{
	if (target->lock_descriptor >= 0)
		flock(target->lock_descriptor, LOCK_UN);
}

errcode_t target_examine(const struct update_options *options, struct update_target *target, struct problem *problem)
{
	*target = (struct update_target){ .lock_descriptor = -1, .exclusive_descriptor = -1 };
	char form[RAW_IMAGE_FORM_BYTES];

	if (raw_image_form(options->image, form))
		return place_refuse_writing(options->image, ACTION, problem);
	lock(options, target);
	errcode_t error = volume_open_as_replayed(options->image, options->offset_bytes, &target->volume, problem);

	const struct target name = { .path = (char *)(uintptr_t)options->image, .offset_bytes = options->offset_bytes };

	if (error == EXT2_ET_BAD_MAGIC || error == EXT2_ET_SHORT_READ)
		error = target_explain(&name, error, problem);
	if (error) {
		target_close(target);
		return problem_set(problem, error, options->image, ACTION);
	}
	const struct ext2_super_block *super = &target->volume.superblock;

	target->is_open = true;
	target->has_journal = super->s_feature_compat & EXT3_FEATURE_COMPAT_HAS_JOURNAL && super->s_journal_inum;
	error = volume_check_end(&target->volume, options->image, ACTION, problem);
	if (!error)
		error = check_use(options, target, problem);
	if (!error)
		error = check_features(options, super, problem);
	if (!error)
		error = check_state(options, target, problem);
	if (!error)
		error = check_damage(options, &target->volume, problem);
	if (!error)
		error = check_tree(options, target, problem);
	if (!error)
		error = check_abort(options, target, problem);
	if (error)
		target_close(target);
	return error;
}

void target_close(struct update_target *target)
{
	if (target->is_open)
		volume_close(&target->volume);
	target->is_open = false;
	if (target->lock_descriptor >= 0)
		close(target->lock_descriptor);
	if (target->exclusive_descriptor >= 0)
		close(target->exclusive_descriptor);
	target->lock_descriptor = target->exclusive_descriptor = -1;
}
