/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions by which the program opens and closes filesystems. libext2fs calls them through the PLT itself, so
 * every open and close comes through here.
 */
#include <errno.h>
#include <inttypes.h>

#include "ext2fs/ext2mb_err.h"
#include "transaction/channel.h"
#include "preload/handles.h"
#include "preload/program.h"
#include "preload/steps.h"

/* fs is open for writing. */
static errcode_t adopt(ext2_filsys fs, bool is_journalled)
{
	struct handle *handle = handle_add(fs);

	if (!handle)
		return ENOMEM;
	handle->is_journalled = is_journalled;
	if (is_journalled && step_is_inside())
		handle_begin(handle);
	return 0;
}

/* libext2mb's own reasons not to open the filesystem. The program knows how to handle all other errors. */
static bool is_refusal(errcode_t error)
{
	return error == EBUSY || (error >= ERROR_TABLE_BASE_e2mb && error < ERROR_TABLE_BASE_e2mb + 256);
}

/* Commits the release, or leaves a handle that can only be freed. */
static errcode_t release_orphans(ext2_filsys fs, char *why, size_t why_bytes)
{
	struct ext2mb_orphans *orphans = NULL;
	errcode_t error = ext2mb_transaction_begin(fs);

	if (!error)
		error = ext2mb_orphan_open(fs, NULL, why, why_bytes, &orphans);
	if (!error)
		error = ext2mb_orphan_release(orphans, NULL, why, why_bytes);
	if (!error)
		error = ext2mb_orphan_sync(orphans);
	if (!error)
		error = ext2mb_transaction_end(fs);
	if (!error)
		error = ext2mb_transaction_commit(fs);
	ext2mb_orphan_close(orphans);
	return error ? error : ext2fs_flush_icache(fs);
}

/*
 * As a mount does, files that were deleted while they were open are released. Where they cannot be, as with damage,
 * they stay, and the program finds them as without --journal.
 */
static errcode_t open_released(const char *name, const char *io_options, int flags, int superblock,
                               unsigned int block_size, ext2_filsys *fs)
{
	io_manager manager = ext2mb_transaction_io_manager(0);
	char why[256] = "";
	errcode_t error = NEXT(ext2fs_open2)(name, io_options, flags, superblock, block_size, manager, fs);

	if (error || (!(*fs)->super->s_last_orphan && !ext2fs_has_feature_orphan_present((*fs)->super)))
		return error;
	error = release_orphans(*fs, why, sizeof(why));
	if (!error)
		return 0;
	say("%s: files that were deleted stay orphans: %s", name, *why ? why : error_message(error));
	(void)!ext2mb_transaction_abort(*fs);
	(void)!ext2fs_mmp_stop(*fs);
	NEXT(ext2fs_free)(*fs);
	return NEXT(ext2fs_open2)(name, io_options, flags, superblock, block_size, manager, fs);
}

/*
 * Only if no other io_manager stands between libext2fs and the file: undo files need the order in which blocks are
 * written. (The manager may be ours, since libext2fs reopens a filesystem after replaying its journal.)
 */
static errcode_t open_journalled(const char *name, const char *io_options, int flags, int superblock,
                                 unsigned int block_size, io_manager manager, ext2_filsys *fs)
{
	if ((manager != unix_io_manager && manager != ext2mb_transaction_io_manager(0)) ||
	    flags & EXT2_FLAG_IMAGE_FILE) {
		program_must_fail();
		say("%s: --journal cannot write undo files or files of e2image", name);
		return EXT2_ET_OP_NOT_SUPPORTED;
	}
	errcode_t error = open_released(name, io_options, flags, superblock, block_size, fs);

	if (error) {
		if (is_refusal(error))
			program_must_fail();
		say("%s: cannot be opened with --journal: %s", name, error_message(error));
		return error;
	}
	error = adopt(*fs, true);
	if (error) {
		say("%s: %s", name, error_message(error));
		NEXT(ext2fs_free)(*fs);
		*fs = NULL;
		return error;
	}
	say_more("%s: the changes that %s makes go through the journal", name, program.name);
	return 0;
}

errcode_t ext2fs_open2(const char *name, const char *io_options, int flags, int superblock, unsigned int block_size,
                       io_manager manager, ext2_filsys *fs)
{
	/* libext2mb does not write to the filesystems that it opens for itself. */
	if (!(flags & EXT2_FLAG_RW) || program.kind == PROGRAM_ASIDE)
		return NEXT(ext2fs_open2)(name, io_options, flags, superblock, block_size, manager, fs);
	if (program.journal)
		return open_journalled(name, io_options, flags, superblock, block_size, manager, fs);
	errcode_t error = NEXT(ext2fs_open2)(name, io_options, flags, superblock, block_size, manager, fs);

	if (!error && adopt(*fs, false))
		say("%s: libext2fs allocates by itself: %s", name, error_message(ENOMEM));
	return error;
}

errcode_t ext2fs_initialize(const char *name, int flags, struct ext2_super_block *parameters, io_manager manager,
                            ext2_filsys *fs)
{
	if (program.journal) {
		program_must_fail();
		say("%s: --journal cannot make filesystems", name);
		return EXT2_ET_OP_NOT_SUPPORTED;
	}
	errcode_t error = NEXT(ext2fs_initialize)(name, flags, parameters, manager, fs);
	struct handle *handle = error || program.kind == PROGRAM_ASIDE ? NULL : handle_add(*fs);

	if (handle)
		handle->is_new = true;
	return error;
}

/* Since 1.47.2 mke2fs(8) calls this after it has made lost+found. The result is the same as without the preloaded
 * library. */
errcode_t ext2fs_create_orphan_file(ext2_filsys fs, blk_t blocks)
{
	struct handle *handle = handle_of(fs);
	bool waits = handle && handle->is_new && !handle->mb;

	if (waits)
		handle->was_refused = true;
	errcode_t error = NEXT(ext2fs_create_orphan_file)(fs, blocks);

	if (waits)
		handle->was_refused = false;
	return error;
}

/* In a filesystem that is being made, bitmaps are read before the journal is made; the allocator attaches at the
 * first file. */
static void attach_opened(ext2_filsys fs)
{
	struct handle *handle = handle_of(fs);

	if (handle && !handle->is_new)
		handle_attach(handle);
}

errcode_t ext2fs_read_bitmaps(ext2_filsys fs)
{
	errcode_t error = NEXT(ext2fs_read_bitmaps)(fs);

	attach_opened(fs);
	return error;
}

errcode_t ext2fs_read_block_bitmap(ext2_filsys fs)
{
	errcode_t error = NEXT(ext2fs_read_block_bitmap)(fs);

	attach_opened(fs);
	return error;
}

errcode_t ext2fs_read_inode_bitmap(ext2_filsys fs)
{
	errcode_t error = NEXT(ext2fs_read_inode_bitmap)(fs);

	attach_opened(fs);
	return error;
}

/* Returns 0 if the transaction goes on. */
static errcode_t why_over(const struct handle *handle)
{
	struct ext2mb_transaction_info info = { .struct_bytes = sizeof(info) };

	return ext2mb_transaction_read_info(handle->fs, &info) ? 0 : info.why_over;
}

static void say_how_much(const struct handle *handle)
{
	struct ext2mb_transaction_info info = { .struct_bytes = sizeof(info) };

	if (!ext2mb_transaction_read_info(handle->fs, &info))
		say_more("%s: commits: %" PRIu64 "; blocks written in place: %" PRIu64
		         ", through the journal: %" PRIu64,
		         handle->fs->device_name, info.commits, info.direct_blocks, info.logged_blocks);
}

/*
 * Closing the channel writes what close changes in the superblock after this, and the empty journal. libext2fs
 * ignores that result; ext2fs_free() checks it.
 */
errcode_t ext2fs_close2(ext2_filsys fs, int flags)
{
	struct handle *handle = handle_of(fs);

	/* debugfs and fuse2fs end with this close; debugfs closes earlier ones within a command. */
	if (handle && handle->is_journalled && !step_is_inside())
		steps_stop_clock();
	errcode_t error = handle && handle->is_journalled ? handle_commit(handle) : 0;

	/* The refused changes are undone, and the rest can be closed. */
	if (error && why_over(handle))
		return error;
	if (handle && handle->is_journalled)
		say_how_much(handle);
	return NEXT(ext2fs_close2)(fs, flags);
}

/* Parts of libext2fs free a filesystem without closing it, for instance the commands that replay a journal. */
static void finish(const struct handle *handle)
{
	errcode_t reason = why_over(handle);
	errcode_t error = channel_finish(handle->fs->io);

	reason = reason ? reason : error;
	if (!reason)
		return;
	program_must_fail();
	/* A journal replay has taken device_name away. */
	if (!handle->was_told)
		say("%s: closing failed: %s", handle->fs->io->name, error_message(reason));
}

void ext2fs_free(ext2_filsys fs)
{
	struct handle *handle = handle_of(fs);

	if (handle && handle->is_journalled)
		finish(handle);
	handle_detach(handle);
	handle_remove(handle);
	NEXT(ext2fs_free)(fs);
}
