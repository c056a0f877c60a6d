/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/limited_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "source/archive/iso.h"
#include "support/run/children.h"

#define BLOCK_BYTES (64 << 10)
#define ZERO_BYTES 4096

/* An estimate of the size of threads' stacks, used if /proc is missing. */
#define UNKNOWN_BYTES ((uint64_t)1 << 30)

/* Tells why the child has failed. */
struct limited_report {
	errcode_t error;                 /* 0: the child has not failed, or could not report it */
	uint64_t most_mib, most_seconds; /* what the child was allowed */
	char member[4096];               /* "": no member is concerned */
	char reason[512];                /* "": the error says it */
	struct archive_rest rest;        /* what follows the archive */
};

struct converting {
	struct archive_input input;
	struct archive *tar;
	struct archive_entry *entry; /* the member at hand; NULL: there is none */
	struct limited_report *report;
	struct iso_extents *extents; /* of an ISO 9660 image */
	int pipe;
};

const struct archive_kind archive_kind_converted = {
	.what = "a tar archive",
	.is_converted = true,
	.formats = { archive_read_support_format_tar },
};

static errcode_t fail(const struct converting *converting, errcode_t error, const char *reason)
{
	struct limited_report *report = converting->report;
	const char *member = converting->entry ? archive_entry_pathname(converting->entry) : NULL;

	report->error = error;
	snprintf(report->member, sizeof(report->member), "%s", member ? member : "");
	snprintf(report->reason, sizeof(report->reason), "%s", reason ? reason : "");
	return error;
}

/* Reports a failure to read. */
static errcode_t fail_to_read(const struct converting *converting, errcode_t error)
{
	const struct archive_input *input = &converting->input;
	struct problem problem = { 0 };

	/* libarchive may say what it could not read but not why; then errno of the last failed call tells. */
	if (errno == ENOMEM || (input->archive && archive_errno(input->archive) == ENOMEM) || error == ENOMEM)
		return fail(converting, ENOMEM, NULL);
	archive_input_problem(input, error, NULL, &problem);
	fail(converting, error, problem.reason);
	problem_clear(&problem);
	return error;
}

static errcode_t fail_to_write(const struct converting *converting)
{
	return fail(converting, archive_errno(converting->tar) == ENOMEM ? ENOMEM : EBADMSG,
	            archive_error_string(converting->tar));
}

/*
 * Sets the time limit for writing the next block, from now on. It is less if the user's own limit (ulimit -t) is near.
 */
static void allow_time(struct limited_report *report)
{
	struct rusage usage;
	struct rlimit limit;

	if (getrusage(RUSAGE_SELF, &usage) || getrlimit(RLIMIT_CPU, &limit))
		return;
	rlim_t used = (rlim_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);

	limit.rlim_cur = used + 1 + LIMITED_READER_SECONDS;
	/* At the hard limit the kernel sends SIGKILL, which does not tell why, so the limit stays below it. */
	if (limit.rlim_max != RLIM_INFINITY && limit.rlim_cur >= limit.rlim_max)
		limit.rlim_cur = limit.rlim_max > 1 ? limit.rlim_max - 1 : 1;
	report->most_seconds = limit.rlim_cur > used ? limit.rlim_cur - used - 1 : 0;
	setrlimit(RLIMIT_CPU, &limit);
}

/* The bytes that the kernel counts for limits of memory. They include a copy of all of ours, since the child was
 * forked. */
struct memory_used {
	uint64_t all_bytes, data_bytes; /* for RLIMIT_AS and RLIMIT_DATA */
};

static struct memory_used memory_used(void)
{
	SCOPE_CLOSE int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long all = 0, data = 0;
	char text[128] = "";
	struct rusage usage;

	if (descriptor >= 0 && read(descriptor, text, sizeof(text) - 1) > 0 &&
	    sscanf(text, "%lu %*u %*u %*u %*u %lu", &all, &data) == 2)
		return (struct memory_used){ all * page_bytes, data * page_bytes };
	uint64_t unknown = (getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss << 10) + UNKNOWN_BYTES;

	return (struct memory_used){ unknown, unknown };
}

/* Returns how much below a limit there is. */
static uint64_t room_below(rlim_t limit, uint64_t used_bytes)
{
	return limit == RLIM_INFINITY ? UINT64_MAX : limit > used_bytes ? limit - used_bytes : 0;
}

static void limit_memory(struct limited_report *report)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit limit, all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct memory_used used = memory_used();
	uint64_t most = used.data_bytes + ((uint64_t)LIMITED_READER_MIB << 20), room;

	if (getrlimit(RLIMIT_DATA, &limit))
		return;
	/* The user's own limits (ulimit -d, ulimit -v) can be lower. */
	if (most < limit.rlim_cur)
		limit.rlim_cur = most;
	getrlimit(RLIMIT_AS, &all);
	room = room_below(limit.rlim_cur, used.data_bytes);
	most = room_below(all.rlim_cur, used.all_bytes);
	report->most_mib = (room < most ? room : most) >> 20;
	setrlimit(RLIMIT_DATA, &limit);
	setrlimit(RLIMIT_CORE, &none);
}

static la_ssize_t write_block(struct archive *tar, void *context, const void *bytes, size_t count)
{
	const struct converting *converting = context;
	const char *next = bytes;

	for (size_t left = count; left;) {
		ssize_t written = write(converting->pipe, next, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			archive_set_error(tar, errno, "%s", strerror(errno));
			return ARCHIVE_FATAL;
		}
		next += written;
		left -= (size_t)written;
	}
	allow_time(converting->report);
	return (la_ssize_t)count;
}

static errcode_t write_all(const struct converting *converting, const void *bytes, size_t count)
{
	const char *next = bytes;

	while (count) {
		la_ssize_t written = archive_write_data(converting->tar, next, count);

		if (written <= 0)
			return fail_to_write(converting);
		next += written;
		count -= (size_t)written;
	}
	return 0;
}

/* Writes zeros for a hole of the source; they become holes again. */
static errcode_t write_zeros(const struct converting *converting, uint64_t count)
{
	static const char zeros[ZERO_BYTES];
	errcode_t error = 0;

	while (!error && count) {
		size_t part = count < sizeof(zeros) ? (size_t)count : sizeof(zeros);

		error = write_all(converting, zeros, part);
		count -= part;
	}
	return error;
}

static errcode_t copy_contents(const struct converting *converting, uint64_t most)
{
	uint64_t end = 0;

	for (;;) {
		const void *bytes;
		size_t count;
		la_int64_t at;
		errno = 0;
		int result = archive_read_data_block(converting->input.archive, &bytes, &count, &at);

		if (result == ARCHIVE_EOF)
			return 0;
		if (result != ARCHIVE_OK)
			return fail_to_read(converting, converting->input.error ? converting->input.error : EBADMSG);
		if (!count)
			continue;
		if (at < 0 || (uint64_t)at < end || (uint64_t)at > most || count > most - (uint64_t)at)
			return fail(converting, EBADMSG, "its contents go beyond its size or are out of order");
		errcode_t error = write_zeros(converting, (uint64_t)at - end);

		if (!error)
			error = write_all(converting, bytes, count);
		if (error)
			return error;
		end = (uint64_t)at + count;
	}
}

static bool is_format(const struct converting *converting, int format)
{
	return (archive_format(converting->input.archive) & ARCHIVE_FORMAT_BASE_MASK) == format;
}

/* entry NULL: the image has ended. */
static errcode_t check_extents(const struct converting *converting, struct archive_entry *entry)
{
	const struct iso_extents *extents = converting->extents;
	bool is_whole = true;
	errcode_t error = iso_note_contents(&converting->input, entry, converting->extents, &is_whole);

	if (error)
		return fail(converting, error, NULL);
	if (is_whole)
		return 0;
	fail(converting, EFBIG,
	     "a file of 4 GiB or more: ISO 9660 has only the remainder of its size, and UDF, which has all of it, is "
	     "not "
	     "read; mount the image, and give the mounted directory");
	snprintf(converting->report->member, sizeof(converting->report->member), "%s", extents->name);
	return EFBIG;
}

static errcode_t copy_member(const struct converting *converting)
{
	struct archive_entry *entry = converting->entry;
	bool is_ar = is_format(converting, ARCHIVE_FORMAT_AR);

	/* GNU ar stores only permissions, and all its members are regular files. */
	if (is_ar && !archive_entry_filetype(entry))
		archive_entry_set_filetype(entry, AE_IFREG);
	bool has_contents = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry);

	if (!archive_entry_pathname(entry))
		return fail(converting, EILSEQ, "the name of a member is damaged");
	if (!archive_entry_size_is_set(entry))
		archive_entry_set_size(entry, 0);
	if (archive_entry_size(entry) < 0)
		return fail(converting, EBADMSG, "its size is negative");
	if (is_format(converting, ARCHIVE_FORMAT_ISO9660)) {
		errcode_t error = has_contents && archive_entry_size(entry) ? check_extents(converting, entry) : 0;

		if (error)
			return error;
		iso_mend_device(entry);
	}
	if (archive_write_header(converting->tar, entry) < ARCHIVE_WARN)
		return fail_to_write(converting);
	return has_contents ? copy_contents(converting, (uint64_t)archive_entry_size(entry)) : 0;
}

static bool is_harmless(const struct converting *converting)
{
	const char *warning = archive_error_string(converting->input.archive);

	return warning && strstr(warning, "be converted") && archive_entry_pathname(converting->entry);
}

/* All members have been read. */
static errcode_t end_members(struct converting *converting)
{
	struct limited_report *report = converting->report;
	errcode_t error = is_format(converting, ARCHIVE_FORMAT_ISO9660) ? check_extents(converting, NULL) : 0;

	if (error)
		return error;
	error = archive_rest_look(&converting->input, &report->rest);
	return error ? fail_to_read(converting, error) : 0;
}

static errcode_t copy_members(struct converting *converting)
{
	for (;;) {
		converting->entry = NULL;
		int result = archive_input_next(&converting->input, &converting->entry);

		if (result == ARCHIVE_EOF)
			return end_members(converting);
		if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
			converting->entry = NULL; /* it is not whole */
		if (result != ARCHIVE_OK && (result != ARCHIVE_WARN || !is_harmless(converting)))
			return fail_to_read(converting, converting->input.error ? converting->input.error : EBADMSG);
		errcode_t error = copy_member(converting);

		if (error)
			return error;
	}
}

/* Converts the archive. The child ends afterwards, so nothing is freed. */
static errcode_t convert(struct converting *converting, int descriptor, const struct archive_kind *kind,
                         const struct scan_options *options)
{
	errno = 0;
	errcode_t error = archive_input_open(&converting->input, descriptor, kind, ARCHIVE_INPUT_ALL, options);

	if (error)
		return fail_to_read(converting, error);
	converting->tar = archive_write_new();
	if (!converting->tar || archive_write_set_format_pax(converting->tar) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(converting->tar, BLOCK_BYTES) != ARCHIVE_OK)
		return fail(converting, ENOMEM, NULL);
	if (archive_write_open(converting->tar, converting, NULL, write_block, NULL) != ARCHIVE_OK)
		return fail_to_write(converting);
	error = copy_members(converting);
	converting->entry = NULL;
	if (!error && archive_write_close(converting->tar) != ARCHIVE_OK)
		return fail_to_write(converting);
	return error;
}

/* Prepares the child: it ends when we end, and signals that we only note end it. */
static void become_child(pid_t parent, const sigset_t *signals)
{
	static const int defaults[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGPIPE, SIGXFSZ };

	/* The child has a process group of its own: Ctrl-C reaches only us, and we end the child. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
		signal(defaults[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, signals, NULL);
}

errcode_t limited_reader_start(struct limited_reader *reader, int descriptor, const struct archive_kind *kind,
                               const struct scan_options *options)
{
	/* The child has no threads, shows nothing, and has little memory. */
	const struct scan_options own = { .spool_directory = options->spool_directory, .counts = options->counts };

	pid_t parent = getpid();
	sigset_t all, old;
	int ends[2];

	reader->archive = -1;
	reader->report = mmap(NULL, sizeof(*reader->report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reader->report == MAP_FAILED)
		reader->report = NULL;
	if (!reader->report || pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t child = children_fork();
	int error = errno;

	if (child == 0) {
		struct iso_extents extents = { 0 };
		struct converting converting = { .report = reader->report, .extents = &extents, .pipe = ends[1] };

		close(ends[0]);
		become_child(parent, &old);
		limit_memory(reader->report);
		allow_time(reader->report);
		_exit(convert(&converting, descriptor, kind, &own) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(ends[1]);
	reader->archive = ends[0];
	reader->child = child < 0 ? 0 : child;
	return child < 0 ? error : 0;
}

static errcode_t set_problem(const struct limited_report *report, int status, const char *name, struct problem *problem)
{
	static const char otherwise[] = "what bsdtar -cf - @FILE makes of it is read without this limit";
	SCOPE_FREE char *path = NULL;

	if (!*report->member || asprintf(&path, "%s: %s", name, report->member) < 0)
		path = NULL;
	problem_clear(problem);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return problem_set_reason(problem, ETIMEDOUT, name, "cannot read",
		                          "libarchive takes more than %" PRIu64 " seconds for what is next in it; %s",
		                          report->most_seconds, otherwise);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return problem_set_reason(
			problem, ENOMEM, name, "cannot read",
			"the process that reads it was killed (signal %d); is there too little memory?", SIGKILL);
	if (WIFSIGNALED(status))
		return problem_set_reason(problem, EBADMSG, name, "cannot read", "libarchive has crashed (signal %d)",
		                          WTERMSIG(status));
	if (report->error == ENOMEM)
		return problem_set_reason(problem, ENOMEM, path ? path : name, "cannot read",
		                          "libarchive takes more than %" PRIu64 " MiB of memory; %s", report->most_mib,
		                          otherwise);
	if (!*report->reason)
		return problem_set(problem, report->error, path ? path : name, "cannot read");
	return problem_set_reason(problem, report->error, path ? path : name, "cannot read", "%s", report->reason);
}

errcode_t limited_reader_end(struct limited_reader *reader, errcode_t error, const char *name,
                             struct archive_rest *rest, struct problem *problem)
{
	int status = 0;

	*rest = (struct archive_rest){ 0 };

	if (reader->child) {
		struct pollfd pipe = { .fd = reader->archive };
		/* If a child ends by itself, its pipe has no writer any more. */
		bool is_ours = error && !(poll(&pipe, 1, 0) > 0 && pipe.revents & POLLHUP);

		if (is_ours)
			kill(reader->child, SIGKILL);
		errcode_t wait_error = children_wait(reader->child, &status);

		error = error ? error : wait_error;
		if (error != EINTR && !is_ours && (WIFSIGNALED(status) || reader->report->error))
			error = set_problem(reader->report, status, name, problem);
		close(reader->archive);
	}
	if (reader->report && !error)
		*rest = reader->report->rest;
	if (reader->report)
		munmap(reader->report, sizeof(*reader->report));
	*reader = (struct limited_reader){ 0 };
	return error;
}
