/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/forms/saved_report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "support/text/json_document.h"
#include "support/io/whole_io.h"

#define ACTION "cannot use the report"

/* Members that cannot exceed others. (Files may share blocks, and runs may cross the spans that the ideal counts.) */
static const struct {
	const char *less, *more;
} limits[] = {
	{ "free.blocks", "filesystem.blocks" },
	{ "free.extents", "free.blocks" },
	{ "files.count", "filesystem.inodes" },
	{ "files.extents", "files.blocks" },
	{ "files.runs", "files.blocks" },
	{ "files.fragmented_files", "files.count" },
	{ "files.map_blocks", "filesystem.blocks" },
	{ "directories.extents", "filesystem.blocks" },
};

struct report_reader {
	const char *path;
	const json_object *document;
	struct problem *problem;
};

static errcode_t refuse(const struct report_reader *reading, const char *member, const char *why)
{
	return problem_set_reason(reading->problem, EINVAL, reading->path, ACTION, "%s %s", member, why);
}

/* Finds a nested member: "files.count". NULL: there is none. */
static json_object *find(const json_object *object, const char *path)
{
	char name[32];
	size_t bytes = strcspn(path, ".");
	json_object *member = NULL;

	snprintf(name, sizeof(name), "%.*s", (int)bytes, path);
	if (!json_object_is_type(object, json_type_object) || !json_object_object_get_ex(object, name, &member))
		return NULL;
	return path[bytes] ? find(member, path + bytes + 1) : member;
}

static errcode_t number_at(const struct report_reader *reading, const char *path, double *number)
{
	const json_object *member = find(reading->document, path);

	if (!json_object_is_type(member, json_type_int) && !json_object_is_type(member, json_type_double))
		return refuse(reading, path, member ? "is no number" : "is missing");
	*number = json_object_get_double(member);
	/* The limit is far above any count of ext4. */
	return *number >= 0 && *number <= INT64_MAX / 1024 ? 0 : refuse(reading, path, "is out of range");
}

static errcode_t read_figure(const struct report_reader *reading, const struct figure *figure, double block_kilobytes,
                             double *value)
{
	double first, second = 0, blocks = 0;
	errcode_t error = number_at(reading, figure->first, &first);

	if (!error && figure->second)
		error = number_at(reading, figure->second, &second);
	if (!error && figure->rule == FIGURE_SCORE)
		error = number_at(reading, "files.blocks", &blocks);
	if (!error)
		*value = figure_value(figure, first, second, blocks, block_kilobytes);
	return error;
}

static errcode_t read_figures(const struct report_reader *reading, struct figure_values *values)
{
	double block_bytes;
	errcode_t error = number_at(reading, "filesystem.block_bytes", &block_bytes);

	if (!error && (block_bytes < 1024 || block_bytes > 65536))
		error = refuse(reading, "filesystem.block_bytes", "is out of range");
	for (size_t n = 0; !error && n < FIGURE_COUNT; n++)
		if (figures[n].is_of_files ? values->has_files : values->has_free_space)
			error = read_figure(reading, &figures[n], block_bytes / 1024, &values->values[n]);
	return error;
}

static errcode_t check_limits(const struct report_reader *reading)
{
	for (size_t n = 0; n < sizeof(limits) / sizeof(*limits); n++) {
		double less, more;

		if (!find(reading->document, limits[n].less))
			continue;
		errcode_t error = number_at(reading, limits[n].less, &less);

		if (!error)
			error = number_at(reading, limits[n].more, &more);
		if (error)
			return error;
		if (less > more)
			return problem_set_reason(reading->problem, EINVAL, reading->path, ACTION, "%s is more than %s",
			                          limits[n].less, limits[n].more);
	}
	return 0;
}

static errcode_t read_member(const struct report_reader *reading, struct saved_report *report)
{
	struct figure_values *values = &report->figures;
	const json_object *target = find(reading->document, "filesystem.target");
	const json_object *verdict = find(reading->document, "verdict.words");
	double damage;

	if (!json_object_is_type(target, json_type_string) || !find(reading->document, "unreadable"))
		return problem_set_reason(reading->problem, EINVAL, reading->path, ACTION,
		                          "it is not what e2frag --json says of one filesystem");
	report->target = strdup(json_object_get_string((json_object *)target));
	if (!report->target)
		return ENOMEM;
	values->target = report->target;
	if (json_object_is_type(verdict, json_type_string)) {
		report->verdict = strdup(json_object_get_string((json_object *)verdict));
		if (!report->verdict)
			return ENOMEM;
	}
	values->verdict = report->verdict;
	values->has_free_space = find(reading->document, "free");
	values->has_files = find(reading->document, "files");
	errcode_t error = number_at(reading, "unreadable.count", &damage);

	if (!error)
		error = read_figures(reading, values);
	if (error)
		return error;
	values->damage_count = (uint64_t)damage;
	return check_limits(reading);
}

static errcode_t parse(struct report_reader *reading, size_t bytes, struct saved_report *report)
{
	json_object *document;
	errcode_t error = json_document_parse(reading->path, ACTION, report->text, bytes, &document, reading->problem);

	if (error)
		return error;
	reading->document = document;
	error = read_member(reading, report);
	json_object_put(document);
	return error;
}

bool saved_report_is(const char *path)
{
	struct stat status;
	char first = 0;

	/* Checked before open(2), which can have effects on devices. */
	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return false;
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return descriptor >= 0 && pread(descriptor, &first, 1, 0) == 1 && first == '{';
}

errcode_t saved_report_read(const char *path, struct saved_report *report, struct problem *problem)
{
	struct report_reader reading = { .path = path, .problem = problem };
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	*report = (struct saved_report){ 0 };
	if (descriptor < 0 || fstat(descriptor, &status))
		return problem_set(problem, errno, path, "cannot open the report");
	if (status.st_size > SAVED_REPORT_BYTES)
		return problem_set(problem, EFBIG, path, ACTION);
	size_t bytes = (size_t)status.st_size;

	report->text = malloc(bytes + 1);
	errcode_t error = report->text ? whole_read(descriptor, report->text, bytes, 0) : ENOMEM;

	if (error)
		return problem_set(problem, error, path, "cannot read the report");
	report->text[bytes] = '\0';
	error = parse(&reading, bytes, report);
	return error ? problem_set(problem, error, path, ACTION) : 0;
}

void saved_report_free(struct saved_report *report)
{
	free(report->text);
	free(report->target);
	free(report->verdict);
	*report = (struct saved_report){ 0 };
}
