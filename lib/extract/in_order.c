/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/in_order.h"

#include <errno.h>

#include "support/run/condition.h"
#include "support/run/interrupt.h"

struct in_order {
	struct extraction *extraction;
	struct output_sink *sink;
	const struct tree_output *output;
	void *state; /* the output's own */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct piece_cursor cursor; /* under the lock */
	uint64_t turn;              /* number of the piece to be written next; under the lock */
	bool is_over;               /* no thread begins a further piece; under the lock */
	uint32_t directory; /* last directory written or passed over; only the thread whose turn it is uses it */
};

static errcode_t sink_problem(const struct in_order *run, errcode_t error, struct problem *problem)
{
	return error ? problem_set(problem, error, run->sink->path, "cannot write") : 0;
}

/* --- Writing a piece in its turn ---------------------------------------------------------------------------------- */

static errcode_t write_zeros(struct in_order *run, uint64_t count)
{
	static const char zeros[64 << 10];
	errcode_t error = 0;

	for (uint64_t more; !error && count; count -= more) {
		more = count < sizeof(zeros) ? count : sizeof(zeros);
		error = run->output->data(run->state, zeros, (size_t)more);
	}
	return error;
}

/*
 * Writes bytes [start, stop) of a file. is_lost: they cannot be read, but the header with the file's size has been
 * written, so zeros take their place.
 */
static errcode_t write_contents(struct in_order *run, const struct loaded *loaded, const struct loaded_file *file,
                                uint64_t start, uint64_t stop, bool is_lost)
{
	const struct tree *tree = run->extraction->tree;
	const struct tree_node *node = &tree->nodes[tree->nodes[file->node].link_to];
	const uint8_t *bytes = loaded->bytes + file->at;
	uint32_t segment = loaded->piece.segment;
	struct piece_range range;
	errcode_t error = 0;

	while (!error && piece_range_next(node, &start, stop, &segment, &range)) {
		if (range.is_hole)
			error = run->output->hole(run->state, range.length);
		else if (is_lost)
			error = write_zeros(run, range.length);
		else
			error = run->output->data(run->state, bytes, (size_t)range.length);
		bytes += range.is_hole ? 0 : range.length;
	}
	return error;
}

static errcode_t tell_damage(struct in_order *run, unsigned int worker, const struct loaded_file *file,
                             enum damage_mark mark, const char *consequence)
{
	struct problem problem = { 0 };

	problem_set_reason(&problem, file->error, file->problem.path, file->problem.action, "%s",
	                   file->problem.reason ? file->problem.reason : error_message(file->error));
	problem_add(&problem, "%s", consequence);
	return extraction_damaged(run->extraction, worker, file->node, mark, &problem);
}

/* Writes a node; *is_written: the output has it now. */
static errcode_t write_node(struct in_order *run, unsigned int worker, uint32_t number, bool *is_written,
                            struct problem *problem)
{
	struct extraction *extraction = run->extraction;
	const struct tree_node *nodes = extraction->tree->nodes;
	const struct loaded_file *file = loaded_find(&extraction->workers[worker].loaded, number);
	const struct output_node node = { .number = number,
		                          .node = &nodes[nodes[number].link_to],
		                          .link_to = selection_first_name(&extraction->selection, number),
		                          .file = file };

	*is_written = false;
	if (file && file->error)
		return tell_damage(run, worker, file, DAMAGE_LEFT_OUT, "; it is left out");
	/* An excluded file is left out under all its names. */
	if (extraction_mark(extraction, node.link_to) == DAMAGE_LEFT_OUT)
		return 0;
	*is_written = true;
	errcode_t error = run->output->node(run->state, &node, problem);

	return error ? sink_problem(run, error, problem) : extraction_note_lacks(extraction, worker, number);
}

/*
 * The stream has the tree's order, except that a directory comes just before the files in it, and after the files
 * beside it. A reader such as tar(1) sets a directory's time and permissions when it reaches files elsewhere.
 */
#define NO_DIRECTORY UINT32_MAX

static uint32_t first_directory(const struct tree_node *nodes, uint32_t from, uint32_t end)
{
	while (from < end && !S_ISDIR(nodes[from].mode))
		from++;
	return from < end ? from : NO_DIRECTORY;
}

static uint32_t run_end(const struct tree_node *directory)
{
	return directory->first_child + directory->child_count;
}

/* Returns the directory after this one in that order. All steps together look at each node at most twice. */
static uint32_t next_directory(const struct tree_node *nodes, uint32_t directory)
{
	uint32_t next = first_directory(nodes, nodes[directory].first_child, run_end(&nodes[directory]));

	for (; next == NO_DIRECTORY && directory != TREE_ROOT; directory = nodes[directory].parent)
		next = first_directory(nodes, directory + 1, run_end(&nodes[nodes[directory].parent]));
	return next;
}

/* Writes the directories up to and including this one; NO_DIRECTORY: all that are left. */
static errcode_t write_directories(struct in_order *run, unsigned int worker, uint32_t until, struct problem *problem)
{
	const struct extraction *extraction = run->extraction;
	errcode_t error = 0;
	bool is_written;

	while (!error && run->directory != until) {
		run->directory = next_directory(extraction->tree->nodes, run->directory);
		if (run->directory == NO_DIRECTORY)
			break;
		if (selection_has(&extraction->selection, run->directory))
			error = write_node(run, worker, run->directory, &is_written, problem);
	}
	return error;
}

/* Called before a node is written or passed over. */
static errcode_t enter_directory(struct in_order *run, unsigned int worker, uint32_t number, struct problem *problem)
{
	const struct tree_node *nodes = run->extraction->tree->nodes;
	uint32_t parent = nodes[number].parent;
	bool is_written;

	if (number == TREE_ROOT)
		return selection_has(&run->extraction->selection, TREE_ROOT) ?
		               write_node(run, worker, TREE_ROOT, &is_written, problem) :
		               0;
	return nodes[parent].first_child == number ? write_directories(run, worker, parent, problem) : 0;
}

static errcode_t write_nodes(struct in_order *run, unsigned int worker, struct problem *problem)
{
	struct extraction *extraction = run->extraction;
	const struct loaded *loaded = &extraction->workers[worker].loaded;
	const struct tree_node *nodes = extraction->tree->nodes;
	errcode_t error = 0;

	for (uint32_t number = loaded->piece.first; !error && number < loaded->piece.end; number++) {
		const struct loaded_file *file = loaded_find(loaded, number);
		bool is_written;

		error = enter_directory(run, worker, number, problem);
		if (error || !selection_has(&extraction->selection, number) || S_ISDIR(nodes[number].mode))
			continue;
		error = write_node(run, worker, number, &is_written, problem);
		if (!error && is_written && file && run->output->has_contents)
			error = write_contents(run, loaded, file, 0, nodes[nodes[number].link_to].size_bytes, false);
	}
	return error;
}

/*
 * Writes a part of a long file. Once the first part is written, all others follow even if they cannot be read, since
 * the header gives the file's size.
 */
static errcode_t write_part(struct in_order *run, unsigned int worker, struct problem *problem)
{
	const struct loaded *loaded = &run->extraction->workers[worker].loaded;
	const struct piece *piece = &loaded->piece;
	const struct loaded_file *file = loaded_find(loaded, piece->first);
	enum damage_mark mark = extraction_mark(run->extraction, piece->first);
	bool is_written = mark != DAMAGE_LEFT_OUT;
	errcode_t error = 0;

	if (piece->is_file_first)
		error = enter_directory(run, worker, piece->first, problem);
	if (!error && piece->is_file_first)
		error = write_node(run, worker, piece->first, &is_written, problem);
	else if (!error && file->error && mark == DAMAGE_NONE)
		error = tell_damage(run, worker, file, DAMAGE_ZEROED,
		                    "; zeros are in the place of what cannot be read");
	if (error || !is_written)
		return error;
	return write_contents(run, loaded, file, piece->start, piece->stop, file->error);
}

static errcode_t write_piece(struct in_order *run, unsigned int worker, struct problem *problem)
{
	const struct piece *piece = &run->extraction->workers[worker].loaded.piece;
	errcode_t error = piece->is_part ? write_part(run, worker, problem) : write_nodes(run, worker, problem);

	return error ? sink_problem(run, error, problem) : 0;
}

/* --- The threads that write --------------------------------------------------------------------------------------- */

/* Waits until all pieces before this one are written. False: the run is over. */
static bool wait_for_turn(struct in_order *run, uint64_t number)
{
	pthread_mutex_lock(&run->lock);
	while (!run->is_over && run->turn != number) {
		condition_wait_or_look(&run->changed, &run->lock);
		run->is_over = run->is_over || interrupt_pending();
	}
	bool is_ours = !run->is_over;

	pthread_mutex_unlock(&run->lock);
	return is_ours;
}

static void end_turn(struct in_order *run, bool is_over)
{
	pthread_mutex_lock(&run->lock);
	run->turn++;
	run->is_over = run->is_over || is_over;
	condition_wake(&run->changed);
	pthread_mutex_unlock(&run->lock);
}

static bool take_piece(struct in_order *run, struct piece *piece)
{
	pthread_mutex_lock(&run->lock);
	run->is_over = run->is_over || interrupt_pending();
	bool is_there = !run->is_over && piece_cursor_next(&run->cursor, piece);

	pthread_mutex_unlock(&run->lock);
	return is_there;
}

static uint64_t files_of(const struct piece *piece)
{
	return piece->is_part ? piece->is_file_last : piece->end - piece->first;
}

/*
 * Each worker runs this. It reports a failure only in its turn, so that the first one in the order of the tree is
 * reported.
 */
static errcode_t take_turns(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct in_order *run = context;
	struct extraction *extraction = run->extraction;
	const struct tree_output *output = run->output;
	struct loaded *loaded = &extraction->workers[worker].loaded;
	struct piece piece;
	errcode_t error = 0;

	(void)index;
	while (!error && take_piece(run, &piece)) {
		loaded->piece = piece;
		if (output->has_contents || output->has_digests)
			error = loaded_read(loaded, &piece, output->has_digests, problem);
		if (!wait_for_turn(run, piece.number))
			break;
		if (!error)
			error = write_piece(run, worker, problem);
		end_turn(run, error);
		progress_add(extraction->options->progress, loaded->data_bytes, files_of(&piece));
	}
	return error ? error : interrupt_pending() ? problem_set(problem, EINTR, NULL, "stopped") : 0;
}

errcode_t in_order_write(struct extraction *extraction, struct output_sink *sink, struct problem *problem)
{
	const struct tree_output *output = extraction->output;
	struct in_order run = { .extraction = extraction,
		                .sink = sink,
		                .output = output,
		                .lock = PTHREAD_MUTEX_INITIALIZER,
		                .changed = PTHREAD_COND_INITIALIZER };
	errcode_t error = output->begin(extraction, sink, &run.state);

	piece_cursor_start(&run.cursor, &extraction->selection,
	                   output->has_contents ? PIECES_OF_ALL :
	                   output->has_digests  ? PIECES_OF_FILES :
	                                          PIECES_WITHOUT_LONG);
	if (!error)
		error = pool_run(extraction->pool, pool_workers(extraction->pool), take_turns, &run, problem);
	if (!error)
		error = write_directories(&run, 0, NO_DIRECTORY, problem);
	if (!error)
		error = output->end(run.state);
	output->close(run.state);
	return sink_problem(&run, error, problem);
}
