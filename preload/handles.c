/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload/handles.h"

#include <pthread.h>
#include <stdlib.h>

#include "allocator/attach/attached.h"
#include "transaction/undo.h"
#include "preload/program.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *first; /* protected by the lock */

struct handle *handle_of(ext2_filsys fs)
{
	pthread_mutex_lock(&lock);
	struct handle *handle = first;

	while (handle && handle->fs != fs)
		handle = handle->next;
	pthread_mutex_unlock(&lock);
	return handle;
}

struct handle *handle_add(ext2_filsys fs)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	handle->fs = fs;
	pthread_mutex_lock(&lock);
	handle->next = first;
	first = handle;
	pthread_mutex_unlock(&lock);
	return handle;
}

void handle_remove(struct handle *handle)
{
	pthread_mutex_lock(&lock);
	struct handle **place = &first;

	while (*place && *place != handle)
		place = &(*place)->next;
	if (*place)
		*place = handle->next;
	pthread_mutex_unlock(&lock);
	free(handle);
}

/* --- The allocator ------------------------------------------------------------------------------------------------ */

/* mke2fs(8) makes lost+found after all tables. What it makes before that stays where libext2fs puts it. */
static bool has_tables(const struct handle *handle)
{
	ext2_filsys fs = handle->fs;

	return !handle->is_new || ext2fs_fast_test_inode_bitmap2(fs->inode_map, EXT2_FIRST_INODE(fs->super));
}

static errcode_t attach(struct handle *handle)
{
	errcode_t error = ext2mb_attach(handle->fs, NULL);

	if (error)
		return error;
	error = ext2mb_worker_open(ext2mb_attached(handle->fs), &handle->worker);
	if (error) {
		(void)!ext2mb_detach(handle->fs);
		return error;
	}
	handle->mb = ext2mb_attached(handle->fs);
	return 0;
}

void handle_attach(struct handle *handle)
{
	ext2_filsys fs = handle ? handle->fs : NULL;

	if (!fs || handle->mb || handle->was_refused || !(fs->flags & EXT2_FLAG_RW) || !fs->block_map ||
	    !fs->inode_map || !has_tables(handle))
		return;
	errcode_t error = attach(handle);

	if (error) {
		handle->was_refused = true;
		say("%s: libext2fs allocates by itself: %s", fs->device_name, error_message(error));
		return;
	}
	say_more("%s: %s has libext2mb's allocator", fs->device_name, program.name);
}

void handles_end_newest_file(void)
{
	pthread_mutex_lock(&lock);
	for (struct handle *handle = first; handle; handle = handle->next)
		if (handle->mb)
			attached_end_newest_file(handle->fs);
	pthread_mutex_unlock(&lock);
}

void handle_detach(struct handle *handle)
{
	if (!handle || !handle->mb)
		return;
	ext2mb_worker_close(handle->worker);
	(void)!ext2mb_detach(handle->fs);
	handle->mb = NULL;
	handle->worker = NULL;
	handle->given = 0;
}

/* --- Transactions ------------------------------------------------------------------------------------------------- */

/* Returns the first failure, which may be that of a write whose error the program ignored. */
static errcode_t reason(const struct handle *handle, errcode_t error)
{
	struct ext2mb_transaction_info info = { .struct_bytes = sizeof(info) };
	bool is_over = error == EXT2MB_ET_TRANSACTION_OVER && !ext2mb_transaction_read_info(handle->fs, &info);

	return is_over && info.why_over ? info.why_over : error;
}

/* fuse2fs cannot undo: the kernel caches what it has been told. */
static bool undo(struct handle *handle)
{
	if (program.kind != PROGRAM_DEBUGFS)
		return false;
	handle_detach(handle);
	errcode_t error = transaction_undo(handle->fs);

	if (!error)
		handle_attach(handle);
	return !error;
}

static void complain(struct handle *handle, const char *what, errcode_t error)
{
	error = reason(handle, error);
	program_must_fail();
	if (undo(handle)) {
		say("%s: %s: %s", handle->fs->device_name,
		    handle->steps > 1 ? "refused, and all since the last commit is undone" : "refused, and undone",
		    error_message(error));
		handle->steps = 0;
		return;
	}
	if (!handle->was_told)
		say("%s: %s: %s", handle->fs->device_name, what, error_message(error));
	handle->was_told = true;
}

void handle_begin(struct handle *handle)
{
	errcode_t error = ext2mb_transaction_begin(handle->fs);

	/* The earlier commit itself may have been refused; its changes are undone. */
	if (error) {
		complain(handle, "nothing more can be written", error);
		error = ext2mb_transaction_begin(handle->fs);
	}
	handle->has_step = !error;
	handle->steps++;
}

/* The list does not change meanwhile: filesystems are opened and closed within steps, before the first or after the
 * last. */
void handles_begin(void)
{
	for (struct handle *handle = first; handle; handle = handle->next)
		if (handle->is_journalled)
			handle_begin(handle);
}

void handles_end(void)
{
	for (struct handle *handle = first; handle; handle = handle->next) {
		errcode_t error = handle->has_step ? ext2mb_transaction_end(handle->fs) : 0;

		if (error)
			complain(handle, "nothing more can be written", error);
		handle->has_step = false;
	}
}

errcode_t handle_commit(struct handle *handle)
{
	errcode_t error = ext2mb_transaction_commit(handle->fs);

	if (error)
		complain(handle, "the commit failed, and nothing more can be written", error);
	handle->has_step = false;
	handle->steps = 0;
	return error;
}

bool handles_have_journal_in(ext2_ino_t ino)
{
	const struct handle *handle = first;

	while (handle && !(handle->is_journalled && handle->fs->super->s_journal_inum == ino))
		handle = handle->next;
	return handle;
}

errcode_t handles_commit(void)
{
	errcode_t first_error = 0;

	for (struct handle *handle = first; handle; handle = handle->next) {
		errcode_t error = handle->is_journalled ? handle_commit(handle) : 0;

		first_error = first_error ? first_error : error;
	}
	return first_error;
}
