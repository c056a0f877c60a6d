/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/size/size.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/format/likeness.h"
#include "populate/format/mke2fs.h"
#include "populate/plan/base_image.h"
#include "populate/size/default_blocks.h"
#include "populate/size/size_trial.h"
#include "support/text/units.h"

/*
 * A search takes four to eight rounds, and at most twice as many rounds as this. Each may run mke2fs(8) more than once:
 * size_try() says when. Options with which the spare room grows in steps need more rounds.
 */
#define MOST_ROUNDS 64

/* The first guess is nearly always large enough. If no size is, this ends the search soon. */
#define MOST_GROWING 16

/* More than the 10240000 blocks of 64 KiB that mke2fs allows. */
#define MOST_JOURNAL_MIB (1u << 20)

/* Sizes are in KiB, the unit that mke2fs gets. */
struct size_search {
	struct sizing *sizing;
	struct problem *problem;
	uint64_t too_small, enough;     /* bounds of the answer; 0: not known yet */
	uint64_t asked;                 /* the size for which mke2fs made a filesystem of `enough` */
	uint64_t enough_journal_blocks; /* of the journal that mke2fs made for size `enough` */
	bool wants_journal;             /* a large enough filesystem has a journal */
	uint64_t kib, last_kib;         /* the size that was judged, and the previous one; 0: none */
	double spare_kib, last_spare_kib;
	bool refused; /* mke2fs refused kib */
};

static uint64_t block_kib(const struct sizing *sizing)
{
	return sizing->room.format.block_bytes / 1024;
}

static uint64_t cluster_kib(const struct sizing *sizing)
{
	return block_kib(sizing) << sizing->room.format.cluster_bits;
}

static void size_text(uint64_t kib, char text[32])
{
	snprintf(text, 32, "%" PRIu64 "K", kib);
}

static errcode_t too_few_inodes(const struct sizing *sizing, struct problem *problem)
{
	return problem_set_reason(problem, EXT2MB_ET_NO_SPACE, sizing->plan->options->image, "the source does not fit",
	                          "it needs %" PRIu64 " more inodes; there must be at least %" PRIu64,
	                          size_missing_inodes(sizing), size_exact_inodes(sizing, size_made_bytes(sizing)));
}

/*
 * mke2fs gives small filesystems small blocks, which may be too small for a symlink, a set of xattrs or a sparse file.
 * Then we ask for the usual block size.
 */
static bool wants_usual_blocks(const struct sizing *sizing, errcode_t error)
{
	return (error == ENAMETOOLONG || error == E2BIG || error == EFBIG) &&
	       !sizing->plan->options->block_size_given && !sizing->plan->source->encrypted.first_node &&
	       sizing->room.format.block_bytes < DEFAULT_BLOCK_BYTES;
}

/*
 * Judges whether search->kib is enough. Once mke2fs has accepted a larger size, a size that it refuses is too small. So
 * is a size for which it leaves out the journal that larger ones have.
 */
static errcode_t judge(struct size_search *search)
{
	struct sizing *sizing = search->sizing;
	struct problem attempt = { 0 };
	char size[32];

	size_text(search->kib, size);
	/* With a percentage more is left free in a larger filesystem. */
	if (sizing->bytes_per_inode && sizing->plan->options->free_percent)
		sizing->base_inodes = size_exact_inodes(sizing, search->kib * 1024);
	errcode_t error = size_try(sizing, size, &attempt);
	if (!error && size_missing_inodes(sizing))
		return too_few_inodes(sizing, search->problem);
	search->refused = error || (search->enough && search->wants_journal && !sizing->room.journal_blocks);
	if (error && (!search->enough || !size_is_refused(error) || wants_usual_blocks(sizing, error))) {
		problem_move(search->problem, &attempt);
		return error;
	}
	problem_clear(&attempt);
	if (search->refused) {
		search->spare_kib = -1;
		search->too_small = search->kib;
		return 0;
	}
	search->spare_kib = (double)size_spare_blocks(sizing) * (double)block_kib(sizing);
	if (search->spare_kib < 0) {
		search->too_small = search->kib;
		return 0;
	}
	/* mke2fs leaves out a last group that would hold only its own metadata. */
	uint64_t made_kib = sizing->room.blocks * block_kib(sizing);

	search->enough = made_kib < search->kib ? made_kib : search->kib;
	search->asked = search->kib;
	search->enough_journal_blocks = sizing->room.journal_blocks;
	return 0;
}

/* Returns the bytes of files that are not sparse. */
static uint64_t content_bytes(const struct tree *tree)
{
	uint64_t bytes = 0;

	for (uint32_t node = 0; node < tree->node_count; node++) {
		if (S_ISREG(tree->nodes[node].mode) && !tree->nodes[node].is_sparse && !tree_node_is_link(tree, node))
			bytes += tree->nodes[node].size_bytes;
	}
	return bytes;
}

/* The size of the journal that -J names; 0: none, or mke2fs will refuse it. */
static uint64_t asked_journal_bytes(const struct populate_options *options)
{
	const char *word = mke2fs_argument(options, "-J");
	uint64_t mib = 0;

	for (; word; word = strchr(word, ',')) {
		word += *word == ',';
		if (sscanf(word, "size=%" SCNu64, &mib) == 1)
			break;
	}
	return mib < MOST_JOURNAL_MIB ? mib << 20 : 0;
}

/* Returns a first size that is surely large enough, to see how this mke2fs formats it. */
static uint64_t first_guess_kib(const struct sizing *sizing)
{
	const struct populate_options *options = sizing->plan->options;
	const struct tree *tree = sizing->plan->source->tree;
	const struct likeness *like = &sizing->plan->source->like;
	uint64_t bytes = content_bytes(tree) + options->free_bytes + options->free_inodes * 256;

	/* mke2fs refuses a journal that takes more than half of the filesystem. */
	bytes += 2 * like->journal_blocks << (like->super.s_log_block_size + EXT2_MIN_BLOCK_LOG_SIZE);

	/* This counts a block and an inode for each node, and one and a half times the largest journal. */
	uint64_t kib = (bytes + bytes / 16) / 1024 + 8ull * tree->node_count + 65536;

	kib = kib / (100 - options->free_percent) * 100;
	const uint64_t journal_kib = 2 * asked_journal_bytes(options) / 1024;

	return kib < journal_kib ? kib + journal_kib : kib;
}

/*
 * Returns the next size to try: the size at which a line through the last two says that nothing is left over, but
 * between the bounds. (The loss to metadata is nearly linear.) Returns 0 if the smallest size is found.
 */
static uint64_t next_guess_kib(const struct size_search *search)
{
	uint64_t step = cluster_kib(search->sizing);
	double gain = 1; /* spare KiB for each KiB more */

	if (search->enough && search->enough - search->too_small <= step)
		return 0;
	if (search->enough && search->spare_kib == 0)
		return search->enough - step;
	if (search->last_kib && search->last_kib != search->kib && !search->refused)
		gain = (search->spare_kib - search->last_spare_kib) / ((double)search->kib - (double)search->last_kib);
	if (gain < 0.01 || gain > 1)
		gain = 1;
	double guess = (double)search->kib - search->spare_kib / gain;
	uint64_t middle = search->too_small + (search->enough - search->too_small) / 2;
	/* The guess is rounded up; it is 0 if it is below 1. */
	uint64_t kib = guess < 1 ? 0 : ((uint64_t)guess + step - 1) / step * step;

	if (!search->enough)
		return kib;
	if (kib <= search->too_small || kib >= search->enough || search->refused)
		kib = (middle + step - 1) / step * step;
	return kib < search->enough ? kib : search->enough - step;
}

static errcode_t narrow(struct size_search *search)
{
	for (int round = 0; round < (search->enough ? MOST_ROUNDS : MOST_GROWING) && search->kib; round++) {
		bool is_first = !search->enough;
		errcode_t error = judge(search);

		if (error)
			return error;
		if (is_first && search->enough) {
			search->wants_journal = search->sizing->room.journal_blocks;
			if (size_chooses_inodes(search->sizing))
				search->sizing->base_inodes =
					size_exact_inodes(search->sizing, size_made_bytes(search->sizing));
		}
		uint64_t next = next_guess_kib(search);

		search->last_kib = search->kib;
		search->last_spare_kib = search->spare_kib;
		search->kib = next;
	}
	return 0;
}

/*
 * A slightly smaller filesystem may get a journal of half or a quarter of the size, and so have enough room after all:
 * where mke2fs's journal sizes change, the spare room falls although the size grows.
 */
static errcode_t try_smaller_journals(struct size_search *search)
{
	for (unsigned int quarters = 3; quarters >= 2; quarters--) {
		uint64_t saved_kib = search->enough_journal_blocks * quarters / 4 * block_kib(search->sizing);
		uint64_t before = search->enough;

		if (!saved_kib || saved_kib >= search->enough)
			continue;
		search->kib = (search->enough - saved_kib) / cluster_kib(search->sizing) * cluster_kib(search->sizing);
		search->last_kib = 0;
		search->too_small = 0;
		errcode_t error = judge(search);
		if (error)
			return error;
		if (search->enough == before)
			continue;
		search->too_small = 0;
		return narrow(search);
	}
	return 0;
}

/* The smallest size that is enough, with the inodes that are known to be left for the free space. */
static errcode_t search_with_inodes(struct sizing *sizing, uint64_t *kib, struct problem *problem)
{
	struct size_search search = { .sizing = sizing, .problem = problem, .kib = first_guess_kib(sizing) };

	sizing->base_inodes = size_chooses_inodes(sizing) ? size_exact_inodes(sizing, search.kib * 1024) : 0;
	errcode_t error = narrow(&search);

	if (!error && search.enough)
		error = try_smaller_journals(&search);
	if (error)
		return error;
	if (!search.enough)
		return problem_set_reason(problem, EXT2MB_ET_NO_SPACE, sizing->plan->options->image,
		                          "the source does not fit", "no size leaves as much free as --free says");
	search.kib = search.enough;
	error = judge(&search);
	/* Without the last group that mke2fs leaves out it may divide inodes among groups in another way. */
	if (!error && search.too_small == search.kib) {
		search.kib = search.asked;
		error = judge(&search);
	}
	*kib = search.kib;
	return error;
}

/*
 * Finds the smallest size that is enough, with the block size that is chosen. The last filesystem made has that size.
 * mke2fs gives small filesystems more inodes for the same space: so the size found is asked about as well as the first
 * one.
 */
static errcode_t search_smallest(struct sizing *sizing, uint64_t *kib, struct problem *problem)
{
	struct problem attempt = { 0 };
	char size[32];
	errcode_t error;

	if (!size_frees_inodes(sizing))
		return search_with_inodes(sizing, kib, problem);
	size_text(first_guess_kib(sizing), size);
	error = size_learn_inodes(sizing, size, problem);
	const uint64_t before = sizing->bytes_per_inode;

	if (error)
		return error;
	error = search_with_inodes(sizing, kib, &attempt);
	/* A percentage may leave no space for their tables. */
	if (error == EXT2MB_ET_NO_SPACE) {
		problem_clear(&attempt);
		sizing->bytes_per_inode = 0;
		return search_with_inodes(sizing, kib, problem);
	}
	if (error) {
		problem_move(problem, &attempt);
		return error;
	}
	size_text(*kib, size);
	error = size_learn_inodes(sizing, size, problem);
	if (error)
		return error;
	/* mke2fs rounds the numbers of inodes; its ratios are powers of two. */
	if (sizing->bytes_per_inode < before / 3 * 2 || sizing->bytes_per_inode > before / 2 * 3)
		return search_with_inodes(sizing, kib, problem);
	sizing->bytes_per_inode = before;
	return size_try(sizing, size, problem);
}

/* True if everything could fit a filesystem that is too small for the default blocks. */
static bool may_be_small(const struct plan *plan)
{
	return content_bytes(plan->source->tree) + (uint64_t)plan->source->inode_count * EXT2_GOOD_OLD_INODE_SIZE <
	       DEFAULT_BLOCKS_LEAST_KIB * 1024;
}

/* Finds the smallest size if the block size depends on the size. */
static errcode_t find_smallest(struct sizing *sizing, uint64_t *kib, struct problem *problem)
{
	struct problem attempt = { 0 };
	char size[32];
	errcode_t error;

	if (!sizing->wants_default_blocks)
		return search_smallest(sizing, kib, problem);
	if (!sizing->run.block_bytes && may_be_small(sizing->plan)) {
		error = search_smallest(sizing, kib, &attempt);
		if (!error && *kib < DEFAULT_BLOCKS_LEAST_KIB)
			return 0;
		if (error && error != EXT2MB_ET_NO_SPACE && !size_is_refused(error)) {
			problem_move(problem, &attempt);
			return error;
		}
		problem_clear(&attempt);
	}
	sizing->run.block_bytes = DEFAULT_BLOCK_BYTES;
	error = search_smallest(sizing, kib, problem);
	if (error || *kib >= DEFAULT_BLOCKS_LEAST_KIB)
		return error;
	*kib = DEFAULT_BLOCKS_LEAST_KIB;
	size_text(*kib, size);
	return size_try(sizing, size, problem);
}

/* Returns the size that the user asks for; false if only mke2fs understands it. */
static bool given_kib(const struct sizing *sizing, const char *size, uint64_t *kib)
{
	const struct populate_options *options = sizing->plan->options;
	/* Without a unit the number counts blocks if -b is given. A size of ours names its unit. */
	uint64_t unit = options->block_size_given ? sizing->room.format.block_bytes : 1024;
	uint64_t bytes;
	char *rest, decimal[64];

	/* mke2fs reads octal and hexadecimal numbers, too. */
	errno = 0;
	unsigned long long number = strtoull(size, &rest, 0);
	if (errno || !isdigit((unsigned char)*size) ||
	    snprintf(decimal, sizeof(decimal), "%llu%s", number, rest) >= (int)sizeof(decimal) ||
	    units_parse_bytes(decimal, unit, &bytes))
		return false;
	*kib = bytes / 1024;
	return true;
}

/*
 * Tries the size with the inodes of the smallest filesystem that is enough, which was made last: mke2fs's own number of
 * inodes may be what it refuses in a small filesystem, as inodes of 4 KiB, or what leaves no room for the journal.
 */
static bool fits_with_least_inodes(struct sizing *sizing, const char *size)
{
	struct problem attempt = { 0 };

	if (!sizing->run.inodes)
		return false;
	sizing->base_inodes = sizing->run.inodes;
	errcode_t error = size_try(sizing, size, &attempt);

	problem_clear(&attempt);
	return !error && !size_missing_inodes(sizing) && size_spare_blocks(sizing) >= 0;
}

/* A journal as large as that of the source may be the most of a small image: mke2fs wants it to be less than half. */
static const char *journal_hint(const struct sizing *sizing, uint64_t least_kib)
{
	uint64_t mib;

	for (size_t option = 0; option < sizing->run.words.option_count; option++)
		if (sscanf(sizing->run.words.options[option], "-Jsize=%" SCNu64, &mib) == 1 &&
		    mib * 1024 * 3 > least_kib)
			return " (the journal is as large as that of the source: -J size=N makes a smaller one)";
	return "";
}

/*
 * Reports how large the image would have to be, unless the size is enough after all. found is the problem with the size
 * itself, which is reported if it is another one.
 */
static errcode_t too_small(struct sizing *sizing, const char *size, struct problem *found)
{
	struct problem *problem = sizing->work->problem;
	struct problem attempt = { 0 };
	errcode_t error = found->error;
	uint64_t least_kib = 0, kib = 0;

	errcode_t search_error = find_smallest(sizing, &least_kib, &attempt);
	bool understood = given_kib(sizing, size, &kib);
	if (search_error && (!error || !size_is_refused(search_error))) {
		problem_clear(found);
		problem_move(problem, &attempt);
		return search_error;
	}
	problem_clear(&attempt);
	bool is_enough = !search_error && understood && kib >= least_kib;
	if (is_enough && fits_with_least_inodes(sizing, size)) {
		problem_clear(found);
		return 0;
	}
	if (error && (search_error || !understood || is_enough)) {
		problem_move(problem, found);
		return error;
	}
	problem_clear(found);
	return problem_set_reason(problem, EXT2MB_ET_NO_SPACE, sizing->plan->options->image, "the source does not fit",
	                          "it needs %" PRIu64 "K more; the size must be at least %" PRIu64 "K%s",
	                          least_kib > kib ? least_kib - kib : 0, least_kib, journal_hint(sizing, least_kib));
}

/* Tries the size that the user asks for, or that of the file or device to write in place. */
static errcode_t choose_given(struct sizing *sizing, const char *size)
{
	struct problem found = { 0 };
	errcode_t error = size_frees_inodes(sizing) ? size_learn_inodes(sizing, size, &found) : 0;

	if (!error)
		error = size_try(sizing, size, &found);

	/* mke2fs's own number of inodes may leave too little room, while the number needed leaves enough. */
	if (!error && !size_missing_inodes(sizing) && size_spare_blocks(sizing) < 0 && size_chooses_inodes(sizing)) {
		sizing->base_inodes = size_exact_inodes(sizing, size_made_bytes(sizing));
		error = size_try(sizing, size, &found);
	}
	if ((error && !size_is_refused(error)) || (!error && size_missing_inodes(sizing))) {
		problem_move(sizing->work->problem, &found);
		return error ? error : too_few_inodes(sizing, sizing->work->problem);
	}
	return error || size_spare_blocks(sizing) < 0 ? too_small(sizing, size, &found) : 0;
}

/*
 * Tries the size of the earlier image, with which its metadata stay in place. *fits is false if the tree has outgrown
 * that.
 */
static errcode_t try_size_of_base(struct sizing *sizing, char size[32], bool *fits)
{
	const struct base_image *base = sizing->plan->source->base;
	struct problem attempt = { 0 };

	size_text(base->blocks * (base->block_bytes / 1024), size);
	errcode_t error = size_try(sizing, size, &attempt);

	*fits = !error && !size_missing_inodes(sizing) && size_spare_blocks(sizing) >= 0;
	if ((error && !size_is_refused(error)) || wants_usual_blocks(sizing, error)) {
		problem_move(sizing->work->problem, &attempt);
		return error;
	}
	problem_clear(&attempt);
	return 0;
}

/* A file in memory, in which sizes are tried, has any size. */
static errcode_t check_device(const struct sizing *sizing, const struct output *output)
{
	uint64_t bytes = size_made_bytes(sizing);

	if (!output->is_device || bytes <= output->existing_bytes)
		return 0;
	return problem_set_reason(sizing->work->problem, EXT2MB_ET_NO_SPACE, output->path,
	                          "the filesystem does not fit", "it would end %" PRIu64 " KiB beyond the device's end",
	                          (bytes - output->existing_bytes + 1023) / 1024);
}

static errcode_t choose(struct sizing *sizing, const struct output *output, char size[32])
{
	const char *given = sizing->plan->options->size;
	uint64_t kib = output->existing_bytes / 1024;

	if (given || !output_is_fresh(output)) {
		bool is_known = !given || given_kib(sizing, given, &kib);

		if (sizing->wants_default_blocks && is_known && default_blocks_for(kib))
			sizing->run.block_bytes = DEFAULT_BLOCK_BYTES;
		/* No number is longer than this. */
		snprintf(size, 32, "%s", given ? given : "");
		/* If we choose the block size, mke2fs would read the number as one of blocks. */
		if (!given || (is_known && sizing->run.block_bytes))
			size_text(kib, size);
		errcode_t given_error = choose_given(sizing, size);

		return given_error ? given_error : check_device(sizing, output);
	}
	errcode_t error = 0;
	bool fits = false;

	if (sizing->plan->source->base)
		error = try_size_of_base(sizing, size, &fits);
	if (error || fits)
		return error;
	error = find_smallest(sizing, &kib, sizing->work->problem);

	size_text(kib, size);
	return error;
}

errcode_t size_choose(struct plan *plan, const struct workplace *work, const struct output *output,
                      struct size_choice *choice)
{
	struct trial_file scratch;
	errcode_t error = trial_file_open(&scratch, work->problem);
	struct sizing sizing = {
		.plan = plan,
		.work = work,
		.run.wants_verity = plan->source->has_protected,
		.run.path = scratch.path,
		.descriptor = scratch.descriptor,
		.extra_blocks = choice->extra_blocks,
	};

	sizing.run.block_bytes = likeness_block_bytes(&plan->source->like, plan->options);
	if (plan->source->base && !plan->options->block_size_given)
		sizing.run.block_bytes = plan->source->base->block_bytes;
	if (plan->source->encrypted.first_node && !plan->options->block_size_given)
		sizing.run.block_bytes = plan->source->encrypted.block_bytes;
	if (plan->source->base && size_chooses_inodes(&sizing))
		sizing.base_inodes = plan->source->base->inode_count;
	if (!error && !choice->knows_default_blocks)
		error = default_blocks_wanted(&sizing, &choice->wants_default_blocks, work->problem);
	choice->knows_default_blocks = !error;
	sizing.wants_default_blocks = choice->wants_default_blocks;
	if (!error)
		error = choose(&sizing, output, choice->size);
	/* mke2fs refuses the default blocks with some other options (-J size=1): then it chooses them. */
	if (error == EINVAL && sizing.wants_default_blocks && sizing.run.block_bytes) {
		problem_clear(work->problem);
		sizing.wants_default_blocks = false;
		sizing.run.block_bytes = 0;
		error = choose(&sizing, output, choice->size);
	}
	if (wants_usual_blocks(&sizing, error)) {
		problem_clear(work->problem);
		sizing.run.block_bytes = DEFAULT_BLOCK_BYTES;
		sizing.base_inodes = 0;
		error = choose(&sizing, output, choice->size);
	}
	choice->inodes = sizing.run.inodes;
	choice->block_bytes = sizing.run.block_bytes;
	choice->room = sizing.room;
	choice->free_blocks = error ? 0 : (uint64_t)size_left_blocks(&sizing);
	trial_file_close(&scratch);
	return error;
}

errcode_t size_warn_few_inodes(const struct populate_options *options, struct populate_report *report)
{
	const uint64_t mebibytes = (report->free_blocks * report->block_bytes) >> 20;
	struct problem problem = { 0 };

	if ((!options->free_bytes && !options->free_percent) || options->free_inodes_given ||
	    report->free_inodes >= mebibytes)
		return 0;
	problem_set_reason(&problem, ENOSPC, options->image, "has few free inodes",
	                   "%" PRIu64 " for %" PRIu64
	                   " MiB of free space; --free-inodes=N without -i and -N gives more",
	                   report->free_inodes, mebibytes);
	return warnings_add(&report->warnings, &problem, 1);
}

errcode_t size_format(struct plan *plan, const struct workplace *work, const struct output *output,
                      const struct size_choice *choice)
{
	struct sizing sizing = {
		.plan = plan,
		.work = work,
		.run.wants_verity = plan->source->has_protected,
		.run.path = output->work_path,
		.run.is_device = output->is_device,
		.run.offset_bytes = output->offset_bytes,
		.run.block_bytes = choice->block_bytes,
		.descriptor = output_is_fresh(output) ? output->descriptor : -1,
		.extra_blocks = choice->extra_blocks,
		.base_inodes = choice->inodes,
	};
	errcode_t error = size_try(&sizing, choice->size, work->problem);

	if (error)
		return error;
	/* A device may have another sector size than a file, and then other blocks. */
	if (size_missing_inodes(&sizing) || size_spare_blocks(&sizing) < 0)
		return problem_set_reason(work->problem, EXT2MB_ET_NO_SPACE, plan->options->image,
		                          "the source does not fit",
		                          "mke2fs treats it differently from a file of its size");
	return 0;
}
