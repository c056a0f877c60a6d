/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "compare/tunables.h"
#include "simulate/results/shown.h"
#include "simulate/run/load.h"

#define WHY_BYTES 256

/* An inconsistent image is not written. */
static errcode_t check(struct image *image, struct problem *problem)
{
	char why[WHY_BYTES] = "";
	errcode_t error = ext2mb_check(image->mb, why, sizeof(why));

	if (error && !*why)
		return problem_set(problem, error, image->path, "cannot check the allocator");
	return error ? problem_set_reason(problem, error, image->path, "the allocator is not consistent", "%s", why) :
	               0;
}

static errcode_t write_image(struct image *image, struct problem *problem)
{
	errcode_t error = image->files ? file_set_write(image, image->files) : 0;

	if (error)
		return problem_set(problem, error, image->path, "cannot write the files");
	return image_finish(image, problem);
}

/* An impossible answer of a library's policy is the reason for all other failures. */
static errcode_t explain_policy(const struct image *image, errcode_t error, struct problem *problem)
{
	const char *failure = policy_failure(image->mb);

	if (!failure || error == EINTR)
		return error;
	problem_clear(problem);
	return problem_set_reason(problem, ELIBBAD, image->policy_path, "wrong answer", "%s", failure);
}

/* A run that leaves out corrupt groups says nothing about the filesystem, and writing would make the damage worse. */
static errcode_t refuse_damaged(const struct image *image, errcode_t error, struct problem *problem)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };

	if (error == EINTR || ext2mb_read_stats(image->mb, &stats) || !stats.corrupt_groups)
		return error;
	problem_clear(problem);
	return problem_set_reason(problem, EXT2MB_ET_CORRUPT_GROUP, image->path, "cannot simulate on it",
	                          "%" PRIu64 " group%s damaged: run e2fsck first", stats.corrupt_groups,
	                          stats.corrupt_groups == 1 ? " is" : "s are");
}

/* Says what does not fit, and which options make it smaller. */
static errcode_t explain_space(const struct simulation *simulation, uint64_t free_bytes, errcode_t error)
{
	struct problem *problem = simulation->problem;
	const char *path = simulation->image->path, *action = problem->action;
	const char *smaller = simulation->options->workload->smaller;

	if (error != EXT2MB_ET_NO_SPACE || problem->reason || !smaller)
		return error;
	problem_clear(problem);
	if (!simulation->asked_bytes)
		return problem_set_reason(problem, error, path, action,
		                          "it does not fit: %" PRIu64 " bytes are free: try less with %s", free_bytes,
		                          smaller);
	return problem_set_reason(problem, error, path, action,
	                          "it does not fit: %" PRIu64 " bytes are asked for and %" PRIu64
	                          " are free: try less with %s",
	                          simulation->asked_bytes, free_bytes, smaller);
}

/* Adds the load of other programs to the measured values. */
static void add_load(struct result *result, const struct load *begin)
{
	if (result_is_measured(result))
		result_add(result, NULL, RESULT_MEASURED,
		           (const struct named_value[]){
				   { "others_processors", "Processors that others used", load_others(begin), 2 },
				   { 0 },
			   });
}

/* Returns the settings with the configuration's own. */
static const struct setting *settings_of(const struct simulate_options *options,
                                         const struct configuration *configuration, struct setting *own)
{
	if (!configuration->orphans)
		return options->settings;
	for (unsigned int index = 0; options->workload->options[index].name; index++)
		own[index] = options->settings[index];
	workload_setting(options->workload, own, "orphans")->number = configuration->orphans - 1;
	return own;
}

static errcode_t run_on(const struct simulate_options *options, struct image *image, struct measurement *measurement,
                        bool is_written, struct problem *problem)
{
	struct setting own[WORKLOAD_MOST_OPTIONS];
	struct simulation simulation = {
		.image = image,
		.options = options,
		.configuration = measurement->configuration,
		.settings = settings_of(options, measurement->configuration, own),
		.threads = options->machine ? 0 : measurement->threads,
		.processors = options->machine ? measurement->threads : options->processors,
		.result = &measurement->result,
		.problem = problem,
	};
	errcode_t error = pool_create(simulation.threads, &simulation.pool);

	if (error)
		return problem_set(problem, error, NULL, "cannot start threads");
	const uint64_t free_bytes = ext2mb_free_blocks(image->mb) * image->format.block_bytes;
	const struct load load = load_begin();

	error = options->workload->run(&simulation);
	add_load(&measurement->result, &load);
	pool_destroy(simulation.pool);
	error = explain_policy(image, error, problem);
	if (!error)
		error = check(image, problem);
	if (!error && image->files) {
		error = file_set_place(image, image->files);
		if (error)
			problem_set(problem, error, image->path, "cannot place maps and directories");
		error = explain_policy(image, error, problem);
	}
	error = explain_space(&simulation, free_bytes, error);
	if (!error && options->workload->measure)
		error = options->workload->measure(&simulation);
	error = refuse_damaged(image, error, problem);
	if (!error && options->shown) {
		error = shown_capture(options->shown, options->shown_as_json, image->mb, &measurement->shown);
		if (error)
			problem_set(problem, error, image->path, "cannot show what the allocator knows");
	}
	if (!error && is_written)
		error = write_image(image, problem);
	return error;
}

/* Opens the image, and fails if the allocator lacks a value that was set; for several runs the message names the run.
 */
static errcode_t open_image(const struct simulate_options *options, const struct configuration *configuration,
                            bool is_written, struct image *image, struct problem *problem)
{
	const char *given = options->directory ? options->directory : options->workload->name;
	const char *directory = options->workload->input ? NULL : given;
	errcode_t error = image_open(options->image, options->image_file ? options->image_file : options->image,
	                             directory, &configuration->options, is_written, image, problem);

	if (error)
		return error;
	error = tunables_verify(image->mb, &configuration->options, problem);
	if (error && options->configuration_count > 1)
		problem_add(problem, " (in the run \"%s\")", configuration->name);
	return error;
}

static errcode_t measure(const struct simulate_options *options, struct measurement *measurement, bool is_written,
                         struct problem *problem)
{
	struct image image;
	errcode_t error = open_image(options, measurement->configuration, is_written, &image, problem);

	if (!error)
		error = run_on(options, &image, measurement, is_written, problem);
	image_close(&image);
	file_set_free(image.files);
	return error;
}

/* Checks all configurations before the first run, so that a wrong one does not fail after the others. */
static errcode_t check_configurations(const struct simulate_options *options, struct problem *problem)
{
	errcode_t error = 0;

	for (size_t index = 0; options->configuration_count > 1 && index < options->configuration_count && !error;
	     index++) {
		const struct configuration *configuration = &options->configurations[index];
		struct image image;

		if (!configuration->options.tunables_set)
			continue;
		error = open_image(options, configuration, false, &image, problem);
		image_close(&image);
	}
	return error;
}

/* All measurements are repeated in turn, so that a disturbance affects all of them. */
static errcode_t measure_all(const struct simulate_options *options, struct measurement *runs, size_t total,
                             struct problem *problem)
{
	bool is_written = total == 1 && options->repeats == 1 && !options->dry_run && !options->workload->input;
	errcode_t error = check_configurations(options, problem);

	for (size_t run = 0; !error && run < total * options->repeats; run++) {
		size_t index = run % total;

		runs[run].configuration = &options->configurations[index / options->thread_count];
		runs[run].threads = options->threads[index % options->thread_count];
		error = measure(options, &runs[run], is_written, problem);
	}
	return error;
}

errcode_t simulate(const struct simulate_options *options, struct measurement **ret, size_t *count,
                   struct problem *problem)
{
	size_t total = options->configuration_count * options->thread_count;
	struct measurement *runs = calloc(total * options->repeats, sizeof(*runs));
	SCOPE_FREE struct result *repeats = calloc(options->repeats, sizeof(*repeats));

	errcode_t error = runs && repeats ? measure_all(options, runs, total, problem) :
	                                    problem_set(problem, ENOMEM, NULL, "cannot simulate");

	if (error) {
		measurements_free(options, runs, total);
		return error;
	}
	for (size_t index = 0; index < total; index++) {
		for (unsigned int repeat = 0; repeat < options->repeats; repeat++)
			repeats[repeat] = runs[repeat * total + index].result;
		result_median(repeats, options->repeats, &runs[index].result);
	}
	*count = total;
	*ret = runs;
	return 0;
}

void measurements_free(const struct simulate_options *options, struct measurement *measurements, size_t count)
{
	for (size_t run = 0; measurements && run < count * options->repeats; run++)
		free(measurements[run].shown);
	free(measurements);
}

static const struct workload *const workloads[] = {
	&fallocate2_workload, &append_workload,    &normalize_workload,
	&truncate_workload,   &creat_clo_workload, &unlink_workload,
	&age_workload,        &replay_workload,    NULL,
};

const struct workload *workload_get(unsigned int index)
{
	return index < sizeof(workloads) / sizeof(*workloads) ? workloads[index] : NULL;
}

const struct workload *workload_find(const char *name)
{
	for (unsigned int index = 0; workloads[index]; index++)
		if (strcmp(workloads[index]->name, name) == 0)
			return workloads[index];
	return NULL;
}

bool workload_has_option(const struct workload *workload, const char *name)
{
	for (unsigned int index = 0; workload->options[index].name; index++)
		if (strcmp(workload->options[index].name, name) == 0)
			return true;
	return false;
}

struct setting *workload_setting(const struct workload *workload, struct setting *settings, const char *name)
{
	size_t index = 0;

	while (strcmp(workload->options[index].name, name) != 0)
		index++;
	return &settings[index];
}

void workload_preset(const struct workload *workload, struct setting *settings)
{
	for (unsigned int index = 0; workload->options[index].name; index++)
		settings[index] = (struct setting){ .number = workload->options[index].preset };
}

errcode_t simulate_age(const struct simulate_options *options, unsigned int fill, unsigned int churn,
                       struct problem *problem)
{
	const struct configuration as_linux = { .options.policy = POLICY_SERIES };
	struct setting settings[WORKLOAD_MOST_OPTIONS];
	struct measurement measurement = { .configuration = &as_linux };
	const struct simulate_options ageing = {
		.image = options->image,
		.image_file = options->image_file,
		.workload = &age_workload,
		.settings = settings,
		.processors = options->processors,
		.seed = options->seed,
		.progress = options->progress,
	};

	workload_preset(&age_workload, settings);
	if (fill)
		workload_setting(&age_workload, settings, "fill")->number = fill;
	if (churn)
		workload_setting(&age_workload, settings, "churn")->number = churn;
	return measure(&ageing, &measurement, true, problem);
}
