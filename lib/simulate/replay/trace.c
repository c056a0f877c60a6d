/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/replay/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "simulate/replay/trace_events.h"
#include "simulate/replay/trace_queue.h"
#include "support/run/interrupt.h"
#include "support/text/text_line.h"
#include "support/text/units.h"

#define MOST_DEVICES 16
#define LINES_AT_ONCE 1024

static const char plain_heading[] = "e2allocsim-trace";

struct device {
	uint64_t device, events;
};

struct trace_reader {
	const char *path;
	FILE *file;
	const uint64_t *wanted;
	trace_visitor visit;
	void *context;
	struct trace_counts *counts;
	struct problem *problem;
	struct device devices[MOST_DEVICES]; /* the first ones of the trace */
	unsigned int device_count;
	bool is_plain, has_begun;
	uint64_t number; /* of the line */
	struct trace_events *events;
	struct trace_queue *queue; /* for the kernel's events */
};

/* --- Which filesystem ---------------------------------------------------------------------------------------- */

static void count_device(struct trace_reader *reading, uint64_t device)
{
	unsigned int index = 0;

	while (index < reading->device_count && reading->devices[index].device != device)
		index++;
	if (index == MOST_DEVICES)
		return;
	if (index == reading->device_count)
		reading->devices[reading->device_count++] = (struct device){ .device = device };
	reading->devices[index].events++;
}

/* Once there are several filesystems, nothing more is replayed, but all are counted. */
static bool is_wanted(const struct trace_reader *reading, uint64_t device)
{
	return reading->wanted ? device == *reading->wanted : reading->device_count == 1;
}

static void list_devices(const struct trace_reader *reading, struct problem *problem)
{
	for (unsigned int index = 0; index < reading->device_count; index++) {
		const struct device *device = &reading->devices[index];

		problem_add(problem, "%s%" PRIu64 ":%" PRIu32 " (%" PRIu64 " event%s)", index ? ", " : " ",
		            device->device >> 32, (uint32_t)device->device, device->events,
		            units_plural(device->events));
	}
}

static errcode_t check_devices(const struct trace_reader *reading, struct problem *problem)
{
	bool is_there = !reading->wanted;
	errcode_t error = 0;

	if (!reading->device_count)
		return problem_set_reason(problem, EINVAL, reading->path, "cannot replay",
		                          "no event in it can be replayed; doc/REPLAY.md says how to take a trace");
	for (unsigned int index = 0; !is_there && index < reading->device_count; index++)
		is_there = reading->devices[index].device == *reading->wanted;
	if (!is_there && !reading->counts->events)
		error = problem_set_reason(problem, EINVAL, reading->path, "cannot replay",
		                           "it has no events of the device %" PRIu64 ":%" PRIu32 ", but of",
		                           *reading->wanted >> 32, (uint32_t)*reading->wanted);
	else if (!reading->wanted && reading->device_count > 1)
		error = problem_set_reason(problem, EINVAL, reading->path, "cannot replay",
		                           "it is of several filesystems, choose one with --device:");
	if (error)
		list_devices(reading, problem);
	return error;
}

/* --- Lines --------------------------------------------------------------------------------------------------- */

static void note_not_understood(struct trace_reader *reading)
{
	if (!reading->counts->not_understood++)
		reading->counts->first_not_understood = reading->number;
}

static errcode_t read_event(struct trace_reader *reading, uint64_t device, const struct trace_event *event)
{
	/* Journals of all filesystems commit, also of idle ones. */
	if (event->kind != TRACE_COMMIT)
		count_device(reading, device);
	else if (!reading->wanted && (!reading->device_count || reading->devices[0].device != device))
		return 0;
	if (!is_wanted(reading, device))
		return 0;
	reading->counts->events++;
	return reading->visit(reading->context, event, reading->problem);
}

static errcode_t read_plain(struct trace_reader *reading, const char *text)
{
	struct trace_event event;
	uint64_t device;

	text += strspn(text, " \t");
	if (!*text || *text == '#')
		return 0;
	if (strncmp(text, "lost count=", 11) == 0 && !units_parse_number(text + 11, 1, UINT32_MAX, &device)) {
		reading->counts->lost += device;
		return 0;
	}
	enum trace_meaning meaning = trace_plain_parse(text, &event, &device);

	if (meaning == TRACE_MEANS_UNKNOWN)
		note_not_understood(reading);
	return meaning == TRACE_MEANS_EVENT ? read_event(reading, device, &event) : 0;
}

static errcode_t read_queued(struct trace_reader *reading, bool is_end)
{
	struct queued_event queued;
	errcode_t error = 0;

	while (!error && trace_queue_next(reading->queue, is_end, &queued))
		error = read_event(reading, queued.device, &queued.event);
	return error;
}

static errcode_t read_meaning(struct trace_reader *reading, const struct trace_line *line, uint64_t device)
{
	struct trace_events *events = reading->events;
	struct queued_event queued = { .device = device };
	enum trace_meaning meaning = trace_events_read(events, line, &queued.event);

	if (events->answers)
		trace_queue_answer(reading->queue, events->answers, events->answer_is_final);
	if (events->written_ino)
		trace_queue_end_writeback(reading->queue, line->process, events->written_ino);
	errcode_t error = read_queued(reading, false);

	if (meaning == TRACE_MEANS_UNKNOWN)
		note_not_understood(reading);
	if (error || meaning != TRACE_MEANS_EVENT)
		return error;
	queued.waits = events->waits;
	queued.is_in_writeback = events->is_delayed;
	trace_queue_add(reading->queue, &queued);
	if (events->is_delayed)
		trace_queue_extend(reading->queue);
	return read_queued(reading, false);
}

static errcode_t read_kernels(struct trace_reader *reading, const char *text)
{
	struct trace_line line;
	uint64_t lost, device;
	enum trace_line_kind kind = trace_line_parse(text, &line, &lost);

	reading->counts->lost += lost;
	if (kind == TRACE_LINE_OTHER)
		note_not_understood(reading);
	if (kind != TRACE_LINE_EVENT || (strncmp(line.name, "ext4_", 5) != 0 && strncmp(line.name, "jbd2_", 5) != 0))
		return 0;
	/* Checked before the process is looked up: on another device it may be in another allocation. */
	if (!trace_line_device(&line, &device)) {
		note_not_understood(reading);
		return 0;
	}
	if (reading->wanted && device != *reading->wanted) {
		count_device(reading, device);
		return 0;
	}
	return read_meaning(reading, &line, device);
}

/* The first line with content decides the kind of text. */
static errcode_t begin(struct trace_reader *reading, const char *text)
{
	size_t bytes = sizeof(plain_heading) - 1;

	reading->has_begun = true;
	if (strncmp(text, plain_heading, bytes) != 0)
		return read_kernels(reading, text);
	reading->is_plain = true;
	if (strcmp(text + bytes, " 1") == 0)
		return 0;
	return problem_set_reason(reading->problem, EINVAL, reading->path, "cannot replay",
	                          "its first line is not \"%s 1\", the only version that is known", plain_heading);
}

static errcode_t read_line(struct trace_reader *reading, char *text, size_t bytes)
{
	while (bytes && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r'))
		text[--bytes] = '\0';
	if (strlen(text) != bytes) {
		note_not_understood(reading);
		return 0;
	}
	if (!reading->has_begun && !bytes)
		return 0;
	if (!reading->has_begun)
		return begin(reading, text);
	return reading->is_plain ? read_plain(reading, text) : read_kernels(reading, text);
}

static errcode_t read_lines(struct trace_reader *reading, struct progress *progress)
{
	SCOPE_FREE char *text = NULL;
	size_t capacity = 0, bytes, progressed = 0;

	for (reading->number = 1;; reading->number++) {
		errcode_t error = text_line_read(reading->file, &text, &capacity, &bytes);

		if (!error && reading->number % LINES_AT_ONCE == 0 && interrupt_pending())
			error = EINTR;
		if (error)
			return problem_set(reading->problem, error, reading->path, "cannot read");
		progressed += bytes;
		if (!bytes || reading->number % LINES_AT_ONCE == 0) {
			progress_add(progress, progressed, 0);
			progressed = 0;
		}
		error = bytes ? read_line(reading, text, bytes) : 0;
		if (error || !bytes)
			return error;
	}
}

errcode_t trace_read(const char *path, const struct trace_options *options, trace_visitor visit, void *context,
                     struct progress *progress, struct trace_counts *counts, struct problem *problem)
{
	struct stat status;

	*counts = (struct trace_counts){ 0 };
	/* Checked before open(2), which would wait on a pipe. */
	if (stat(path, &status))
		return problem_set(problem, errno, path, "cannot open");
	if (!S_ISREG(status.st_mode))
		return problem_set_reason(problem, EINVAL, path, "cannot replay",
		                          "it is not a regular file, and it has to be read several times");
	SCOPE_FCLOSE FILE *file = fopen(path, "re");
	SCOPE_FREE struct trace_events *events = calloc(1, sizeof(*events));
	SCOPE_FREE struct trace_queue *queue = calloc(1, sizeof(*queue));
	struct trace_reader reading = {
		.path = path,
		.file = file,
		.wanted = options->device,
		.visit = visit,
		.context = context,
		.counts = counts,
		.problem = problem,
		.events = events,
		.queue = queue,
	};

	if (!file)
		return problem_set(problem, errno, path, "cannot open");
	if (!events || !queue)
		return problem_set(problem, ENOMEM, path, "cannot read");
	events->cluster_blocks = options->cluster_blocks;
	progress_stage(progress, "replay", (uint64_t)status.st_size, 0);
	errcode_t error = read_lines(&reading, progress);

	if (!error)
		error = read_queued(&reading, true);
	return error ? error : check_devices(&reading, problem);
}
