/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/inode_scan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/report/verdict.h"
#include "analyze/report/verity_gap.h"
#include "image/inode_table.h"
#include "ondisk/inode.h"
#include "support/buffer_size.h"
#include "support/poison.h"
#include "support/vector.h"

#define CHUNK_BYTES                                                                                                    \
	(BUFFER_SIZE(512u, 64u) << 10) /* bytes of an inode table in a task; at least a block of the largest size */

/* Begin and end of files that were read one after the other, or of a large one that is walked later. */
struct scan_segment {
	uint32_t ino; /* the first file's */
	bool is_large;
	bool has_blocks;
	uint64_t first, end; /* physical blocks; valid if has_blocks */
};

struct scan_worker {
	struct directory_walker walker;
	uint8_t *table; /* a piece of an inode table */
	struct report_files files;
	struct report_directories directories_report;
	struct worst_files worst;
	struct largest_inodes preallocated, nearly_empty;
	struct damage_list damage;
	uint32_t *directories;
	size_t directory_count, directory_capacity;
	struct scan_segment *segments;
	size_t segment_count, segment_capacity;
	bool is_in_segment; /* the next file extends the last segment; false at a task's start */
};

/* One call of inode_scan_run(). */
struct scan_run {
	struct inode_scan *scan;
	unsigned int parts;
	const struct inode_visitor *visitors;
	size_t visitor_count;
	struct scan_worker *workers;
	uint32_t chunk_blocks;
	uint32_t chunks_per_group;
	struct scan_segment *segments; /* of all workers, by inode, for the second step */
	size_t segment_count;
	uint32_t *large; /* indexes of segments whose files are walked later */
	size_t large_count;
};

/* The walk over one file's map. */
struct file_walk {
	const struct scan_run *run;
	struct histogram *sizes;
	bool is_visited;
	unsigned int worker;
	uint32_t ino;
	struct verity_gap gap;
	uint64_t clusters, next_cluster; /* in the file, of the records so far */
	bool is_indirect;
	struct file_layout layout;
	struct map_shape shape;
};

/* Records of one cluster are neighbours. */
static void count_clusters(struct file_walk *walk, const struct map_record *record)
{
	const unsigned int bits = walk->run->scan->volume->format.cluster_bits;
	uint64_t first = record->logical >> bits, end = ((record->logical + record->count - 1) >> bits) + 1;

	walk->clusters += end - (first < walk->next_cluster ? walk->next_cluster : first);
	walk->next_cluster = end;
}

/* Returns how many logical blocks before `logical` are the first of a block of an indirect map. */
static uint64_t borders_before(uint64_t logical, uint32_t block_bytes)
{
	return logical > EXT2_NDIR_BLOCKS ? (logical - 1 - EXT2_NDIR_BLOCKS) / (block_bytes / sizeof(uint32_t)) + 1 : 0;
}

static uint64_t borders_within(const struct map_record *record, uint32_t block_bytes)
{
	return borders_before(record->logical + record->count, block_bytes) -
	       borders_before(record->logical + 1, block_bytes);
}

static void count_stripes(struct report_files *files, const struct report_filesystem *filesystem,
                          const struct map_record *record)
{
	if (!filesystem->stripe_blocks || record->count < filesystem->stripe_blocks)
		return;
	files->stripe_pieces++;
	files->stripe_beginning += record->physical % filesystem->stripe_blocks == 0;
}

static bool see_record(void *context, const struct map_record *record)
{
	struct file_walk *walk = context;
	const struct map_record shown = verity_gap_close(&walk->gap, record);

	layout_add(&walk->layout, &shown, walk->run->scan->far_blocks, walk->sizes);
	count_clusters(walk, record);
	if (walk->is_indirect)
		walk->run->workers[walk->worker].files.map_borders +=
			borders_within(record, walk->run->scan->report->filesystem.block_bytes);
	if (walk->is_visited)
		count_stripes(&walk->run->workers[walk->worker].files, &walk->run->scan->report->filesystem, record);
	for (size_t n = 0; walk->is_visited && n < walk->run->visitor_count; n++) {
		const struct inode_visitor *visitor = &walk->run->visitors[n];

		if (visitor->record)
			visitor->record(visitor->context, walk->worker, walk->ino, record);
	}
	return true;
}

/* Returns how many extents would be ideal. */
static uint64_t add_to_sums(const struct scan_run *run, struct report_sums *sums, const struct file_layout *layout,
                            const struct map_shape *shape)
{
	uint64_t ideal = score_ideal(layout->counts.blocks, run->scan->report->filesystem.span_blocks);

	counts_add(&sums->counts, &layout->counts, sizeof(sums->counts));
	sums->files += !!layout->counts.blocks;
	sums->ideal_extents += ideal;
	sums->map_blocks += shape->blocks;
	sums->fragmented_files += layout->counts.extents > ideal;
	return ideal;
}

/* Blocks that are preallocated are no slack: they wait for data. */
static void add_room(const struct scan_run *run, struct scan_worker *worker, const struct inode_view *inode,
                     const struct file_walk *walk)
{
	const struct report_filesystem *filesystem = &run->scan->report->filesystem;
	uint64_t owned = walk->clusters * filesystem->cluster_blocks;
	uint64_t unwritten = walk->layout.counts.unwritten_blocks;
	uint64_t bytes = (owned > unwritten ? owned - unwritten : 0) * filesystem->block_bytes;

	worker->files.owned_blocks += owned;
	worker->files.slack_bytes += bytes > inode->size_bytes ? bytes - inode->size_bytes : 0;
	if (unwritten)
		largest_add(&worker->preallocated, walk->ino, unwritten, 0);
}

static errcode_t add_regular(const struct scan_run *run, unsigned int index, uint32_t ino,
                             const struct inode_view *inode, const struct file_walk *walk)
{
	const struct file_layout *layout = &walk->layout;
	struct report_files *files = &run->workers[index].files;

	if (!layout->counts.blocks) {
		files->empty++;
		return 0;
	}
	uint64_t ideal = add_to_sums(run, &files->regular, layout, &walk->shape);

	add_room(run, &run->workers[index], inode, walk);
	enum file_kind kind = verdict_decide(
		&files->kinds, layout, walk->shape.blocks, ideal,
		verdict_obstacle(run->scan->report, inode->flags, inode->size_bytes, layout->counts.blocks),
		run->scan->report->filesystem.block_bytes);
	histogram_add(&files->extents_per_file, layout->counts.extents);
	if (inode->flags & EXT4_EXTENTS_FL) {
		files->by_extents++;
		if (walk->shape.depth > files->largest_depth)
			files->largest_depth = walk->shape.depth;
	} else {
		files->by_indirect++;
	}
	for (size_t n = 0; n < run->visitor_count; n++)
		run->visitors[n].file(run->visitors[n].context, index, ino, run->scan->parents[ino], layout);
	return worst_add(&run->workers[index].worst, &(struct report_file){
							     .ino = ino,
							     .blocks = layout->counts.blocks,
							     .extents = layout->counts.extents,
							     .runs = layout->counts.runs,
							     .records = layout->counts.records,
							     .ideal_extents = ideal,
							     .size_bytes = inode->size_bytes,
							     .kind = kind,
						     });
}

/* Walks a regular file. *segment gets its begin and end, if it has blocks. */
static errcode_t walk_regular(const struct scan_run *run, unsigned int index, uint32_t ino,
                              const struct inode_view *inode, struct scan_segment *segment)
{
	struct scan_worker *worker = &run->workers[index];
	struct file_walk walk = {
		.run = run,
		.sizes = &worker->files.extent_blocks,
		.is_visited = true,
		.is_indirect = !(inode->flags & EXT4_EXTENTS_FL),
		.worker = index,
		.ino = ino,
		.gap = verity_gap_of(inode, run->scan->volume->format.block_bits),
	};

	map_walk(&worker->walker.map, ino, inode, see_record, &walk, &walk.shape);
	layout_end(&walk.layout, walk.sizes);
	if (walk.shape.is_left_out)
		__atomic_add_fetch(&run->scan->report->quick.files, 1, __ATOMIC_RELAXED);
	*segment = (struct scan_segment){
		.ino = ino,
		.has_blocks = walk.layout.counts.blocks,
		.first = walk.layout.first_physical,
		.end = walk.layout.last.physical + walk.layout.last.count,
	};
	/* A file that is left out entirely may be empty or not. */
	return walk.shape.is_left_out && !walk.layout.counts.blocks ? 0 : add_regular(run, index, ino, inode, &walk);
}

static void walk_other(const struct scan_run *run, unsigned int index, uint32_t ino, const struct inode_view *inode,
                       struct report_sums *sums)
{
	struct file_walk walk = { .run = run, .ino = ino };

	map_walk(&run->workers[index].walker.map, ino, inode, see_record, &walk, &walk.shape);
	add_to_sums(run, sums, &walk.layout, &walk.shape);
}

/* Adds the next file: counts the step to it, or begins a segment with it. */
static errcode_t add_segment(const struct scan_run *run, struct scan_worker *worker, const struct scan_segment *segment)
{
	if (worker->is_in_segment && !segment->is_large) {
		struct scan_segment *last = &worker->segments[worker->segment_count - 1];

		seek_count(&worker->files.between, last->end, segment->first, run->scan->far_blocks);
		last->end = segment->end;
		return 0;
	}
	worker->is_in_segment = !segment->is_large;
	return vector_add(&worker->segments, &worker->segment_count, &worker->segment_capacity, segment,
	                  sizeof(*segment));
}

static errcode_t read_regular(const struct scan_run *run, unsigned int index, uint32_t ino,
                              const struct inode_view *inode)
{
	struct scan_worker *worker = &run->workers[index];
	struct scan_segment segment;

	if (inode->flags & EXT4_EA_INODE_FL) {
		walk_other(run, index, ino, inode, &worker->files.xattr_values);
		return 0;
	}
	if (inode->flags & EXT4_INLINE_DATA_FL) {
		worker->files.inline_data++;
		return 0;
	}
	/* A few large files may be most of the work, and lie in one chunk, so they become tasks of their own. */
	if (map_is_large(inode))
		return add_segment(run, worker, &(struct scan_segment){ .ino = ino, .is_large = true });
	errcode_t error = walk_regular(run, index, ino, inode, &segment);

	if (!error && segment.has_blocks)
		error = add_segment(run, worker, &segment);
	return error;
}

/* The least bytes of an entry on disk. */
#define DIRECTORY_ENTRY_BYTES(name_bytes) ((8u + (name_bytes) + 3u) & ~3u)

/* The walk over one directory. */
struct parent_finder {
	const struct inode_scan *scan;
	uint32_t directory;
	uint64_t entry_bytes;      /* that its names take at least */
	struct file_layout layout; /* of the directory itself */
};

static bool add_own_record(void *context, const struct map_record *record)
{
	struct parent_finder *finder = context;

	layout_add(&finder->layout, record, finder->scan->far_blocks, NULL);
	return true;
}

/* If several directories name an inode, the lowest number is kept, in any order of the workers. */
static void note_parent(void *context, const struct directory_entry *entry)
{
	struct parent_finder *finder = context;

	finder->entry_bytes += DIRECTORY_ENTRY_BYTES(entry->name_bytes);
	if (entry->ino > finder->scan->volume->inodes)
		return;
	uint32_t *parent = &finder->scan->parents[entry->ino];
	uint32_t known = __atomic_load_n(parent, __ATOMIC_RELAXED);

	while (!known || finder->directory < known)
		if (__atomic_compare_exchange_n(parent, &known, finder->directory, true, __ATOMIC_RELAXED,
		                                __ATOMIC_RELAXED))
			return;
}

static errcode_t read_directory(const struct scan_run *run, unsigned int index, uint32_t ino, const void *raw,
                                const struct inode_view *inode)
{
	struct scan_worker *worker = &run->workers[index];
	struct report_directories *report = &worker->directories_report;
	struct parent_finder finder = { .scan = run->scan, .directory = ino };
	const struct directory_visitor visitor = { note_parent, add_own_record, &finder };
	struct directory_shape shape;
	errcode_t error = vector_add(&worker->directories, &worker->directory_count, &worker->directory_capacity, &ino,
	                             sizeof(ino));

	if (error)
		return error;
	directory_walk(&worker->walker, ino, raw, inode, &visitor, &shape);
	report->count++;
	report->entries += shape.entries;
	if (shape.is_inline)
		report->inline_data++;
	else if (shape.is_indexed)
		report->indexed[shape.index_levels]++;
	else
		report->linear++;
	histogram_add(&report->blocks_per_directory, finder.layout.counts.blocks);
	if (verdict_is_nearly_empty(finder.layout.counts.blocks, run->scan->report->filesystem.block_bytes,
	                            finder.entry_bytes)) {
		report->nearly_empty++;
		report->nearly_empty_blocks += finder.layout.counts.blocks;
		largest_add(&worker->nearly_empty, ino, finder.layout.counts.blocks, shape.entries);
	}
	add_to_sums(run, &report->sums, &finder.layout, &shape.map);
	return 0;
}

static errcode_t read_inode(const struct scan_run *run, unsigned int index, uint32_t ino, const void *raw)
{
	struct report_files *files = &run->workers[index].files;
	struct inode_view inode;

	inode_view_read(&run->scan->volume->format, raw, &inode);
	if (!inode.links || volume_owns_inode(run->scan->volume, ino))
		return 0;
	if (S_ISDIR(inode.mode) && (run->parts & INODE_SCAN_DIRECTORIES)) {
		errcode_t error = read_directory(run, index, ino, raw, &inode);

		if (error)
			return error;
	}
	if (!(run->parts & INODE_SCAN_FILES))
		return 0;
	files->inodes++;
	files->xattr_blocks += !!inode.xattr_block;
	if (S_ISREG(inode.mode))
		return read_regular(run, index, ino, &inode);
	if (S_ISLNK(inode.mode) && inode.size_bytes > INODE_FAST_SYMLINK_BYTES && !(inode.flags & EXT4_INLINE_DATA_FL))
		walk_other(run, index, ino, &inode, &files->symlinks);
	return 0;
}

/* If directories and files are read in two passes, the table is read twice, but counts once as damage. */
static void lose_table(const struct scan_run *run, struct scan_worker *worker, uint32_t ino, uint64_t block)
{
	if (!(run->parts & INODE_SCAN_FILES))
		return;
	damage_add(&worker->damage, ino, block, "inode table");
	inode_counts_leave_out(&run->scan->counts, (ino - 1) / run->scan->volume->geometry.inodes_per_group);
}

struct table_piece {
	const struct scan_run *run;
	struct scan_worker *worker;
};

static void lose_block(void *context, uint32_t ino, uint64_t block)
{
	const struct table_piece *piece = context;

	lose_table(piece->run, piece->worker, ino, block);
}

/* Asks for read-ahead of the first blocks of a directory whose few extents are all in its inode. */
static void expect_entries(const struct volume *volume, const struct inode_view *inode)
{
	struct extent_node root;

	if (!(inode->flags & EXT4_EXTENTS_FL) || !extent_node_read(inode->root, INODE_ROOT_BYTES, &root) || root.depth)
		return;
	for (unsigned int n = 0; n < root.count; n++) {
		struct extent_node_leaf leaf = extent_node_leaf(&root, n);

		if (volume_has_blocks(volume, leaf.physical, leaf.count))
			volume_expect(volume, leaf.physical, leaf.count < 16 ? leaf.count : 16);
	}
}

/* Lets the system read ahead, in parallel, the blocks that the walks over these inodes will need. */
static void expect_maps(const struct scan_run *run, const struct scan_worker *worker, uint32_t inodes)
{
	const struct volume *volume = run->scan->volume;
	bool with_directories = run->parts & INODE_SCAN_DIRECTORIES;

	for (uint32_t n = 0; n < inodes; n++) {
		struct inode_view inode;
		uint64_t blocks[4];

		inode_view_read(&volume->format, worker->table + (size_t)n * volume->format.inode_bytes, &inode);
		if (!inode.links || (!S_ISREG(inode.mode) && !(S_ISDIR(inode.mode) && with_directories)) ||
		    (inode.flags & EXT4_INLINE_DATA_FL))
			continue;
		unsigned int count = map_first_blocks(volume, &inode, blocks);

		if (S_ISDIR(inode.mode))
			expect_entries(volume, &inode);
		for (unsigned int child = 0; child < count; child++)
			volume_expect(volume, blocks[child], 1);
	}
}

static errcode_t scan_chunk(void *context, unsigned int index, size_t task, struct problem *problem UNUSED)
{
	const struct scan_run *run = context;
	const struct volume *volume = run->scan->volume;
	struct scan_worker *worker = &run->workers[index];
	size_t chunk = volume_spread(volume, task, (size_t)volume->geometry.groups * run->chunks_per_group);
	uint32_t group = (uint32_t)(chunk / run->chunks_per_group);
	uint32_t first_block = (uint32_t)(chunk % run->chunks_per_group) * run->chunk_blocks;
	uint32_t per_block = volume->format.block_bytes / volume->format.inode_bytes;
	uint32_t used = volume->group[group].inodes_used, first = first_block * per_block;
	uint32_t first_ino = group * volume->geometry.inodes_per_group + first + 1;

	if (used <= first)
		return 0;
	if (!volume->group[group].inode_table) {
		lose_table(run, worker, first_ino, 0);
		return 0;
	}
	uint32_t blocks = (used - first + per_block - 1) / per_block;

	blocks = blocks < run->chunk_blocks ? blocks : run->chunk_blocks;
	uint32_t inodes = used - first < blocks * per_block ? used - first : blocks * per_block;

	if (volume_is_spent(volume)) {
		__atomic_add_fetch(&run->scan->report->quick.inodes, inodes, __ATOMIC_RELAXED);
		inode_counts_leave_out(&run->scan->counts, group);
		return 0;
	}
	inode_table_read(volume, first_ino, volume->group[group].inode_table + first_block, blocks, worker->table,
	                 lose_block, &(struct table_piece){ run, worker });
	expect_maps(run, worker, inodes);
	if (run->parts & INODE_SCAN_FILES)
		inode_counts_add(&run->scan->counts, volume, first_ino, worker->table, inodes);
	progress_add(run->scan->progress, 0, inodes);
	worker->is_in_segment = false;
	errcode_t error = 0;

	for (uint32_t n = 0; n < inodes && !error; n++) {
		const uint8_t *raw = worker->table + (size_t)n * volume->format.inode_bytes;

		poison_hide_others(worker->table, (size_t)blocks << volume->format.block_bits, raw,
		                   volume->format.inode_bytes);
		error = read_inode(run, index, first_ino + n, raw);
	}
	poison_show(worker->table, CHUNK_BYTES);
	return error;
}

static errcode_t scan_large(void *context, unsigned int index, size_t task, struct problem *problem UNUSED)
{
	const struct scan_run *run = context;
	struct scan_segment *segment = &run->segments[run->large[task]];
	struct scan_worker *worker = &run->workers[index];
	struct inode_view inode;
	uint32_t ino = segment->ino;

	if (volume_is_spent(run->scan->volume)) {
		__atomic_add_fetch(&run->scan->report->quick.files, 1, __ATOMIC_RELAXED);
		return 0;
	}
	errcode_t error = volume_read_inode(run->scan->volume, ino, worker->table, &inode);
	if (error == ENOMEM)
		return error;
	if (error) {
		damage_add(&worker->damage, ino, 0, "inode table");
		return 0;
	}
	return walk_regular(run, index, ino, &inode, segment);
}

static int by_ino(const void *left, const void *right)
{
	const struct scan_segment *a = left, *b = right;

	return (a->ino > b->ino) - (a->ino < b->ino);
}

/* Gathers all workers' segments in order, and lists the large files. */
static errcode_t gather_segments(struct scan_run *run, unsigned int workers)
{
	size_t count = 0;

	for (unsigned int index = 0; index < workers; index++)
		count += run->workers[index].segment_count;
	run->segments = malloc((count + 1) * sizeof(*run->segments));
	run->large = malloc((count + 1) * sizeof(*run->large));
	if (!run->segments || !run->large)
		return ENOMEM;
	for (unsigned int index = 0; index < workers; index++) {
		const struct scan_worker *worker = &run->workers[index];

		if (worker->segment_count)
			memcpy(run->segments + run->segment_count, worker->segments,
			       worker->segment_count * sizeof(*run->segments));
		run->segment_count += worker->segment_count;
	}
	qsort(run->segments, count, sizeof(*run->segments), by_ino);
	for (size_t n = 0; n < count; n++)
		if (run->segments[n].is_large)
			run->large[run->large_count++] = (uint32_t)n;
	return 0;
}

/* Counts the steps between files of different segments. */
static void join_segments(const struct scan_run *run)
{
	const struct scan_segment *last = NULL;

	for (size_t n = 0; n < run->segment_count; n++) {
		const struct scan_segment *segment = &run->segments[n];

		if (!segment->has_blocks)
			continue;
		if (last)
			seek_count(&run->scan->report->files.between, last->end, segment->first, run->scan->far_blocks);
		last = segment;
	}
}

static errcode_t merge_worker(struct inode_scan *scan, const struct scan_worker *worker)
{
	struct report_files *files = &scan->report->files;
	struct report_directories *directories = &scan->report->directories;

	counts_add(files, &worker->files, offsetof(struct report_files, largest_depth));
	if (worker->files.largest_depth > files->largest_depth)
		files->largest_depth = worker->files.largest_depth;
	histogram_merge(&files->extents_per_file, &worker->files.extents_per_file);
	histogram_merge(&files->extent_blocks, &worker->files.extent_blocks);
	counts_add(directories, &worker->directories_report, offsetof(struct report_directories, blocks_per_directory));
	histogram_merge(&directories->blocks_per_directory, &worker->directories_report.blocks_per_directory);
	largest_merge(&scan->report->preallocated, &worker->preallocated);
	largest_merge(&scan->report->nearly_empty, &worker->nearly_empty);
	damage_merge(&scan->damage, &worker->damage);
	for (size_t n = 0; n < worker->worst.count; n++) {
		errcode_t error = worst_add(&scan->report->worst, &worker->worst.files[n]);

		if (error)
			return error;
	}
	if (!worker->directory_count)
		return 0;
	uint32_t *more = realloc(scan->directories,
	                         (scan->directory_count + worker->directory_count) * sizeof(*scan->directories));

	if (!more)
		return ENOMEM;
	memcpy(more + scan->directory_count, worker->directories, worker->directory_count * sizeof(*more));
	scan->directories = more;
	scan->directory_count += worker->directory_count;
	return 0;
}

static errcode_t open_worker(struct inode_scan *scan, struct scan_worker *worker)
{
	worker->worst = (struct worst_files){
		.limit = scan->report->worst.limit,
		.is_of_one_kind = scan->report->worst.is_of_one_kind,
		.kind = scan->report->worst.kind,
	};
	worker->table = malloc(CHUNK_BYTES);
	if (!worker->table)
		return ENOMEM;
	return directory_walker_open(scan->volume, damage_list_listener(&worker->damage), &scan->map_blocks_read,
	                             &scan->directory_blocks_read, &worker->walker);
}

static void close_worker(struct scan_worker *worker)
{
	directory_walker_close(&worker->walker);
	free(worker->table);
	free(worker->worst.files);
	free(worker->directories);
	free(worker->segments);
}

static errcode_t run_steps(struct scan_run *run)
{
	struct inode_scan *scan = run->scan;
	unsigned int workers = pool_workers(scan->pool);
	size_t tasks = (size_t)scan->volume->geometry.groups * run->chunks_per_group;
	errcode_t error = 0;

	for (unsigned int index = 0; index < workers && !error; index++)
		error = open_worker(scan, &run->workers[index]);
	if (!error)
		error = pool_run(scan->pool, tasks, scan_chunk, run, NULL);
	if (!error)
		error = gather_segments(run, workers);
	if (!error)
		error = pool_run(scan->pool, run->large_count, scan_large, run, NULL);
	for (unsigned int index = 0; index < workers && !error; index++)
		error = merge_worker(scan, &run->workers[index]);
	if (!error)
		join_segments(run);
	return error;
}

static int by_number(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

errcode_t inode_scan_run(struct inode_scan *scan, unsigned int parts, const struct inode_visitor *visitors,
                         size_t visitor_count)
{
	const struct volume *volume = scan->volume;
	unsigned int workers = pool_workers(scan->pool);
	SCOPE_FREE struct scan_worker *each = calloc(workers, sizeof(*each));
	uint32_t chunk_blocks = CHUNK_BYTES >> volume->format.block_bits;
	struct scan_run run = {
		.scan = scan,
		.parts = parts,
		.visitors = visitors,
		.visitor_count = visitor_count,
		.workers = each,
		.chunk_blocks = chunk_blocks,
		.chunks_per_group = (volume->inode_table_blocks + chunk_blocks - 1) / chunk_blocks,
	};

	if (!each)
		return ENOMEM;
	errcode_t error = run_steps(&run);

	for (unsigned int index = 0; index < workers; index++)
		close_worker(&each[index]);
	free(run.segments);
	free(run.large);
	if (error)
		return error;
	if ((parts & INODE_SCAN_DIRECTORIES) && scan->directory_count)
		qsort(scan->directories, scan->directory_count, sizeof(*scan->directories), by_number);
	if (parts & INODE_SCAN_FILES)
		inode_counts_compare(&scan->counts, volume, &scan->damage);
	struct report_files *files = &scan->report->files;
	const struct report_sums *regular = &files->regular;

	worst_sort(&scan->report->worst);
	files->ratio = score_ratio(regular->counts.runs, regular->ideal_extents, regular->counts.blocks);
	files->score = score_of(regular->counts.runs, regular->ideal_extents, regular->counts.blocks);
	return 0;
}

errcode_t inode_scan_open(const struct volume *volume, struct pool *pool, struct progress *progress,
                          struct report *report, struct inode_scan *scan)
{
	*scan = (struct inode_scan){
		.volume = volume,
		.pool = pool,
		.progress = progress,
		.report = report,
		.far_blocks = (uint64_t)volume->geometry.clusters_per_group << volume->geometry.cluster_bits,
		.parents = calloc((size_t)volume->inodes + 1, sizeof(*scan->parents)),
	};
	errcode_t error = scan->parents ? inode_counts_open(volume, &scan->counts) : ENOMEM;

	if (error)
		free(scan->parents);
	return error;
}

void inode_scan_close(struct inode_scan *scan)
{
	free(scan->parents);
	free(scan->directories);
	inode_counts_close(&scan->counts);
}

size_t inode_scan_place(const struct inode_scan *scan, uint32_t ino)
{
	const uint32_t *found = scan->directory_count ? bsearch(&ino, scan->directories, scan->directory_count,
	                                                        sizeof(ino), by_number) :
	                                                NULL;

	return found ? (size_t)(found - scan->directories) : SIZE_MAX;
}
