/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drop_files [-o] [-p POINTS] [-s SEED] [-n STEPS] [-k EVERY] [-w TWIN] IMAGE
 *
 * Deletes files of IMAGE's root directory, replaces their contents, gives them to other owners, and makes some of them
 * orphans that later steps release, all of it in steps of transactions with quotas and discards. Then it crashes at
 * POINTS random moments, with writes lost, and after a discard anything in the blocks: debugfs replays the journal, and
 * the state before or after a step must be there; ORPHAN_PRESENT is set if, and only if, the orphan file has an entry;
 * e2fsck -p, and at each EVERYth point the kernel (0: at none), release the orphans, and then e2fsck finds nothing to
 * complain of, quotas included. With -o the orphans are left, some of them shortened. TWIN is a fault that has to be
 * found: early-discard, late-orphan, no-charge. Exit status 1: something was wrong.
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ext2fs/ext2mb.h>

#include "../unit/seeded_random.h"
#include "crash_judge.h"
#include "filesystem/fs_access.h"
#include "image/replayed.h"
#include "image/transaction_sink.h"
#include "ondisk/inode_store.h"
#include "ondisk/file_map.h"
#include "ondisk/inode_release.h"
#include "recorded_disk.h"
#include "support/cleanup.h"
#include "transaction/channel.h"

#define MOST_FILES 200
#define CHANGES 3 /* of a step */
#define MOST_BLOCKS 40

struct options {
	unsigned long points, steps, every;
	uint64_t seed;
	bool leaves_orphans;
	const char *twin, *image;
};

struct file {
	ext2_ino_t ino;
	char name[64];
	bool is_ours; /* it has no xattrs */
};

struct work {
	const struct options *options;
	struct random random;
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct ext2mb_orphans *orphans;
	struct volume volume;
	struct transaction_sink sink;
	struct fs_access access;
	struct quota_changes changes;
	struct inode_release release;
	uint32_t quota_inodes[QUOTA_TYPES];
	struct file files[MOST_FILES];
	size_t file_count;
	struct {
		ext2_ino_t ino;
		uint32_t index;
	} orphan[MOST_FILES];
	size_t orphan_count;
};

static void check(errcode_t error, const char *what)
{
	if (error)
		errx(2, "%s: %s", what, error_message(error));
}

static bool is_twin(const struct options *options, const char *name)
{
	return options->twin && !strcmp(options->twin, name);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static int note_file(struct ext2_dir_entry *entry, int offset, int block_bytes, char *buffer, void *context)
{
	struct work *work = context;
	int length = ext2fs_dirent_name_len(entry);

	(void)offset, (void)block_bytes, (void)buffer;
	if (work->file_count == MOST_FILES || ext2fs_dirent_file_type(entry) == EXT2_FT_DIR)
		return 0;
	struct file *file = &work->files[work->file_count++];

	*file = (struct file){ .ino = entry->inode };
	snprintf(file->name, sizeof(file->name), "%.*s", length, entry->name);
	return 0;
}

static errcode_t discard(void *context, uint64_t start, uint64_t count)
{
	const struct work *work = context;
	const struct channel_state *state = channel_state_of(work->fs->io);

	if (is_twin(work->options, "early-discard"))
		return io_channel_discard(state->backing, start, count);
	return io_channel_discard(work->fs->io, start, count);
}

static void open_work(struct work *work, const struct options *options, io_manager manager)
{
	const struct ext2mb_options allocator = {
		.struct_bytes = sizeof(allocator),
		.discard = discard,
		.discard_context = work,
	};
	struct problem problem = { 0 };

	*work = (struct work){ .options = options, .random = { options->seed } };
	check(ext2fs_open(options->image, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, manager, &work->fs), "open");
	work->fs->now = 1700000000;
	check(volume_open(options->image, 0, &work->volume, &problem), "volume");
	check(ext2mb_open(work->fs, &allocator, &work->mb), "allocator");
	check(ext2mb_worker_open(work->mb, &work->worker), "worker");
	const struct ext2mb_orphan_options orphans = { sizeof(orphans), work->mb };

	check(ext2mb_orphan_open(work->fs, &orphans, NULL, 0, &work->orphans), "orphans");
	const struct fs_access_parts parts = {
		.fs = work->fs,
		.mb = work->mb,
		.worker = work->worker,
		.format = &work->volume.format,
		.geometry = &work->volume.geometry,
		.zones = &work->volume.zones,
		.suspect = work->volume.suspect,
	};
	transaction_sink_init(&work->sink, work->fs);
	check(fs_access_open(&work->access, &parts), "access");
	fs_access_quota_inodes(work->fs, work->quota_inodes);
	work->release = (struct inode_release){
		.access = &work->access.access,
		.changes = &work->changes,
		.now = 1700000000,
	};
	check(ext2fs_dir_iterate(work->fs, EXT2_ROOT_INO, 0, NULL, note_file, work), "directory");
}

static void close_work(struct work *work)
{
	fs_access_close(&work->access);
	volume_close(&work->volume);
	ext2mb_orphan_close(work->orphans);
	ext2mb_worker_close(work->worker);
	check(ext2mb_close(work->mb), "close");
	check(ext2fs_close(work->fs), "close");
}

static struct inode_decoded read_inode(struct work *work, ext2_ino_t ino, uint8_t *raw)
{
	struct inode_decoded inode;

	check(inode_store_read(&work->access.access, ino, raw, &inode), "inode");
	return inode;
}

static void forget(struct work *work, size_t index)
{
	work->files[index] = work->files[--work->file_count];
}

/* One name less; returns false if others remain. */
static bool take_name(struct work *work, size_t index, struct inode_decoded *inode)
{
	uint8_t raw[4096];

	check(ext2fs_unlink(work->fs, EXT2_ROOT_INO, work->files[index].name, work->files[index].ino, 0), "unlink");
	*inode = read_inode(work, work->files[index].ino, raw);
	if (inode->value.links == 1)
		return true;
	inode->value.links--;
	check(inode_store_change(&work->access.access, work->files[index].ino, inode), "links");
	return false;
}

static void delete_file(struct work *work, size_t index)
{
	struct inode_decoded inode;

	if (take_name(work, index, &inode))
		check(inode_release_delete(&work->release, work->files[index].ino), "delete");
	forget(work, index);
}

static void make_orphan(struct work *work, size_t index)
{
	ext2_ino_t ino = work->files[index].ino;
	struct inode_decoded inode;

	if (take_name(work, index, &inode)) {
		inode.value.links = 0;
		check(inode_store_change(&work->access.access, ino, &inode), "links");
		work->orphan[work->orphan_count].ino = ino;
		check(ext2mb_orphan_add(work->orphans, 0, ino, &work->orphan[work->orphan_count++].index), "orphan");
	}
	forget(work, index);
}

static void process_orphan(struct work *work)
{
	size_t index = random_below(&work->random, work->orphan_count);
	ext2_ino_t ino = work->orphan[index].ino;
	bool is_done;

	check(inode_release_shorten(&work->release, ino, 1, &is_done), "shorten");
	if (!is_done || work->options->leaves_orphans)
		return;
	check(inode_release_delete(&work->release, ino), "delete");
	check(ext2mb_orphan_delete(work->orphans, work->orphan[index].index, ino), "orphan");
	work->orphan[index] = work->orphan[--work->orphan_count];
}

/* New contents, in blocks that are free: not those that this step has freed. */
static void write_contents(struct work *work, struct inode_value *value, ext2_ino_t ino)
{
	const struct ondisk_format *format = work->access.access.format;
	uint64_t cluster = UINT64_C(1) << format->cluster_bits;
	const struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.count = cluster * (1 + random_below(&work->random, MOST_BLOCKS / cluster)),
	};
	struct ext2mb_extent extent;

	check(ext2mb_alloc(work->worker, &request, &extent), "alloc");
	SCOPE_FREE uint8_t *bytes = malloc(extent.count * format->block_bytes);

	if (!bytes)
		errx(2, "out of memory");
	memset(bytes, (int)random_below(&work->random, 255) + 1, extent.count * format->block_bytes);
	for (uint64_t done = 0; done < extent.count; done++)
		check(sink_write_data(&work->sink.sink, extent.start + done, 1, bytes + done * format->block_bytes),
		      "write");
	const struct file_extent mapped = { .count = (uint32_t)extent.count, .physical = extent.start };

	value->blocks = extent.count;
	value->size_bytes = extent.count * format->block_bytes;
	value->flags = format->extents ? EXT4_EXTENTS_FL : 0;
	SCOPE_FREE uint8_t *map = calloc(2, format->block_bytes);
	uint64_t map_block, map_blocks = file_map_blocks(format, &mapped, 1);

	for (uint64_t n = 0; n < map_blocks; n++)
		check(work->access.access.alloc(&work->access.access, extent.start, &map_block), "map");
	value->blocks += map_blocks << format->cluster_bits;
	check(file_map_build(format, ino, value->generation, &mapped, 1, &map_block, value->root, map), "map");
	for (uint64_t n = 0; n < map_blocks; n++)
		check(sink_write(&work->sink.sink, map_block, 1, map), "map");
}

static void replace_file(struct work *work, size_t index)
{
	struct block_access *access = &work->access.access;
	ext2_ino_t ino = work->files[index].ino;
	uint8_t raw[4096], made[4096];
	const struct inode_decoded old = read_inode(work, ino, raw);

	if (!S_ISREG(old.value.mode))
		return;
	check(inode_release_contents(&work->release, ino), "contents");
	struct inode_value value = {
		.mode = S_IFREG | 0600,
		.uid = (uint32_t)random_below(&work->random, 5) << 12,
		.gid = old.value.gid,
		.project = old.value.project,
		.links = old.value.links,
		.mtime = { 1700000001, 0 },
		.generation = inode_next_generation(raw),
	};

	write_contents(work, &value, ino);
	check(inode_encode(access->format, ino, &value, NULL, made), "encode");
	check(inode_store_write(access, ino, made), "inode");
	check(quota_changes_charge(&work->changes, access->format, &value, 1, (int64_t)value.blocks), "charge");
	for (size_t other = 0; other < work->file_count; other++)
		if (work->files[other].ino == ino)
			work->files[other].is_ours = true;
}

/* Ids far from each other: the quota file grows. */
static void change_owner(struct work *work, size_t index)
{
	struct block_access *access = &work->access.access;
	ext2_ino_t ino = work->files[index].ino;
	uint8_t raw[4096];
	struct inode_decoded inode = read_inode(work, ino, raw);

	if (!work->files[index].is_ours)
		return;
	check(quota_changes_charge(&work->changes, access->format, &inode.value, -1, -(int64_t)inode.value.blocks),
	      "charge");
	inode.value.uid = (uint32_t)random_next(&work->random) | 1;
	inode.value.gid = inode.value.uid / 3;
	check(quota_changes_charge(&work->changes, access->format, &inode.value, 1, (int64_t)inode.value.blocks),
	      "charge");
	check(inode_store_change(access, ino, &inode), "owner");
}

static void change(struct work *work)
{
	uint64_t kind = random_below(&work->random, 6);

	if (work->orphan_count && (kind == 0 || !work->file_count)) {
		process_orphan(work);
		return;
	}
	if (!work->file_count)
		return;
	size_t index = random_below(&work->random, work->file_count);

	if (kind == 1)
		delete_file(work, index);
	else if (kind == 2)
		make_orphan(work, index);
	else if (kind == 3 || kind == 4)
		replace_file(work, index);
	else
		change_owner(work, index);
}

/* changes 0: all orphans are released. */
static void step(struct work *work, int changes)
{
	bool is_late = is_twin(work->options, "late-orphan");

	check(ext2mb_transaction_begin(work->fs), "begin");
	if (is_late)
		check(ext2mb_orphan_sync(work->orphans), "orphans");
	while (!changes && work->orphan_count)
		process_orphan(work);
	while (changes-- > 0)
		change(work);
	if (!is_late)
		check(ext2mb_orphan_sync(work->orphans), "orphans");
	if (is_twin(work->options, "no-charge"))
		quota_changes_free(&work->changes);
	uint32_t damaged = 0;

	check(quota_changes_apply(&work->changes, &work->access.access, work->quota_inodes, &damaged), "quota");
	check(ext2mb_transaction_commit(work->fs), "commit");
	recorded_disk_committed();
}

/* --- crashes ------------------------------------------------------------------------------------------------------ */

struct run {
	struct options options;
	struct crash_judge judge;
	uint8_t *base, *disk;
	uint64_t bytes;
	struct crash_state *states;
	unsigned long failures, with_orphans;
};

static struct crash_state state_of_file(struct run *run)
{
	uint64_t bytes;
	SCOPE_FREE uint8_t *disk = recorded_disk_read(run->options.image, &bytes);

	return crash_judge_state(&run->judge, disk);
}

static int run_command(const char *format, const char *path)
{
	char command[512];

	snprintf(command, sizeof(command), format, path);
	int status = system(command);

	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* Inodes that are in use and have no links. */
static unsigned long count_unlinked(ext2_filsys fs)
{
	unsigned long count = 0;

	check(ext2fs_read_inode_bitmap(fs), "inode bitmap");
	for (ext2_ino_t ino = EXT2_FIRST_INODE(fs->super); ino <= fs->super->s_inodes_count; ino++) {
		struct ext2_inode inode;

		if (!ext2fs_test_inode_bitmap2(fs->inode_map, ino))
			continue;
		check(ext2fs_read_inode(fs, ino, &inode), "inode");
		count += !inode.i_links_count;
	}
	return count;
}

/* NULL, or what is wrong with the orphans of the replayed disk. */
static const char *judge_orphans(struct run *run)
{
	struct ext2mb_orphans *orphans;
	unsigned long count = 0, in_file = 0, unlinked;
	ext2_filsys fs;

	if (ext2fs_open(run->judge.path, EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs))
		return "it cannot be opened";
	bool is_present = ext2fs_has_feature_orphan_present(fs->super);
	errcode_t error = ext2mb_orphan_open(fs, NULL, NULL, 0, &orphans);

	unlinked = count_unlinked(fs);
	for (uint32_t index = 0; !error && ext2mb_orphan_next(orphans, &index); index++, count++)
		in_file += index < EXT2MB_ORPHAN_ON_LIST;
	if (!error)
		ext2mb_orphan_close(orphans);
	ext2fs_free(fs);
	run->with_orphans += count > 0;
	if (error)
		return "its orphans cannot be read";
	if (unlinked != count)
		return "an inode without links is no orphan";
	return is_present == (in_file > 0) ? NULL : "orphan_present is wrong";
}

static const char *judge_disk(struct run *run, unsigned long commits, bool by_kernel)
{
	const char *path = run->judge.path;

	memcpy(run->judge.file, run->disk, run->bytes);
	if (run_command("debugfs -n -w -R jr %1$s >/dev/null 2>&1 </dev/null", path))
		return "debugfs cannot replay the journal";
	memcpy(run->judge.replayed, run->judge.file, run->bytes);
	if (!crash_judge_shows(&run->judge, &run->states[commits]) &&
	    (commits == run->options.steps || !crash_judge_shows(&run->judge, &run->states[commits + 1])))
		return "it is between two states";
	const char *problem = judge_orphans(run);

	if (problem)
		return problem;
	if (by_kernel &&
	    run_command("mkdir -p %1$s.mount && mount -t ext4 -o loop %1$s %1$s.mount && umount %1$s.mount", path))
		return "the kernel does not mount it";
	if (!by_kernel && run_command("e2fsck -fp %1$s >/dev/null 2>&1", path) > 1)
		return "e2fsck -fp fails";
	return run_command("e2fsck -fn %1$s >/dev/null 2>&1", path) ? "e2fsck -fn is not content" : NULL;
}

/* All that was flushed, and a part of the rest. */
static unsigned long make_disk(struct run *run, size_t end, struct random *random)
{
	unsigned long commits = 0;
	size_t flushed = 0;
	bool is_whole = random_below(random, 2);

	memcpy(run->disk, run->base, run->bytes);
	for (size_t index = 0; index < end; index++) {
		commits += recorded_disk.events[index].kind == DISK_COMMITTED;
		if (recorded_disk.events[index].kind == DISK_FLUSH)
			flushed = index;
	}
	for (size_t index = 0; index < end; index++) {
		const struct disk_event *event = &recorded_disk.events[index];

		if (event->kind == DISK_WRITE && (index < flushed || is_whole || random_below(random, 2)))
			memcpy(run->disk + event->offset, event->data, event->bytes);
	}
	return commits;
}

static void crash(struct run *run)
{
	const struct options *options = &run->options;
	struct random random = { options->seed + 1 };

	for (unsigned long point = 0; point < options->points; point++) {
		size_t end = random_below(&random, recorded_disk.count + 1);
		unsigned long commits = make_disk(run, end, &random);
		bool by_kernel = options->every && point % options->every == 0;
		const char *problem = judge_disk(run, commits, by_kernel);

		if (problem && !run->failures++)
			printf("point %lu, %zu of %zu events, %lu commits: %s%s\n", point, end, recorded_disk.count,
			       commits, problem, by_kernel ? " (kernel)" : "");
		if (problem && options->twin)
			return;
	}
}

static struct struct_io_manager functions;

static errcode_t open_channel(const char *name, int flags, io_channel *channel)
{
	static const struct channel_manager manager = { .functions = &functions, .backing = &recorded_disk_manager };

	return channel_open(name, flags, &manager, channel);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text)
		errx(2, "%s: not a number", text);
	return value;
}

static struct options read_options(int argc, char **argv)
{
	struct options options = { .points = 50, .steps = 12, .seed = 1 };

	for (int letter; (letter = getopt(argc, argv, "op:s:n:k:w:")) != -1;)
		switch (letter) {
		case 'o':
			options.leaves_orphans = true;
			break;
		case 'p':
			options.points = number(optarg);
			break;
		case 's':
			options.seed = number(optarg);
			break;
		case 'n':
			options.steps = number(optarg);
			break;
		case 'k':
			options.every = number(optarg);
			break;
		case 'w':
			options.twin = optarg;
			break;
		default:
			exit(2);
		}
	if (argc != optind + 1)
		errx(2, "one image");
	options.image = argv[optind];
	return options;
}

int main(int argc, char **argv)
{
	/* Not of this function, so that LeakSanitizer sees at the end what they have. */
	static struct run run;
	static struct work work;
	static char *path;

	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	run.options = read_options(argc, argv);
	functions = channel_functions(open_channel);
	run.base = recorded_disk_read(run.options.image, &run.bytes);
	run.disk = malloc(run.bytes);
	run.states = calloc(run.options.steps + 1, sizeof(*run.states));
	if (!run.disk || !run.states || asprintf(&path, "%s.crash", run.options.image) < 0)
		errx(2, "out of memory");
	crash_judge_init(&run.judge, path, run.base, run.bytes);
	open_work(&work, &run.options, &functions);
	run.states[0] = state_of_file(&run);
	for (unsigned long index = 1; index <= run.options.steps; index++) {
		step(&work, index < run.options.steps || run.options.leaves_orphans ? CHANGES : 0);
		run.states[index] = state_of_file(&run);
	}
	close_work(&work);
	/* Without orphans, which e2fsck releases with less than the kernel's care for quotas. */
	if (!run.options.leaves_orphans && run_command("e2fsck -fn %1$s >/dev/null 2>&1", run.options.image) &&
	    !run.failures++)
		printf("e2fsck is not content in the end\n");
	crash(&run);
	printf("%s inodes freed, %s points with orphans: %lu wrong\n", work.release.inodes ? "some" : "no",
	       run.with_orphans ? "some" : "no", run.failures);
	return run.failures != 0;
}
