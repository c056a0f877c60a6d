/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/verdict.h"

#include <ext2fs/ext2_fs.h>

/*
 * A file's pieces are short if their average is below this. By default the kernel reads ahead 128 KiB at a time: so
 * short a piece takes one or two requests, and even a device without seeks becomes slower.
 */
#define SHORT_PIECE_BYTES (256u << 10)

/* So few surplus pieces are not worth an action: they cost few seeks, however short the file is. */
#define FEW_PIECES 4

/*
 * Such files count if they hold one hundredth of all files' blocks. A disk with seeks of 10 ms that reads 200 MB/s
 * needs nine times as long for pieces of 256 KiB, so that from there on reading everything takes a tenth longer, or
 * more.
 */
#define BLOCKS_SHARE 100

/* They also count if they are a tenth of the larger files, and too many to be an accident. */
#define FILES_SHARE 10
#define LEAST_FILES 10

/*
 * Extents of 4 to 8 MiB are good enough, ext4's maintainers say: a disk that needs 10 ms for a seek reads that long in
 * 20 to 40 ms. If half of the free space is in shorter ones, new files will be worse than that.
 */
#define FREE_EXTENT_BYTES (UINT64_C(4) << 20)

/* If little is free, one extent cannot be expected to have more than this part of it. */
#define FREE_EXTENT_SHARE 64

/* Less is free than mke2fs reserves for root by default: the rest is in pieces, however well files were laid out. */
#define LITTLE_FREE_PERCENT 5

/*
 * The kernel gives copies the longer free extents first. A joined file gives its pieces back, so that free space of an
 * eighth of the files lets e4defrag join a third of their pieces; that of an eighteenth, a fifth.
 */
#define ROOM_SHARE 8

/* Free extents count as found by copies if at least so much of the free space is in those of their length. */
#define LEAST_FREE_PERCENT 25.0

/* Indexed directories are half full at least, until names are removed. */
#define EMPTY_DIRECTORY_BYTES (64u << 10)
#define EMPTY_DIRECTORY_BLOCKS 16
#define EMPTY_DIRECTORY_SHARE 8

/* From so much on nearly empty directories are worth an action. */
#define WASTED_DIRECTORY_BYTES (UINT64_C(1) << 20)

/* Slack is worth a word if it is half of what files own, and a tenth of the filesystem. */
#define SLACK_SHARE 2
#define SLACK_OF_FILESYSTEM 10

/*
 * Inodes are short if fewer than a twentieth are free, and if files like those that are there would take the last one
 * with nine tenths of the free space left, which is no mere remainder.
 */
#define FREE_INODES_SHARE 20
#define INODES_LEFT_SHARE 10
#define INODES_LEAST_FREE_BYTES (1u << 20)

/* So many long pieces tell how a RAID is used. */
#define LEAST_STRIPES 10

/* Such files cannot be opened for writing, or the kernel does not exchange their blocks. */
#define REFUSED_FLAGS (EXT2_IMMUTABLE_FL | EXT2_APPEND_FL | EXT3_JOURNAL_DATA_FL | EXT4_ENCRYPT_FL | EXT4_VERITY_FL)

/* If only a part was read, the superblock has the better number of free blocks. */
static uint64_t free_blocks(const struct report *report)
{
	return report->quick.seconds || !report->has_free ? report->free.superblock_free_blocks :
	                                                    report->free.sizes.sum;
}

/* --- Files ------------------------------------------------------------------------------------------------------- */

static void add_to_kind(struct report_kind *kind, const struct report_kind *file)
{
	kind->files++;
	kind->large_files += file->large_files;
	kind->blocks += file->blocks;
	kind->surplus_runs += file->surplus_runs;
}

static bool is_short(uint64_t blocks, uint64_t more_pieces, uint32_t block_bytes)
{
	return blocks * block_bytes / (more_pieces + 1) < SHORT_PIECE_BYTES;
}

static enum file_kind kind_of(const struct file_layout *layout, uint64_t map_blocks, uint64_t ideal,
                              uint32_t block_bytes)
{
	/* Skipping a block of the map does not count as a seek. */
	uint64_t needed = (layout->short_cuts < map_blocks ? layout->short_cuts : map_blocks) + ideal - 1;
	uint64_t more_pieces = layout->cuts > needed ? layout->cuts - needed : 0;
	uint64_t forced = layout->counts.runs - 1 - layout->cuts; /* at borders of holes and unwritten blocks */

	if (more_pieces > FEW_PIECES && is_short(layout->counts.blocks, more_pieces, block_bytes))
		return FILE_SCATTERED;
	if (forced > FEW_PIECES && is_short(layout->counts.blocks, forced, block_bytes))
		return FILE_SPARSE;
	return more_pieces && is_short(layout->counts.blocks, more_pieces, block_bytes) ? FILE_SPLIT : FILE_WELL;
}

enum file_obstacle verdict_obstacle(const struct report *report, uint32_t inode_flags, uint64_t size_bytes,
                                    uint64_t blocks)
{
	const struct report_filesystem *filesystem = &report->filesystem;

	if (blocks > free_blocks(report))
		return OBSTACLE_SIZE;
	if (!filesystem->has_extents || filesystem->cluster_blocks > 1 || filesystem->journals_data)
		return OBSTACLE_KIND;
	if (!size_bytes || !(inode_flags & EXT4_EXTENTS_FL) || (inode_flags & REFUSED_FLAGS))
		return OBSTACLE_KIND;
	return OBSTACLE_NONE;
}

enum file_kind verdict_decide(struct report_kinds *kinds, const struct file_layout *layout, uint64_t map_blocks,
                              uint64_t ideal, enum file_obstacle obstacle, uint32_t block_bytes)
{
	struct report_kind *const of_kind[] = { NULL, &kinds->scattered, &kinds->sparse, &kinds->split };
	struct report_kind *const of_obstacle[] = { NULL, &kinds->refused, &kinds->too_large };
	enum file_kind kind = kind_of(layout, map_blocks, ideal, block_bytes);
	const struct report_kind file = {
		.large_files = layout->counts.blocks * block_bytes >= VERDICT_LARGE_BYTES,
		.blocks = layout->counts.blocks,
		.surplus_runs = layout->counts.runs > ideal ? layout->counts.runs - ideal : 0,
	};

	add_to_kind(&kinds->all, &file);
	if (of_kind[kind])
		add_to_kind(of_kind[kind], &file);
	if (kind == FILE_SCATTERED && of_obstacle[obstacle])
		add_to_kind(of_obstacle[obstacle], &file);
	return kind;
}

const char *file_kind_word(enum file_kind kind)
{
	static const char *const words[] = { "well", "scattered", "sparse", "split" };

	return words[kind];
}

static bool is_much(const struct report_kind *kind, const struct report_kind *all)
{
	return kind->files &&
	       (kind->blocks * BLOCKS_SHARE >= all->blocks ||
	        (kind->large_files >= LEAST_FILES && kind->large_files * FILES_SHARE >= all->large_files));
}

static bool are_many(const struct report_kind *kind, const struct report_kind *all)
{
	return kind->files >= LEAST_FILES && kind->files * FILES_SHARE >= all->files;
}

/* --- Free space -------------------------------------------------------------------------------------------------- */

static bool has_little_free(const struct report *report)
{
	return report->has_free && free_blocks(report) * 100 < report->filesystem.blocks * LITTLE_FREE_PERCENT;
}

static uint64_t least(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

/* Half of the free space should be in extents of at least this length; with small groups, half a group. */
static uint64_t free_limit(const struct report *report)
{
	const struct report_filesystem *filesystem = &report->filesystem;

	return least(least(FREE_EXTENT_BYTES / filesystem->block_bytes, filesystem->blocks_per_group / 2),
	             free_blocks(report) / FREE_EXTENT_SHARE);
}

/* --- Room -------------------------------------------------------------------------------------------------------- */

bool verdict_is_nearly_empty(uint64_t blocks, uint32_t block_bytes, uint64_t entry_bytes)
{
	uint64_t bytes = blocks * block_bytes;

	return blocks >= EMPTY_DIRECTORY_BLOCKS && bytes >= EMPTY_DIRECTORY_BYTES &&
	       entry_bytes * EMPTY_DIRECTORY_SHARE < bytes;
}

static bool lacks_inodes(const struct report *report)
{
	const struct report_filesystem *filesystem = &report->filesystem;
	uint64_t used = filesystem->inodes - filesystem->free_inodes, left = free_blocks(report);
	uint64_t used_blocks = filesystem->blocks > left ? filesystem->blocks - left : 1;

	if (!report->has_free || !filesystem->inodes || has_little_free(report) ||
	    left * filesystem->block_bytes < INODES_LEAST_FREE_BYTES)
		return false;
	if (!filesystem->free_inodes)
		return true;
	return (uint64_t)filesystem->free_inodes * FREE_INODES_SHARE < filesystem->inodes &&
	       (double)filesystem->free_inodes * INODES_LEFT_SHARE < (double)left * (double)used / (double)used_blocks;
}

static bool has_much_slack(const struct report *report)
{
	const uint64_t slack = report->files.slack_bytes / report->filesystem.block_bytes;

	return slack * SLACK_SHARE >= report->files.owned_blocks && slack &&
	       slack * SLACK_OF_FILESYSTEM >= report->filesystem.blocks;
}

static bool has_empty_directories(const struct report *report)
{
	return report->directories.nearly_empty_blocks * report->filesystem.block_bytes >= WASTED_DIRECTORY_BYTES;
}

static bool misses_stripes(const struct report *report)
{
	return report->files.stripe_pieces >= LEAST_STRIPES &&
	       report->files.stripe_beginning * 2 < report->files.stripe_pieces;
}

/* --- All of it --------------------------------------------------------------------------------------------------- */

const char *verdict_words(enum verdict_kind kind)
{
	static const char *const words[VERDICT_KINDS] = {
		[VERDICT_FINE] = "fine",
		[VERDICT_SPLIT] = "fine, many small files in two pieces",
		[VERDICT_SPARSE] = "sparse by design",
		[VERDICT_WASTE] = "fine, but room is wasted",
		[VERDICT_FREE_SPACE] = "free space in pieces",
		[VERDICT_FILES] = "files in pieces",
		[VERDICT_BOTH] = "files and free space in pieces",
		[VERDICT_INODES] = "short of inodes",
		[VERDICT_UNKNOWN] = "unknown",
	};

	return words[kind];
}

static bool is_whole(const struct report *report)
{
	return !report->damage.count && !report->filesystem.missing_blocks;
}

static enum verdict_kind decide(const struct report *report)
{
	const struct report_kinds *kinds = &report->files.kinds;
	uint64_t limit = report->verdict.free_limit_blocks;
	bool is_scattered = is_much(&kinds->scattered, &kinds->all);

	if (!is_whole(report))
		return VERDICT_UNKNOWN;
	if (limit && histogram_weighted_percentile(&report->free.sizes, 50) < limit)
		return is_scattered ? VERDICT_BOTH : VERDICT_FREE_SPACE;
	if (is_scattered)
		return VERDICT_FILES;
	if (lacks_inodes(report))
		return VERDICT_INODES;
	if (has_much_slack(report) || has_empty_directories(report))
		return VERDICT_WASTE;
	if (is_much(&kinds->sparse, &kinds->all))
		return VERDICT_SPARSE;
	return are_many(&kinds->split, &kinds->all) ? VERDICT_SPLIT : VERDICT_FINE;
}

static void advise(struct report_verdict *verdict, const char *sentence)
{
	if (sentence && verdict->advice_count < sizeof(verdict->advice) / sizeof(*verdict->advice))
		verdict->advice[verdict->advice_count++] = sentence;
}

static void advise_on_damage(const struct report_filesystem *filesystem, struct report_verdict *verdict)
{
	if (filesystem->missing_blocks)
		advise(verdict, "It is cut off: what is missing is left out. Copy the whole of it.");
	else if (filesystem->is_mounted)
		advise(verdict, "It is mounted and changes while it is read: parts could not be read.");
	else
		advise(verdict, "Parts of it cannot be read: run e2fsck first.");
}

/*
 * Whether half of the copies would get longer free extents than the pieces are. The kernel takes long ones first, but
 * not those among many short ones: it chooses groups by their free extents' mean.
 */
static bool has_longer_free_extents(const struct report *report)
{
	const struct report_kind *scattered = &report->files.kinds.scattered;
	uint64_t left = free_blocks(report), pieces = scattered->surplus_runs + scattered->files;

	if (!report->has_free || !left)
		return !report->has_free;
	double share = 50 * (double)least(scattered->blocks, left) / (double)left;
	double percent = share > LEAST_FREE_PERCENT ? share : LEAST_FREE_PERCENT;

	return histogram_weighted_percentile(&report->free.sizes, 100 - percent) * pieces > scattered->blocks;
}

static bool has_room_for_copies(const struct report *report)
{
	const struct report_kinds *kinds = &report->files.kinds;

	return free_blocks(report) * ROOM_SHARE >= kinds->scattered.blocks - kinds->too_large.blocks;
}

/* Advises on scattered files, of which e4defrag handles some, all or none. */
static void advise_on_scattered(const struct report *report, struct report_verdict *verdict)
{
	const struct report_filesystem *filesystem = &report->filesystem;
	const struct report_kinds *kinds = &report->files.kinds;
	uint64_t not_joined = kinds->refused.files + kinds->too_large.files;

	/* The kernel takes the best of the first 200 free extents from the file on. */
	if (verdict->kind == VERDICT_BOTH && not_joined < kinds->scattered.files)
		advise(verdict,
		       "e4defrag on the scattered files (mounted) leaves fewer pieces where longer ones are free "
		       "near a file.");
	else if (!not_joined)
		advise(verdict, "e4defrag on the scattered files (mounted) can join them.");
	else if (not_joined < kinds->scattered.files)
		advise(verdict, "e4defrag on the scattered files (mounted) can join some of them.");
	if (kinds->too_large.files)
		advise(verdict, "e4defrag refuses those that are larger than what is free: free more first.");
	if (!kinds->refused.files)
		return;
	/* Without delayed allocation, which these mounts lack, a copy is allocated block by block, too. */
	if (!filesystem->has_extents) {
		advise(verdict, "Mounted as ext2 or ext3 it puts copies in pieces, too, and e4defrag refuses it.");
		advise(verdict, "Mount it with -t ext4, copy the scattered files, and rename the copies; or make it "
		                "anew (e2populate -d).");
	} else if (filesystem->journals_data) {
		advise(verdict, "Its default mount option data=journal puts files in pieces, and e4defrag refuses it.");
		advise(verdict, "Mount it with data=ordered, and run e4defrag or copy the scattered files.");
	} else if (filesystem->cluster_blocks > 1) {
		advise(verdict,
		       "The kernel moves nothing with bigalloc: copy the scattered files, and rename the copies.");
	} else {
		advise(verdict, kinds->refused.files < kinds->scattered.files ?
		                        "e4defrag refuses some for what they are: copy these, and rename the copies." :
		                        "e4defrag refuses them for what they are: copy them, and rename the copies.");
	}
}

static void advise_on_files(const struct report *report, struct report_verdict *verdict)
{
	if (!has_room_for_copies(report)) {
		advise(verdict,
		       "Too little is free to join more than a few pieces of files: free some space first, or copy "
		       "everything (e2populate -d).");
		return;
	}
	if (!has_longer_free_extents(report)) {
		advise(verdict, "The free space is in pieces as short as theirs: free more first, or copy everything "
		                "(e2populate -d).");
		return;
	}
	if (verdict->kind == VERDICT_BOTH)
		advise(verdict, "Copying everything (e2populate -d) mends both.");
	advise_on_scattered(report, verdict);
}

/* Advises on room, whatever the layout. */
static void advise_on_room(const struct report *report, struct report_verdict *verdict)
{
	if (lacks_inodes(report))
		advise(verdict, report->filesystem.free_inodes ?
		                        "Few inodes are free for so much free space: make it anew with more "
		                        "(e2populate -d, -N or -i), or larger with resize2fs." :
		                        "No inode is free, so no file can be made: make it anew with more "
		                        "(e2populate -d, -N or -i), or larger with resize2fs.");
	if (has_much_slack(report))
		advise(verdict,
		       report->filesystem.cluster_blocks > 1 ?
		               "Files fill little of their clusters: smaller ones (-C), or none (-O ^bigalloc), "
		               "hold them in less." :
		               "Files fill little of their blocks: smaller ones (-b), or -O inline_data, hold them "
		               "in less.");
	if (has_empty_directories(report))
		advise(verdict, "Nearly empty directories keep their blocks: e2fsck -fD (unmounted) shortens them.");
	if (misses_stripes(report))
		advise(verdict,
		       "Few long pieces of files begin at a stripe: is stripe_width (tune2fs -E) that of the RAID?");
}

/* NULL: advise_on_room() says all. */
static const char *help_for(const struct report *report)
{
	static const char *const help[VERDICT_KINDS] = {
		[VERDICT_FINE] = "Nothing needs to be done.",
		[VERDICT_SPLIT] = "Nothing needs to be done: they cost a seek more each.",
		[VERDICT_SPARSE] = "Nothing needs to be done: holes and unwritten parts make the pieces.",
		[VERDICT_FREE_SPACE] = "New files will be in short pieces: free more, or copy everything.",
	};

	if (has_little_free(report))
		return "It is nearly full: new files will be in short pieces. Free some space.";
	return help[report->verdict.kind];
}

/* The score with so many runs less. */
static double score_without(const struct report_sums *sums, uint64_t runs)
{
	uint64_t left = sums->counts.runs > runs ? sums->counts.runs - runs : 0;

	return score_of(left, sums->ideal_extents, sums->counts.blocks);
}

void verdict_predict(struct report *report)
{
	const struct report_files *files = &report->files;
	const struct report_kind *scattered = &files->kinds.scattered;
	struct report_outlook *outlook = report->outlook;
	uint64_t surplus = 0;

	for (size_t n = 0; n < report->worst.count; n++) {
		const struct report_file *file = &report->worst.files[n];

		if (file->kind == FILE_SPARSE)
			continue;
		outlook->worst_files++;
		surplus += file->runs - file->ideal_extents;
	}
	outlook->worst_score = score_without(&files->regular, surplus);
	outlook->scattered_files = scattered->files;
	outlook->scattered_score = score_without(&files->regular, scattered->surplus_runs);
}

void verdict_make(struct report *report)
{
	const struct report_files *files = &report->files;
	struct report_verdict *verdict = &report->verdict;

	*verdict = (struct report_verdict){ .score = files->score, .band = score_band(files->score) };
	if (report->has_free && !has_little_free(report))
		verdict->free_limit_blocks = free_limit(report);
	verdict->kind = decide(report);
	if (!is_whole(report))
		advise_on_damage(&report->filesystem, verdict);
	if (verdict->kind == VERDICT_UNKNOWN)
		return;
	/* The worse findings come first. */
	bool is_laid_out = verdict->kind < VERDICT_FREE_SPACE || verdict->kind == VERDICT_INODES;

	if (is_laid_out)
		advise_on_room(report, verdict);
	if (verdict->kind == VERDICT_FILES || verdict->kind == VERDICT_BOTH)
		advise_on_files(report, verdict);
	else if (verdict->kind >= VERDICT_FREE_SPACE || !verdict->advice_count || has_little_free(report))
		advise(verdict, help_for(report));
	if (!is_laid_out)
		advise_on_room(report, verdict);
	if (files->by_indirect && report->filesystem.has_extents)
		advise(verdict,
		       "Files with indirect maps take fewer blocks once they are copied, or chattr +e is run.");
}
