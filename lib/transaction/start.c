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
#include "ext2fs/fs_errors.h"
#include "transaction/replay.h"

/* io_channel_close() is a macro that names its argument twice. */
static void close_backing(struct transaction *transaction)
{
	io_channel backing = TAKE(transaction->backing);

	io_channel_close(backing);
}

errcode_t start_backing(struct transaction *transaction)
{
	io_manager manager = *transaction->manager->backing;
	errcode_t error = manager->open(transaction->name, transaction->open_flags, &transaction->backing);

	if (error)
		return error;
	if (*transaction->io_options)
		error = io_channel_set_options(transaction->backing, transaction->io_options);
	/* What it kept to itself would be unknown to a flush, and read twice. Some have no cache, and no such option.
	 */
	if (!error && manager->set_option) {
		error = manager->set_option(transaction->backing, "cache", "off");
		if (error == EXT2_ET_INVALID_ARGUMENT)
			error = 0;
	}
	if (error)
		close_backing(transaction);
	return error;
}

static errcode_t read_superblock(struct transaction *transaction)
{
	errcode_t error = io_channel_set_blksize(transaction->backing, SUPERBLOCK_BYTES);

	return error ? error : io_channel_read_blk64(transaction->backing, 1, -SUPERBLOCK_BYTES, transaction->super);
}

/* e2fsck opens the device for itself alone. */
static errcode_t replay(struct transaction *transaction)
{
	close_backing(transaction);
	errcode_t replay_error = replay_journal(transaction->name, transaction->io_options);
	errcode_t error = start_backing(transaction);

	if (!error)
		error = replay_error;
	if (!error)
		error = read_superblock(transaction);
	return !error && superblock_needs_recovery(transaction->super) ? EXT2MB_ET_NEEDS_RECOVERY : error;
}

static errcode_t read_layout(struct transaction *transaction, bool *has_64bit, bool *has_checksums)
{
	const char *io_options = *transaction->io_options ? transaction->io_options : NULL;
	ext2_filsys fs = NULL;
	errcode_t error = FS_ERROR_OF(ext2fs_open2(transaction->name, io_options, EXT2_FLAG_64BITS, 0, 0,
	                                           *transaction->manager->backing, &fs));

	if (error)
		return error;
	*has_64bit = ext2fs_has_feature_64bit(fs->super);
	*has_checksums = ext2fs_has_feature_metadata_csum(fs->super);
	error = layout_read(fs, &transaction->layout);
	ext2fs_free(fs);
	return error;
}

static errcode_t read_all(struct transaction *transaction)
{
	bool has_64bit, has_checksums;
	errcode_t error = read_layout(transaction, &has_64bit, &has_checksums);

	if (error)
		return error;
	transaction->held.block_bytes = transaction->layout.block_bytes;
	if (!transaction->layout.has_journal && !(transaction->manager->flags & EXT2MB_NO_JOURNAL))
		return EXT2MB_ET_NO_JOURNAL;
	error = io_channel_set_blksize(transaction->backing, (int)transaction->layout.block_bytes);
	if (!error && transaction->layout.has_journal)
		error = journal_open(&transaction->journal, &transaction->layout, transaction->backing, has_64bit,
		                     has_checksums);
	if (!error)
		error = committed_bitmap_init(&transaction->committed, &transaction->layout);
	if (!error && posix_memalign((void **)&transaction->bounce, 4096, transaction->layout.block_bytes))
		error = ENOMEM;
	return error;
}

/*
 * Two that write one journal would each undo the other's commits: the second one would even find needs_recovery, and
 * empty the journal that the first one uses. udev holds a device's lock for moments only.
 */
static errcode_t lock_alone(struct transaction *transaction)
{
	const struct timespec moment = { .tv_nsec = 100 * 1000 * 1000 };
	int descriptor = open(transaction->name, O_RDONLY | O_CLOEXEC);
	struct stat status;

	/* What cannot be locked, as on some network filesystems, is used without. */
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
	transaction->lock_descriptor = descriptor;
	return 0;
}

errcode_t start_transaction(struct transaction *transaction)
{
	errcode_t error = read_superblock(transaction);

	/* What is no filesystem, or only to be read, is the same as without a transaction. */
	if (error)
		return error;
	if (!superblock_has_magic(transaction->super) || !superblock_block_bytes(transaction->super) ||
	    !(transaction->open_flags & IO_FLAG_RW)) {
		transaction->state = TRANSACTION_PASSED;
		return 0;
	}
	if (transaction->lock_descriptor < 0)
		error = lock_alone(transaction);
	/* As the one that had the lock until then has left it. */
	if (!error)
		error = read_superblock(transaction);
	if (!error && superblock_needs_recovery(transaction->super))
		error = replay(transaction);
	if (!error)
		error = read_all(transaction);
	if (!error)
		transaction->state = TRANSACTION_OPEN;
	return error;
}
