/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/size/default_blocks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SMALL_BLOCK_BYTES 1024u
/* This size is enough for an empty filesystem with blocks of either size. */
#define EMPTY_SIZE "2M"
#define MOST_ARGUMENTS 8

/* Finds which block size mke2fs gives that usage type (-T). An empty filesystem without features takes it 2 ms. */
static errcode_t configured_block(const struct sizing *sizing, const char *usage, uint32_t *block_bytes,
                                  struct problem *problem)
{
	const struct plan *plan = sizing->plan;
	struct populate_options options = *plan->options;
	char *arguments[MOST_ARGUMENTS] = { (char *)usage, (char *)"-Onone" };
	size_t count = 2;
	struct filesystem_room room;

	for (char *const *option = plan->options->mke2fs; option && *option && count < MOST_ARGUMENTS - 1; option++)
		if (strncmp(*option, "-t", 2) == 0)
			arguments[count++] = *option;
	options.mke2fs = arguments;
	options.extended = NULL;
	options.mke2fs_output = 0;
	const struct mke2fs_run run = {
		.options = &options,
		.identity = &plan->source->identity,
		.path = sizing->run.path,
		.size = EMPTY_SIZE,
	};
	errcode_t error = mke2fs_run(&run, problem);

	if (!error)
		error = filesystem_look(run.path, 0, options.image, &room, problem);
	*block_bytes = error ? 0 : room.format.block_bytes;
	/* The file must keep nothing of it. */
	if (!error && ftruncate(sizing->descriptor, 0) < 0)
		error = problem_set(problem, errno, options.image, "cannot truncate");
	return error;
}

errcode_t default_blocks_wanted(const struct sizing *sizing, bool *ret, struct problem *problem)
{
	const struct populate_options *options = sizing->plan->options;
	struct problem refusal = { 0 };
	uint32_t small, others = 0;

	*ret = false;
	if (!options->own_defaults || options->block_size_given || options->usage_given || sizing->plan->source->base ||
	    sizing->plan->source->encrypted.first_node || sizing->plan->source->like.is_wanted)
		return 0;
	errcode_t error = configured_block(sizing, "-Tsmall", &small, &refusal);
	if (!error && small == SMALL_BLOCK_BYTES)
		error = configured_block(sizing, "-Tdefault", &others, &refusal);
	if (error && !size_is_refused(error)) {
		problem_move(problem, &refusal);
		return error;
	}
	/* If mke2fs refuses this, too, it will refuse again later, with its reason. */
	problem_clear(&refusal);
	*ret = !error && small == SMALL_BLOCK_BYTES && others == DEFAULT_BLOCK_BYTES;
	return 0;
}
