/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/start.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ext2fs/ext2mb.h"
#include "filesystem/fs_errors.h"

errcode_t start_backing(struct channel_state *state)
{
	io_manager manager = *state->manager->backing;
	errcode_t error = manager->open(state->name, state->open_flags, &state->backing);

	if (error)
		return error;
	/* With a cache, a flush of ours would miss what the backing channel has not written, and blocks would be
	 * cached twice. Some channels have no cache, and no such option. */
	if (manager->set_option) {
		error = manager->set_option(state->backing, "cache", "off");
		if (error == EXT2_ET_INVALID_ARGUMENT)
			error = 0;
	}
	if (error)
		io_channel_close(state->backing);
	return error;
}

static errcode_t read_superblock(struct channel_state *state)
{
	errcode_t error = io_channel_set_blksize(state->backing, SUPERBLOCK_BYTES);

	return error ? error : io_channel_read_blk64(state->backing, 1, -SUPERBLOCK_BYTES, state->super);
}

/*
 * A mounted filesystem needs recovery as well, and its journal is the kernel's. If the channel has a device
 * exclusively, libext2fs finds it busy, and nothing mounts it.
 */
static errcode_t replay(struct channel_state *state)
{
	const char *io_options = *state->io_options ? state->io_options : NULL;
	int use = 0;

	/* Without /proc/mounts, as in a bare root, nothing counts as mounted. */
	ext2fs_check_if_mounted(state->name, &use);
	if (use & EXT2_MF_MOUNTED || (use & EXT2_MF_BUSY && !(state->open_flags & IO_FLAG_EXCLUSIVE)))
		return EBUSY;
	errcode_t error = ext2mb_journal_replay(state->name, io_options, *state->manager->backing, state->backing);
	return error ? error : read_superblock(state);
}

static errcode_t read_layout(struct channel_state *state, bool *has_64bit, bool *has_checksums)
{
	const char *io_options = *state->io_options ? state->io_options : NULL;
	ext2_filsys fs = NULL;
	errcode_t error = FS_ERROR_OF(
		ext2fs_open2(state->name, io_options, EXT2_FLAG_64BITS, 0, 0, *state->manager->backing, &fs));

	if (error)
		return error;
	*has_64bit = ext2fs_has_feature_64bit(fs->super);
	*has_checksums = ext2fs_has_feature_metadata_csum(fs->super);
	error = layout_read(fs, &state->layout);
	ext2fs_free(fs);
	return error;
}

static errcode_t read_all(struct channel_state *state)
{
	bool has_64bit, has_checksums;
	errcode_t error = read_layout(state, &has_64bit, &has_checksums);

	if (error)
		return error;
	state->held.block_bytes = state->layout.block_bytes;
	if (!state->layout.has_journal && !(state->manager->flags & EXT2MB_NO_JOURNAL))
		return EXT2MB_ET_NO_JOURNAL;
	error = io_channel_set_blksize(state->backing, (int)state->layout.block_bytes);
	if (!error && state->layout.has_journal)
		error = journal_open(&state->journal, &state->layout, state->backing, has_64bit, has_checksums);
	if (!error)
		error = committed_bitmap_init(&state->committed, &state->layout);
	if (!error && posix_memalign((void **)&state->bounce, 4096, state->layout.block_bytes))
		error = ENOMEM;
	return error;
}

/*
 * Two processes that write one journal would undo each other's commits: the second would even find needs_recovery,
 * and empty the journal that the first one uses. udev holds a device's lock only for moments.
 */
static errcode_t lock_alone(struct channel_state *state)
{
	const struct timespec moment = { .tv_nsec = 100 * 1000 * 1000 };
	int descriptor = open(state->name, O_RDONLY | O_CLOEXEC);
	struct stat status;

	/* A file that cannot be locked, as on some network filesystems, is used without a lock. */
	if (descriptor < 0 || fstat(descriptor, &status) != 0) {
		if (descriptor >= 0)
			close(descriptor);
		return 0;
	}
	int tries = S_ISBLK(status.st_mode) ? 20 : 1;

	while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EWOULDBLOCK && --tries) {
			nanosleep(&moment, NULL);
			continue;
		}
		bool is_taken = errno == EWOULDBLOCK;

		close(descriptor);
		return is_taken ? EBUSY : 0;
	}
	state->lock_descriptor = descriptor;
	return 0;
}

errcode_t start_transaction(struct channel_state *state)
{
	errcode_t error = read_superblock(state);

	/* A file that is not a filesystem, or is opened for reading, works as without a transaction. */
	if (error)
		return error;
	if (!superblock_has_magic(state->super) || !superblock_block_bytes(state->super) ||
	    !(state->open_flags & IO_FLAG_RW)) {
		state->phase = TRANSACTION_PASSED;
		return 0;
	}
	if (state->lock_descriptor < 0)
		error = lock_alone(state);
	/* Read again, because the previous owner of the lock may have changed the filesystem. */
	if (!error)
		error = read_superblock(state);
	if (!error && superblock_needs_replay(state->super))
		error = replay(state);
	if (!error)
		error = read_all(state);
	if (!error)
		state->phase = TRANSACTION_OPEN;
	return error;
}
