/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crash_judge.h"

#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h> /* after linux/fs.h, with glibc 2.36 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "transaction/superblock.h"

extern char **environ;

static int leave_out(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset, void *context)
{
	struct crash_judge *judge = context;

	(void)fs, (void)logical, (void)reference, (void)offset;
	judge->is_left_out[*block] = true;
	return 0;
}

static void put_disk(struct crash_judge *judge, const uint8_t *disk)
{
	for (uint64_t at = 0; at < judge->bytes; at += judge->block_bytes)
		if (memcmp(judge->file + at, disk + at, judge->block_bytes))
			memcpy(judge->file + at, disk + at, judge->block_bytes);
}

static ext2_filsys open_file(const struct crash_judge *judge)
{
	ext2_filsys fs;
	errcode_t error =
		ext2fs_open(judge->path, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0, unix_io_manager, &fs);

	if (error)
		errx(2, "%s: %s", judge->path, error_message(error));
	return fs;
}

void crash_judge_init(struct crash_judge *judge, const char *path, const uint8_t *disk, uint64_t bytes)
{
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	*judge = (struct crash_judge){ .path = path, .bytes = bytes, .block_bytes = 1024 };
	if (file < 0 || ftruncate(file, (off_t)bytes))
		err(2, "%s", path);
	judge->file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (judge->file == MAP_FAILED)
		err(2, "%s", path);
	close(file);
	put_disk(judge, disk);

	ext2_filsys fs = open_file(judge);

	judge->block_bytes = fs->blocksize;
	judge->blocks = ext2fs_blocks_count(fs->super);
	judge->is_left_out = calloc(judge->blocks, sizeof(*judge->is_left_out));
	judge->replayed = malloc(bytes);
	if (!judge->is_left_out || !judge->replayed)
		errx(2, "out of memory");
	judge->is_left_out[1024 / fs->blocksize] = true;
	if (ext2fs_block_iterate3(fs, EXT2_JOURNAL_INO, BLOCK_FLAG_READ_ONLY, NULL, leave_out, judge))
		errx(2, "the journal cannot be read");
	ext2fs_free(fs);
}

static uint64_t hash_of(const uint8_t *data, uint32_t bytes)
{
	uint64_t hash = 1;

	for (uint32_t at = 0; at < bytes; at += 8) {
		uint64_t value;

		memcpy(&value, data + at, 8);
		hash = (hash ^ value) * UINT64_C(0x9fb21c651e98df25);
		hash ^= hash >> 32;
	}
	return hash | 1;
}

struct crash_state crash_judge_state(struct crash_judge *judge, const uint8_t *disk)
{
	struct crash_state state = { calloc(judge->blocks, sizeof(*state.hashes)) };

	put_disk(judge, disk);
	ext2_filsys fs = open_file(judge);

	if (!state.hashes || ext2fs_read_block_bitmap(fs))
		errx(2, "the block bitmap cannot be read");
	for (uint64_t block = fs->super->s_first_data_block; block < judge->blocks; block++)
		if (!judge->is_left_out[block] && ext2fs_test_block_bitmap2(fs->block_map, block))
			state.hashes[block] = hash_of(disk + block * judge->block_bytes, judge->block_bytes);
	ext2fs_free(fs);
	return state;
}

bool crash_judge_shows(const struct crash_judge *judge, const struct crash_state *state)
{
	for (uint64_t block = 0; block < judge->blocks; block++)
		if (state->hashes[block] &&
		    state->hashes[block] != hash_of(judge->replayed + block * judge->block_bytes, judge->block_bytes))
			return false;
	return true;
}

/* The exit status of a command that is not heard. */
static int run(char *const *arguments)
{
	posix_spawn_file_actions_t actions;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	if (posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ) || waitpid(pid, &status, 0) < 0)
		err(2, "%s", arguments[0]);
	posix_spawn_file_actions_destroy(&actions);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* e2fsck -fn would say of an orphan file with entries that it is not clean. */
static bool has_orphans(const struct crash_judge *judge)
{
	const struct ext2_super_block *super = (const void *)(judge->file + SUPERBLOCK_OFFSET_BYTES);

	return super->s_last_orphan || super->s_feature_ro_compat & htole32(EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT);
}

const char *crash_judge_replay(struct crash_judge *judge, const uint8_t *disk)
{
	char *path = (char *)judge->path;

	put_disk(judge, disk);
	if (run((char *[]){ "e2fsck", "-y", "-E", "journal_only", path, NULL }) > 1)
		return "e2fsck cannot replay the journal";
	memcpy(judge->replayed, judge->file, judge->bytes);
	if (has_orphans(judge) && run((char *[]){ "e2fsck", "-p", path, NULL }) > 1)
		return "e2fsck does not release the orphans";
	return run((char *[]){ "e2fsck", "-fn", path, NULL }) ? "e2fsck -fn is not content" : NULL;
}

bool crash_judge_is_torn(const uint8_t *disk)
{
	return !superblock_checksum_is_good(disk + SUPERBLOCK_OFFSET_BYTES);
}

const char *crash_judge_mend(struct crash_judge *judge, const uint8_t *disk)
{
	char *path = (char *)judge->path, backup[16], block_bytes[16];

	put_disk(judge, disk);
	ext2_filsys fs = open_file(judge);
	bool has_backup = fs->group_desc_count > 1;

	/* e2fsck does not find the backups of small groups by itself. */
	snprintf(backup, sizeof(backup), "%u", fs->super->s_first_data_block + fs->super->s_blocks_per_group);
	snprintf(block_bytes, sizeof(block_bytes), "%u", fs->blocksize);
	ext2fs_free(fs);
	if (!has_backup)
		return NULL;
	if (run((char *[]){ "e2fsck", "-fy", "-b", backup, "-B", block_bytes, path, NULL }) > 1)
		return "e2fsck does not mend a torn superblock";
	return run((char *[]){ "e2fsck", "-fn", path, NULL }) ? "e2fsck -fn is not content with what it mended" : NULL;
}

static const char *compare_replays(const struct crash_judge *judge, const char *what)
{
	static char text[128];

	for (uint64_t block = 0; block < judge->blocks; block++) {
		uint64_t at = block * judge->block_bytes;

		if (judge->is_left_out[block] || !memcmp(judge->file + at, judge->replayed + at, judge->block_bytes))
			continue;
		snprintf(text, sizeof(text), "%s made another block %llu than e2fsck", what, (unsigned long long)block);
		return text;
	}
	return NULL;
}

/* Another process may have taken the device in between. */
static int attach_loop(const char *path, char *device, size_t device_bytes)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), file = open(path, O_RDWR | O_CLOEXEC);

	for (int attempt = 0; control >= 0 && file >= 0 && attempt < 100; attempt++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		snprintf(device, device_bytes, "/dev/loop%d", number);
		int loop = open(device, O_RDWR | O_CLOEXEC);

		/* One that was read-only a moment ago may still be. */
		if (loop >= 0 && !ioctl(loop, LOOP_SET_FD, file) && !ioctl(loop, BLKROSET, &(int){ 0 })) {
			close(file);
			close(control);
			return loop;
		}
		if (loop >= 0)
			close(loop);
		usleep(1000);
	}
	err(2, "no loop device");
}

const char *crash_judge_kernel(struct crash_judge *judge, const uint8_t *disk)
{
	char device[32], folder[256];
	const char *problem = NULL;

	put_disk(judge, disk);
	snprintf(folder, sizeof(folder), "%s.mount", judge->path);
	mkdir(folder, 0700);
	int loop = attach_loop(judge->path, device, sizeof(device));

	/* A journal is replayed for those who only read, too, if the device can be written. */
	if (mount(device, folder, "ext4", MS_RDONLY, NULL))
		problem = "the kernel does not mount it";
	else if (umount2(folder, 0))
		err(2, "%s", folder);
	fsync(loop);
	ioctl(loop, LOOP_CLR_FD, 0);
	close(loop);
	return problem ? problem : compare_replays(judge, "the kernel");
}

/* -n: else it opens nothing whose bitmaps a checkpoint has been cut short in. */
const char *crash_judge_debugfs(struct crash_judge *judge, const uint8_t *disk)
{
	put_disk(judge, disk);
	if (run((char *[]){ "debugfs", "-n", "-w", "-R", "jr", (char *)judge->path, NULL }))
		return "debugfs fails";
	return compare_replays(judge, "debugfs");
}
