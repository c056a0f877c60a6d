/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/progress.h"

#include <errno.h>
#include <math.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "support/run/interrupt.h"
#include "support/scope_lock.h"
#include "support/seconds.h"
#include "support/text/json.h"
#include "support/text/units.h"

/* Progress of short work is drawn this often; the longer the work takes, the less often, up to LONGEST_WAIT. */
#define SHORTEST_WAIT 0.05 /* seconds */
#define LONGEST_WAIT 0.2
#define WAIT_PART 0.1 /* of the elapsed time */
/* A terminal does not show the time left of shorter work. */
#define LEAST_SHOWN 1.0
#define SHORTEST_BAR 10 /* columns */
#define LONGEST_BAR 24

struct progress {
	/*
	 * One counter for all workers, added to without order. An addition takes 6 ns on an uncontended line, some 40
	 * ns when two processors write it (see tests/unit/test_progress.c): add per file or batch, not per block.
	 */
	alignas(128) _Atomic uint64_t bytes;
	_Atomic uint64_t files;
	atomic_int waiting; /* how many wait for another process */
	alignas(128) struct {
		_Atomic uint64_t names, bytes, folders, listed;
	} found;

	alignas(128) FILE *stream;
	bool json;
	pthread_t thread;
	sem_t ending;         /* posted when the thread is to end */
	pthread_mutex_t lock; /* protects the members below */
	const char *stage;    /* NULL before the first one */
	uint64_t total_bytes, total_files;
	double begin, start; /* of the stage, and of all */
	struct time_left left;
	struct work whole; /* the whole work, as far as known */
	struct survey survey;
	bool is_known; /* whether all of it is known */
};

/* The values to draw, read once so that the numbers of a line belong together. */
struct picture {
	const char *stage;
	uint64_t bytes, files, total_bytes, total_files;
	double seconds, seconds_all; /* since the beginning of the stage, and of all work */
	double fraction;             /* done; negative: unknown */
	double seconds_left;         /* negative: unknown */
	bool is_waiting;             /* for another process */
};

static struct found read_found(struct progress *progress)
{
	return (struct found){
		.names = atomic_load_explicit(&progress->found.names, memory_order_relaxed),
		.bytes = atomic_load_explicit(&progress->found.bytes, memory_order_relaxed),
		.folders = atomic_load_explicit(&progress->found.folders, memory_order_relaxed),
		.listed = atomic_load_explicit(&progress->found.listed, memory_order_relaxed),
	};
}

/* Estimates the work while the tree is being scanned. */
static void survey(struct progress *progress, const struct picture *picture)
{
	progress->survey.now = read_found(progress);
	progress->survey.examined = picture->files;
	if (progress->survey.now.folders) {
		progress->whole = survey_expect(&progress->survey);
	} else if (picture->fraction > 0) {
		progress->whole.files = (double)picture->files / picture->fraction;
		progress->whole.bytes = (double)progress->survey.now.bytes / picture->fraction;
	}
}

/*
 * The part of a name's cost that is listing: one thread lists 200 000 names of one directory in 0.07 s, while others
 * examine them, which takes 0.28 s of one thread (bench/progress).
 */
#define LISTING_PART 0.2

/* Rates over a shorter time, at the beginning of a stage, would vary too much. */
#define LEAST_MEASURED 0.02 /* seconds */

static void estimate(struct progress *progress, struct picture *picture)
{
	struct work done = { (double)picture->files, (double)picture->bytes };
	struct work total = { (double)picture->total_files, (double)picture->total_bytes };

	if (!progress->is_known)
		survey(progress, picture);
	/* Listing is ahead of examining: one thread lists a large directory as a whole first. */
	if (progress->survey.now.folders && !progress->is_known)
		done.files += LISTING_PART * ((double)progress->survey.now.names - done.files);
	picture->seconds_left = time_left_update(&progress->left, picture->seconds, done, total, progress->whole);
	if (progress->left.count && !progress->whole.files)
		picture->seconds_left = -1;
	if (picture->seconds_all < LEAST_MEASURED)
		picture->seconds_left = -1;
}

static struct picture read_figures(struct progress *progress)
{
	double now = seconds_of(CLOCK_MONOTONIC);
	struct picture picture = {
		.stage = progress->stage,
		.bytes = atomic_load_explicit(&progress->bytes, memory_order_relaxed),
		.files = atomic_load_explicit(&progress->files, memory_order_relaxed),
		.total_bytes = progress->total_bytes,
		.total_files = progress->total_files,
		.seconds = now - progress->begin,
		.seconds_all = now - progress->start,
		.fraction = -1,
		.is_waiting = atomic_load_explicit(&progress->waiting, memory_order_relaxed) > 0,
	};

	if (picture.total_bytes)
		picture.fraction = (double)picture.bytes / (double)picture.total_bytes;
	else if (picture.total_files)
		picture.fraction = (double)picture.files / (double)picture.total_files;
	/* The totals come from the scan; a file that has grown since must not show 101%. */
	if (picture.fraction > 1)
		picture.fraction = 1;
	estimate(progress, &picture);
	return picture;
}

/* Errors stay in the stream. */
static void write_json(FILE *stream, const struct picture *picture)
{
	struct json json = { .stream = stream };

	json_row(&json, NULL, JSON_TEXT("stage", picture->stage), JSON_NUMBER("seconds", picture->seconds, 3),
	         JSON_COUNT("bytes", picture->bytes), JSON_COUNT("total_bytes", picture->total_bytes),
	         JSON_COUNT("files", picture->files), JSON_COUNT("total_files", picture->total_files),
	         JSON_NUMBER("seconds_left", picture->seconds_left < 0 ? NAN : picture->seconds_left, 2),
	         JSON_BOOLEAN("waiting", picture->is_waiting));
	errcode_t error = json_end(&json);

	(void)error;
}

/* The parts of a line, from left to right. */
enum part { PART_STAGE, PART_WAITING, PART_BAR, PART_BYTES, PART_RATE, PART_FILES, PART_LEFT, PARTS };

/* Most important first: a narrow terminal loses the last ones. The bar gets the remaining columns. */
static const enum part by_importance[] = { PART_STAGE, PART_WAITING, PART_BYTES, PART_LEFT, PART_RATE, PART_FILES };

#define PART_BYTES_MOST 96

/* The parts' texts, each with the blanks before it; an empty one is not shown. */
struct line {
	char parts[PARTS][PART_BYTES_MOST];
};

__attribute__((format(printf, 3, 4))) static void put(struct line *line, enum part part, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line->parts[part], PART_BYTES_MOST, format, arguments);
	va_end(arguments);
}

static void put_time_left(struct line *line, const struct picture *picture)
{
	if (picture->seconds_left < 0 || picture->seconds_all < LEAST_SHOWN)
		return;
	unsigned long seconds = picture->seconds_left < 360000 ? (unsigned long)(picture->seconds_left + 0.5) : 359999;

	if (seconds >= 3600)
		put(line, PART_LEFT, "  %lu:%02lu:%02lu left", seconds / 3600, seconds / 60 % 60, seconds % 60);
	else
		put(line, PART_LEFT, "  %lu:%02lu left", seconds / 60, seconds % 60);
}

static void put_fraction(struct line *line, const struct picture *picture)
{
	if (picture->fraction < 0)
		put(line, PART_STAGE, "%s", picture->stage);
	else
		put(line, PART_STAGE, "%s %3u%%", picture->stage, (unsigned int)(picture->fraction * 100));
}

/* Shows the bar if there is room. */
static void put_bar(struct line *line, const struct picture *picture, size_t room)
{
	const size_t blanks_and_ends = 4;

	if (picture->fraction < 0 || room < SHORTEST_BAR + blanks_and_ends)
		return;
	int columns = room < LONGEST_BAR + blanks_and_ends ? (int)(room - blanks_and_ends) : LONGEST_BAR;
	int full = (int)(picture->fraction * columns);

	put(line, PART_BAR, "  [%.*s%.*s]", full, "########################", columns - full,
	    "------------------------");
}

static void put_bytes(struct line *line, const struct picture *picture)
{
	if (!picture->bytes && !picture->total_bytes)
		return;
	if (picture->total_bytes)
		put(line, PART_BYTES, "  %s of %s", units_bytes(picture->bytes).text,
		    units_bytes(picture->total_bytes).text);
	else
		put(line, PART_BYTES, "  %s", units_bytes(picture->bytes).text);
	if (picture->seconds >= 0.1)
		put(line, PART_RATE, "  %s/s", units_bytes((uint64_t)((double)picture->bytes / picture->seconds)).text);
}

/* Not shown beside bytes, which say more: large files come first, so that for a long time few are done. */
static void put_files(struct line *line, const struct picture *picture)
{
	if (picture->total_bytes)
		return;
	if (picture->total_files)
		put(line, PART_FILES, "  %" PRIu64 " of %" PRIu64 " files", picture->files, picture->total_files);
	else if (picture->files)
		put(line, PART_FILES, "  %" PRIu64 " file%s", picture->files, picture->files == 1 ? "" : "s");
}

/* Drops the parts for which there is no room. Returns the remaining columns. */
static size_t fit(struct line *line, size_t columns)
{
	for (unsigned int rank = 0; rank < sizeof(by_importance) / sizeof(*by_importance); rank++) {
		char *part = line->parts[by_importance[rank]];
		size_t width = strlen(part);

		if (width > columns)
			part[rank ? 0 : columns] = '\0';
		columns -= strlen(part);
	}
	return columns;
}

/* One column stays free: a terminal wraps when its last one is written. */
static size_t terminal_columns(FILE *stream)
{
	struct winsize size;

	if (ioctl(fileno(stream), TIOCGWINSZ, &size) || size.ws_col < 2)
		return 79;
	return size.ws_col - 1u;
}

static void draw_bar(FILE *stream, const struct picture *picture)
{
	struct line line = { 0 };

	put_fraction(&line, picture);
	if (picture->is_waiting)
		put(&line, PART_WAITING, "  waiting for another build");
	put_bytes(&line, picture);
	put_files(&line, picture);
	put_time_left(&line, picture);
	put_bar(&line, picture, fit(&line, terminal_columns(stream)));
	/* Write over the old line, then clear the rest: clearing first would flicker. */
	fputc('\r', stream);
	for (unsigned int part = 0; part < PARTS; part++)
		fputs(line.parts[part], stream);
	fputs("\033[K", stream);
	fflush(stream);
}

static void draw(struct progress *progress)
{
	if (!progress->stage)
		return;
	struct picture picture = read_figures(progress);

	if (progress->json)
		write_json(progress->stream, &picture);
	else
		draw_bar(progress->stream, &picture);
}

static void *drawing_main(void *argument)
{
	struct progress *progress = argument;
	for (;;) {
		double now = seconds_of(CLOCK_MONOTONIC);
		double wait = fmin(fmax((now - progress->start) * WAIT_PART, SHORTEST_WAIT), LONGEST_WAIT);
		const struct timespec next = seconds_timespec(now + wait);
		int error;

		do
			error = sem_clockwait(&progress->ending, CLOCK_MONOTONIC, &next) ? errno : 0;
		while (error == EINTR);
		if (!error)
			return NULL;
		SCOPE_LOCK(&progress->lock);
		draw(progress);
	}
}

/* A dumb terminal does not know the escape sequence that clears a line. */
static bool can_redraw(FILE *stream)
{
	const char *terminal = getenv("TERM");

	return isatty(fileno(stream)) && terminal && strcmp(terminal, "dumb");
}

static void destroy(struct progress *progress)
{
	sem_destroy(&progress->ending);
	pthread_mutex_destroy(&progress->lock);
	free(progress);
}

errcode_t progress_start(FILE *stream, enum progress_style style, struct progress **ret)
{
	*ret = NULL;
	if (style == PROGRESS_NONE || (style == PROGRESS_AUTO && !can_redraw(stream)))
		return 0;
	struct progress *progress = aligned_alloc(alignof(struct progress), sizeof(*progress));

	if (!progress)
		return ENOMEM;
	*progress = (struct progress){ .stream = stream,
		                       .json = style == PROGRESS_JSON,
		                       .start = seconds_of(CLOCK_MONOTONIC) };
	time_left_init(&progress->left, NULL, 0);
	pthread_mutex_init(&progress->lock, NULL);
	sem_init(&progress->ending, 0, 0);
	int error = thread_start(&progress->thread, drawing_main, progress);

	if (error) {
		destroy(progress);
		return error;
	}
	*ret = progress;
	return 0;
}

void progress_plan(struct progress *progress, const struct stage_cost *costs, size_t count)
{
	if (!progress)
		return;
	SCOPE_LOCK(&progress->lock);
	time_left_init(&progress->left, costs, count);
}

void progress_stage(struct progress *progress, const char *name, uint64_t total_bytes, uint64_t total_files)
{
	if (!progress)
		return;
	SCOPE_LOCK(&progress->lock);
	/* A reader of the JSON sees every stage's end; a bar just goes on. */
	if (progress->json)
		draw(progress);
	progress->stage = name;
	progress->total_bytes = total_bytes;
	progress->total_files = total_files;
	time_left_begin(&progress->left, name);
	progress->begin = seconds_of(CLOCK_MONOTONIC);
	atomic_store_explicit(&progress->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&progress->files, 0, memory_order_relaxed);
}

void progress_expect(struct progress *progress, uint64_t files, uint64_t bytes)
{
	if (!progress)
		return;
	SCOPE_LOCK(&progress->lock);
	progress->whole = (struct work){ (double)files, (double)bytes };
	progress->is_known = true;
}

void progress_total(struct progress *progress, uint64_t bytes)
{
	if (!progress)
		return;
	SCOPE_LOCK(&progress->lock);
	progress->total_bytes = bytes;
}

void progress_find(struct progress *progress, const struct found *more)
{
	if (!progress)
		return;
	if (more->names)
		atomic_fetch_add_explicit(&progress->found.names, more->names, memory_order_relaxed);
	if (more->bytes)
		atomic_fetch_add_explicit(&progress->found.bytes, more->bytes, memory_order_relaxed);
	if (more->folders)
		atomic_fetch_add_explicit(&progress->found.folders, more->folders, memory_order_relaxed);
	if (more->listed)
		atomic_fetch_add_explicit(&progress->found.listed, more->listed, memory_order_relaxed);
}

void progress_survey_level(struct progress *progress)
{
	if (!progress)
		return;
	SCOPE_LOCK(&progress->lock);
	progress->survey.at_level = read_found(progress);
}

void progress_add(struct progress *progress, uint64_t bytes, uint64_t files)
{
	if (!progress)
		return;
	if (bytes)
		atomic_fetch_add_explicit(&progress->bytes, bytes, memory_order_relaxed);
	if (files)
		atomic_fetch_add_explicit(&progress->files, files, memory_order_relaxed);
}

void progress_wait(struct progress *progress, int more)
{
	if (progress)
		atomic_fetch_add_explicit(&progress->waiting, more, memory_order_relaxed);
}

void progress_end(struct progress *progress)
{
	if (!progress)
		return;
	sem_post(&progress->ending);
	pthread_join(progress->thread, NULL);
	if (progress->json) {
		draw(progress);
	} else {
		fputs("\r\033[K", progress->stream);
		fflush(progress->stream);
	}
	destroy(progress);
}
