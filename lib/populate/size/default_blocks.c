/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/size/default_blocks.h"

#include <string.h>

#define SMALL_BLOCK_BYTES 1024u
/* This size is enough for an empty filesystem with blocks of either size. */
#define EMPTY_SIZE "2M"
#define MOST_ARGUMENTS 8

/* Asks mke2fs which block size it gives a usage type (-T). An empty filesystem without features takes it 3 ms. */
struct question {
	const struct sizing *sizing;
	const char *usage;
	struct trial_file scratch;
	errcode_t error; /* of mke2fs */
	struct problem problem;
	uint32_t block_bytes; /* the answer */
};

static errcode_t make(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct question *question = &((struct question *)context)[index];
	const struct plan *plan = question->sizing->plan;
	struct populate_options options = *plan->options;
	char *arguments[MOST_ARGUMENTS] = { (char *)question->usage, (char *)"-Onone" };
	size_t count = 2;

	(void)worker;
	(void)problem;
	for (char *const *option = plan->options->mke2fs; option && *option && count < MOST_ARGUMENTS - 1; option++)
		if (strncmp(*option, "-t", 2) == 0)
			arguments[count++] = *option;
	options.mke2fs = arguments;
	options.extended = NULL;
	options.mke2fs_output = 0;
	const struct mke2fs_run run = {
		.options = &options,
		.identity = &plan->source->identity,
		.path = question->scratch.path,
		.size = EMPTY_SIZE,
	};
	/* The other question is asked whatever the answer to this one is. */
	question->error = mke2fs_run(&run, &question->problem);
	return 0;
}

/* Reads the answer. Errors of mke2fs are those of the question. */
static errcode_t answer(struct question *question, struct problem *problem)
{
	struct filesystem_room room;
	errcode_t error = question->error;

	if (error)
		problem_move(problem, &question->problem);
	else
		error = filesystem_look(question->scratch.path, 0, question->sizing->plan->options->image, &room,
		                        problem);
	question->block_bytes = error ? 0 : room.format.block_bytes;
	return error;
}

static errcode_t ask(struct question questions[2], const struct workplace *work, struct problem *problem)
{
	errcode_t error = trial_file_open(&questions[0].scratch, problem);

	if (!error)
		error = trial_file_open(&questions[1].scratch, problem);
	if (!error)
		error = pool_run(work->pool, 2, make, questions, problem);
	for (int i = 0; !error && i < 2; i++)
		error = answer(&questions[i], problem);
	for (int i = 0; i < 2; i++) {
		trial_file_close(&questions[i].scratch);
		problem_clear(&questions[i].problem);
	}
	return error;
}

errcode_t default_blocks_wanted(const struct sizing *sizing, bool *ret, struct problem *problem)
{
	const struct populate_options *options = sizing->plan->options;
	struct question questions[2] = {
		{ .sizing = sizing, .usage = "-Tsmall", .scratch.descriptor = -1 },
		{ .sizing = sizing, .usage = "-Tdefault", .scratch.descriptor = -1 },
	};
	struct problem refusal = { 0 };

	*ret = false;
	if (!options->own_defaults || options->block_size_given || options->usage_given || sizing->plan->source->base ||
	    sizing->plan->source->encrypted.first_node)
		return 0;
	errcode_t error = ask(questions, sizing->work, &refusal);

	if (error && !size_is_refused(error)) {
		problem_move(problem, &refusal);
		return error;
	}
	/* If mke2fs refuses this, too, it will refuse again later, with its reason. */
	problem_clear(&refusal);
	*ret = !error && questions[0].block_bytes == SMALL_BLOCK_BYTES &&
	       questions[1].block_bytes == DEFAULT_BLOCK_BYTES;
	return 0;
}
