/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/replay/trace_events.h"

#include <string.h>

#include "support/cleanup.h"

/* The kernel's bits, which old kernels print as numbers. */
#define HINT_DATA 0x0020
#define HINT_NOPREALLOC 0x0040
#define DELAYED 0x0400
#define STREAM_ALLOC 0x0800
#define KEEPS_FIRST_CLUSTER 0x0010
#define KEEPS_LAST_CLUSTER 0x0020

#define FALLOC_WITHOUT_BLOCKS 0x2a /* PUNCH_HOLE, COLLAPSE_RANGE, INSERT_RANGE */

#define NEIGHBOURS 8

static bool read_u32(const struct trace_line *line, const char *field, uint32_t *value)
{
	uint64_t number;

	if (!trace_line_number(line, field, UINT32_MAX, &number))
		return false;
	*value = (uint32_t)number;
	return true;
}

/* Events of mballoc name the field inode. */
static bool read_ino(const struct trace_line *line, uint32_t *ino)
{
	return (read_u32(line, "ino", ino) || read_u32(line, "inode", ino)) && *ino;
}

/* --- Processes ----------------------------------------------------------------------------------------------- */

/* Finds the line's process; a new one replaces another. */
static struct trace_process *find_process(struct trace_events *events, uint64_t process)
{
	struct trace_process *first = &events->processes[process % (TRACE_PROCESSES - NEIGHBOURS)], *free = NULL;

	for (struct trace_process *at = first; at < first + NEIGHBOURS; at++) {
		if (at->is_known && at->process == process)
			return at;
		if (!free && (!at->is_known || (!at->is_asking && !at->reserved_ino && !at->waits)))
			free = at;
	}
	if (!free)
		free = first;
	*free = (struct trace_process){ .is_known = true, .process = process };
	return free;
}

/* --- Events of several lines --------------------------------------------------------------------------------- */

/* Reads a length in clusters and returns blocks. */
static bool read_length(const struct trace_line *line, uint32_t cluster_blocks, uint32_t *blocks)
{
	uint64_t clusters;

	if (!trace_line_number(line, "len", UINT32_MAX / cluster_blocks, &clusters))
		return false;
	*blocks = (uint32_t)clusters * cluster_blocks;
	return true;
}

/* A neighbour's logical block, moved by `more`; 0: there is none. */
static uint32_t neighbour(const struct trace_line *line, const char *physical, const char *logical, uint32_t more)
{
	uint64_t block;
	uint32_t value;

	if (!trace_line_number(line, physical, UINT64_MAX, &block) || !block || !read_u32(line, logical, &value) ||
	    value > UINT32_MAX - more)
		return 0;
	return value + more;
}

static enum trace_meaning ask(struct trace_events *events, struct trace_process *process, const struct trace_line *line,
                              struct trace_event *event UNUSED)
{
	uint32_t ino, logical, asked;

	if (!read_ino(line, &ino) || !read_length(line, events->cluster_blocks, &asked) ||
	    !read_u32(line, "lblk", &logical))
		return TRACE_MEANS_UNKNOWN;
	process->is_asking = true;
	process->is_final = process->has_writer = false;
	process->groups_scanned = 0;
	process->ino = ino;
	process->logical = logical;
	process->asked = asked;
	/* Only fallocate(2) requests blocks without normalisation. */
	process->is_unwritten = trace_line_flag(line, "flags", "HINT_NOPREALLOC", HINT_NOPREALLOC);
	process->left_end = neighbour(line, "pleft", "lleft", 1);
	process->right_start = neighbour(line, "pright", "lright", 0);
	return TRACE_MEANS_LATER;
}

static enum trace_meaning search(struct trace_events *events UNUSED, struct trace_process *process,
                                 const struct trace_line *line, struct trace_event *event UNUSED)
{
	uint32_t ino;

	if (!read_ino(line, &ino))
		return TRACE_MEANS_UNKNOWN;
	if (!process->is_asking || process->ino != ino)
		return TRACE_MEANS_LATER;
	if (!read_u32(line, "grps", &process->groups_scanned))
		process->groups_scanned = 0;
	process->is_final =
		!process->is_unwritten && trace_line_flag(line, "flags", "HINT_NOPREALLOC", HINT_NOPREALLOC);
	process->has_writer = !process->is_final && trace_line_flag(line, "flags", "STREAM_ALLOC", STREAM_ALLOC);
	return TRACE_MEANS_LATER;
}

/* After a short allocation, the rest belongs to the same request. */
static void find_start(struct trace_process *process, struct trace_event *event)
{
	if (event->is_data && process->next_ino == event->ino && process->next_logical == event->logical &&
	    process->next_left == event->asked && process->next_left)
		event->start = process->start;
	process->start = event->start;
	process->next_ino = event->ino;
	process->next_logical = event->logical + event->count;
	process->next_left = event->is_data ? event->asked - event->count : 0;
}

/* --- Ends of files -------------------------------------------------------------------------------------------- */

/* Asks whether the file ends here: it was written before it was allocated, and is not known to be open. */
static void question(struct trace_events *events, struct trace_process *process, const struct trace_line *line,
                     const struct trace_event *event)
{
	if (!event->is_data || event->is_unwritten || event->is_final ||
	    !trace_line_flag(line, "flags", "DELALLOC_RESV", DELAYED))
		return;
	process->waits = events->waits = ++events->questions;
	process->ino = event->ino;
}

/* Is this an event that does not come between an allocation and its file's end? */
static bool goes_on(const struct trace_line *line)
{
	static const char *const names[] = {
		"ext4_request_blocks",  "ext4_allocate_blocks", "ext4_writepages_result", "ext4_sync_file_exit",
		"ext4_fallocate_enter", "ext4_allocate_inode",  "ext4_free_inode",        "ext4_free_blocks",
	};

	for (unsigned int index = 0; index < sizeof(names) / sizeof(*names); index++)
		if (trace_line_is(line, names[index]))
			return true;
	return false;
}

static void answer(struct trace_events *events, struct trace_process *process, const struct trace_line *line)
{
	bool closes = trace_line_is(line, "ext4_discard_preallocations");
	uint32_t ino;

	events->waits = events->answers = 0;
	if (!process->waits || (!closes && !goes_on(line)))
		return;
	events->answers = process->waits;
	events->answer_is_final = closes && read_ino(line, &ino) && ino == process->ino;
	process->waits = 0;
}

/* Everything that one call of writeback allocates was written before it began. */
static void note_writeback(struct trace_events *events, const struct trace_line *line)
{
	events->is_delayed = trace_line_is(line, "ext4_allocate_blocks") &&
	                     trace_line_flag(line, "flags", "HINT_DATA", HINT_DATA) &&
	                     trace_line_flag(line, "flags", "DELALLOC_RESV", DELAYED);
	events->written_ino = 0;
	if (trace_line_is(line, "ext4_writepages_result") && !read_ino(line, &events->written_ino))
		events->written_ino = 0;
}

static enum trace_meaning get(struct trace_events *events, struct trace_process *process, const struct trace_line *line,
                              struct trace_event *event)
{
	uint64_t most = UINT32_MAX;
	bool has_writer = process->has_writer;

	process->has_writer = false;
	if (!read_ino(line, &event->ino) || !read_length(line, events->cluster_blocks, &event->count) ||
	    !read_u32(line, "lblk", &event->logical) ||
	    !trace_line_number(line, "block", UINT64_MAX >> 8, &event->block) ||
	    !trace_line_number(line, "goal", UINT64_MAX, &event->goal) || event->count > most - event->logical)
		return TRACE_MEANS_UNKNOWN;
	event->is_data = trace_line_flag(line, "flags", "HINT_DATA", HINT_DATA);
	event->asked = event->count;
	event->start = event->logical;
	if (process->is_asking && process->ino == event->ino && process->logical == event->logical) {
		event->is_unwritten = process->is_unwritten;
		event->is_final = process->is_final;
		event->groups_scanned = process->groups_scanned;
		event->left_end = process->left_end;
		event->right_start = process->right_start;
		if (process->asked > event->count && process->asked <= most - event->logical)
			event->asked = process->asked;
	}
	if (process->reserved_ino == event->ino && event->is_data) {
		event->is_unwritten = true;
		event->whole_bytes = process->reserved_bytes;
	}
	process->is_asking = false;
	find_start(process, event);
	if (!has_writer)
		question(events, process, line, event);
	return TRACE_MEANS_EVENT;
}

static enum trace_meaning reserve(struct trace_events *events UNUSED, struct trace_process *process,
                                  const struct trace_line *line, struct trace_event *event UNUSED)
{
	uint32_t ino;
	uint64_t bytes;

	if (!read_ino(line, &ino) || !trace_line_number(line, "len", INT64_MAX, &bytes))
		return TRACE_MEANS_UNKNOWN;
	if (trace_line_flag(line, "mode", "PUNCH_HOLE", FALLOC_WITHOUT_BLOCKS) ||
	    trace_line_flag(line, "mode", "COLLAPSE_RANGE", FALLOC_WITHOUT_BLOCKS))
		return TRACE_MEANS_NOTHING;
	process->reserved_ino = ino;
	process->reserved_bytes = bytes;
	return TRACE_MEANS_LATER;
}

static enum trace_meaning end_reserve(struct trace_events *events UNUSED, struct trace_process *process,
                                      const struct trace_line *line UNUSED, struct trace_event *event UNUSED)
{
	process->reserved_ino = 0;
	return TRACE_MEANS_LATER;
}

/* --- Events of one line -------------------------------------------------------------------------------------- */

static enum trace_meaning create(struct trace_events *events UNUSED, struct trace_process *process UNUSED,
                                 const struct trace_line *line, struct trace_event *event)
{
	return read_ino(line, &event->ino) && read_u32(line, "dir", &event->parent) &&
	                       trace_line_octal(line, "mode", &event->mode) ?
	               TRACE_MEANS_EVENT :
	               TRACE_MEANS_UNKNOWN;
}

static enum trace_meaning of_inode(struct trace_events *events UNUSED, struct trace_process *process UNUSED,
                                   const struct trace_line *line, struct trace_event *event)
{
	return read_ino(line, &event->ino) ? TRACE_MEANS_EVENT : TRACE_MEANS_UNKNOWN;
}

static enum trace_meaning release(struct trace_events *events UNUSED, struct trace_process *process UNUSED,
                                  const struct trace_line *line, struct trace_event *event)
{
	event->keeps_first = trace_line_flag(line, "flags", "1ST_CLUSTER", KEEPS_FIRST_CLUSTER);
	event->keeps_last = trace_line_flag(line, "flags", "LAST_CLUSTER", KEEPS_LAST_CLUSTER);
	return read_ino(line, &event->ino) && trace_line_number(line, "block", UINT64_MAX >> 8, &event->block) &&
	                       read_u32(line, "count", &event->count) ?
	               TRACE_MEANS_EVENT :
	               TRACE_MEANS_UNKNOWN;
}

/* The kernel's events, what they become, and how their fields are read; NULL: they have none that is needed. */
static const struct {
	const char *name;
	enum trace_event_kind kind;
	enum trace_meaning (*read)(struct trace_events *events, struct trace_process *process,
	                           const struct trace_line *line, struct trace_event *event);
} known[] = {
	{ "ext4_request_blocks", TRACE_ALLOCATE, ask },
	{ "ext4_mballoc_alloc", TRACE_ALLOCATE, search },
	{ "ext4_allocate_blocks", TRACE_ALLOCATE, get },
	{ "ext4_fallocate_enter", TRACE_ALLOCATE, reserve },
	{ "ext4_fallocate_exit", TRACE_ALLOCATE, end_reserve },
	{ "ext4_allocate_inode", TRACE_CREATE, create },
	{ "ext4_free_inode", TRACE_DELETE, of_inode },
	{ "ext4_discard_preallocations", TRACE_CLOSE, of_inode },
	{ "ext4_free_blocks", TRACE_FREE, release },
	{ "jbd2_end_commit", TRACE_COMMIT, NULL },
};

enum trace_meaning trace_events_read(struct trace_events *events, const struct trace_line *line,
                                     struct trace_event *event)
{
	struct trace_process *process = find_process(events, line->process);

	*event = (struct trace_event){ .processor = line->processor,
		                       .process = line->process,
		                       .seconds = line->seconds };
	answer(events, process, line);
	note_writeback(events, line);
	for (size_t row = 0; row < sizeof(known) / sizeof(*known); row++) {
		if (!trace_line_is(line, known[row].name))
			continue;
		event->kind = known[row].kind;
		return known[row].read ? known[row].read(events, process, line, event) : TRACE_MEANS_EVENT;
	}
	return TRACE_MEANS_NOTHING;
}
