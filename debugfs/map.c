/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws the groups: a character for each group, or for each part of a group. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocator/core/allocator.h"
#include "listing.h"
#include "requests.h"
#include "words.h"

#define CELLS 64 /* in a line */

/* The colour of each character on a terminal that has colours. */
static const struct {
	char character;
	const char *colour;
	const char *meaning;
} kinds[] = {
	{ '.', "32", "free" }, { '-', "36", "less than half in use" }, { '+', "33", "half or more" },
	{ '#', "31", "all" },  { 'p', "34", "preallocated blocks" },   { '!', "35", "corrupt" },
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct part {
	uint32_t clusters;
	uint32_t used;
	uint32_t preallocated;
};

static char character_of(const struct part *part)
{
	if (part->preallocated)
		return 'p';
	if (!part->used)
		return '.';
	if (part->used == part->clusters)
		return '#';
	return part->used < part->clusters - part->used ? '-' : '+';
}

static bool has_colours(const struct shell *shell)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	return !shell->is_json && isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && terminal &&
	       strcmp(terminal, "dumb");
}

/* A run of equal characters is printed in one colour. */
static void print_picture(const char *picture, bool is_coloured)
{
	if (!is_coloured) {
		fputs(picture, stdout);
		return;
	}
	for (size_t length; *picture; picture += length) {
		size_t kind = 0;

		length = strspn(picture, (const char[]){ *picture, '\0' });
		while (kind + 1 < KINDS && kinds[kind].character != *picture)
			kind++;
		printf("\033[%sm%.*s\033[m", kinds[kind].colour, (int)length, picture);
	}
}

static void print_legend(bool is_coloured)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		fputs(kind ? ", " : "", stdout);
		print_picture((const char[]){ kinds[kind].character, '\0' }, is_coloured);
		printf(" %s", kinds[kind].meaning);
	}
	putchar('\n');
}

/* Counts what the group's parts hold. EXT2MB_ET_CORRUPT_GROUP, ENOMEM. */
static errcode_t read_parts(struct ext2mb *mb, uint32_t number, struct part *parts, unsigned int count)
{
	const struct geometry *geometry = &mb->geometry;
	uint32_t clusters = geometry_group_clusters(geometry, number);
	uint64_t end_block = geometry_block(geometry, number, 0) + geometry_to_blocks(geometry, clusters);
	uint32_t cluster = 0;

	memset(parts, 0, count * sizeof(*parts));
	while (cluster < clusters) {
		uint64_t block = geometry_block(geometry, number, cluster);
		enum ext2mb_block_use use;
		uint64_t alike;
		errcode_t error = ext2mb_query_blocks(mb, block, end_block - block, &use, &alike);

		if (error)
			return error;
		uint32_t run_end = cluster + (uint32_t)geometry_to_clusters(geometry, alike);

		while (cluster < run_end) {
			uint32_t index = (uint32_t)((uint64_t)cluster * count / clusters);
			/* The first cluster of the next part. */
			uint32_t end = (uint32_t)(((uint64_t)(index + 1) * clusters + count - 1) / count);
			uint32_t alike_here = (end < run_end ? end : run_end) - cluster;
			struct part *part = &parts[index];

			part->clusters += alike_here;
			part->used += use == EXT2MB_BLOCKS_USED ? alike_here : 0;
			part->preallocated += use == EXT2MB_BLOCKS_RESERVED ? alike_here : 0;
			cluster += alike_here;
		}
	}
	return 0;
}

/* picture: `count` characters, fewer for a group with fewer clusters. */
static errcode_t draw_group(struct ext2mb *mb, uint32_t number, unsigned int count, char *picture)
{
	uint32_t clusters = geometry_group_clusters(&mb->geometry, number);
	struct part parts[CELLS];

	count = count < clusters ? count : clusters;
	picture[count] = '\0';
	errcode_t error = read_parts(mb, number, parts, count);
	if (error == EXT2MB_ET_CORRUPT_GROUP) {
		memset(picture, '!', count);
		return 0;
	}
	for (unsigned int index = 0; index < count && !error; index++)
		picture[index] = character_of(&parts[index]);
	return error;
}

static void put_line(struct listing *listing, bool is_coloured, uint32_t first, const char *picture)
{
	if (listing->is_json) {
		listing_row(listing, (const struct cell[]){ NUMBER_CELL(first), TEXT_CELL(picture) });
		return;
	}
	printf("%10" PRIu32 "  ", first);
	print_picture(picture, is_coloured);
	putchar('\n');
}

/* A line has one group, or CELLS of them. */
static errcode_t draw(struct ext2mb *mb, const struct group_range *range, uint32_t groups_in_line,
                      struct listing *listing, bool is_coloured)
{
	unsigned int cells = CELLS / groups_in_line;

	for (uint32_t first = range->first; first < range->end; first += groups_in_line) {
		uint32_t count = range->end - first < groups_in_line ? range->end - first : groups_in_line;
		char picture[CELLS + 1];

		for (uint32_t index = 0; index < count; index++) {
			errcode_t error = draw_group(mb, first + index, cells, picture + index * cells);

			if (error)
				return error;
		}
		put_line(listing, is_coloured, first, picture);
	}
	return 0;
}

errcode_t request_map(struct shell *shell)
{
	static const struct column columns[] = { { "group", 10 }, { "map", -CELLS }, { 0 } };
	struct ext2mb *mb = shell->filesystem.mb;
	bool is_coloured = has_colours(shell);
	struct listing listing;
	struct group_range range;
	errcode_t error = words_range(shell->word_count > 1 ? shell->words[1] : NULL, mb->geometry.groups, &range,
	                              &shell->problem);

	if (error)
		return error;
	listing_begin(&listing, shell->is_json, columns);
	error = draw(mb, &range, shell->word_count > 1 ? 1 : CELLS, &listing, is_coloured);
	if (!shell->is_json)
		print_legend(is_coloured);
	errcode_t output_error = listing_end(&listing);

	return error ? error : output_error;
}
