/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2allocsim: reads options, and prints one report or one message. The work is in lib/simulate. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "e2allocsim_options.h"
#include "compare/user_library.h"
#include "simulate/results/report.h"
#include "disk/place.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"

const char *tool_name = "e2allocsim";

/* The library whose policy functions are being called; NULL: none. */
static const char *asked_library;

/* A policy that calls exit(3) would end the program as if the run had succeeded. The first of several threads reports
 * it. */
static void note_end(void)
{
	static atomic_flag is_told = ATOMIC_FLAG_INIT;

	if (!asked_library)
		return;
	while (atomic_flag_test_and_set(&is_told))
		pause();
	fprintf(stderr, "%s: %s: cannot use it as a policy: it has ended the program\n", tool_name, asked_library);
	_exit(EXIT_FAILURE);
}

/* exit(3) removes a function from its list before it calls it. Without a second entry, another thread could end the
 * program before the first has reported. */
static errcode_t watch_end(void)
{
	for (unsigned int thread = 0; thread <= MOST_THREADS; thread++)
		if (atexit(note_end))
			return ENOMEM;
	return 0;
}

static errcode_t run_simulation(struct command *command, struct measurement **measurements, size_t *count,
                                struct problem *problem)
{
	errcode_t error = progress_start(stderr, command->progress, &command->options.progress);

	if (!error && command->is_aged)
		error = simulate_age(&command->options, 0, 0, problem);
	if (!error && command->is_half_full)
		error = simulate_age(&command->options, SIMULATE_HALF_FULL_FILL, SIMULATE_HALF_FULL_CHURN, problem);
	if (!error)
		error = simulate(&command->options, measurements, count, problem);
	progress_end(command->options.progress);
	return error;
}

static errcode_t simulate_on(struct command *command, const struct place *place, struct measurement **measurements,
                             size_t *count, struct problem *problem)
{
	if (command->is_in_place && place_is_unpacked(place))
		return place_refuse_writing(place->name, "cannot write the result into it", problem);
	errcode_t error = target_check_end(&place->target, place->name, "cannot open the filesystem", problem);

	if (error)
		return error;
	error = run_simulation(command, measurements, count, problem);
	return error == EXT2_ET_BAD_MAGIC || error == EXT2_ET_SHORT_READ ?
	               target_explain(&place->target, error, problem) :
	               error;
}

/* A packed image is unpacked for it. */
static errcode_t simulate_existing(struct command *command, struct measurement **measurements, size_t *count,
                                   struct problem *problem)
{
	const struct place_options options = { .most_unpacked_bytes = command->most_unpacked_bytes };
	struct place place;
	errcode_t error = place_find(command->options.image, &options, &place, problem);

	command->options.image_file = place.target.path;
	if (!error)
		error = simulate_on(command, &place, measurements, count, problem);
	place_rename(&place, error, problem);
	place_leave(&place);
	return error;
}

/* A new image gets its name after success; the file that it replaces stays until then. */
static errcode_t make_and_simulate(struct command *command, struct measurement **measurements, size_t *count,
                                   struct problem *problem)
{
	struct output output;

	if (!command->size)
		return simulate_existing(command, measurements, count, problem);
	errcode_t error = image_make(command->options.image, command->size, command->mke2fs.list, command->force,
	                             &output, problem);

	command->options.image_file = output.work_path;
	if (!error)
		error = run_simulation(command, measurements, count, problem);
	if (!error)
		error = output_finish(&output, problem);
	output_close(&output);
	return error;
}

static errcode_t print_report(const struct command *command, const struct measurement *measurements, size_t count)
{
	if (command->json)
		return report_json(stdout, &command->options, measurements, count);
	report_tables(stdout, &command->options, measurements, count);
	return flush_output(stdout);
}

static errcode_t run(struct command *command, struct problem *problem)
{
	struct measurement *measurements = NULL;
	size_t count = 0;

	if (command->user && watch_end())
		return problem_set(problem, ENOMEM, NULL, "cannot start");
	asked_library = command->user ? command->user->path : NULL;
	errcode_t error = make_and_simulate(command, &measurements, &count, problem);

	asked_library = NULL;
	if (error) {
		problem_set(problem, error, command->options.image, "cannot simulate on it");
		interrupt_explain(command->options.image, problem);
		return error;
	}
	error = print_report(command, measurements, count);
	measurements_free(&command->options, measurements, count);
	if (!error)
		return 0;
	return problem_set(problem, error, command->options.image,
	                   "the run has finished, but its report cannot be written");
}

int main(int argument_count, char **arguments)
{
	struct command command;
	struct problem problem = { 0 };

	tool_start();
	command_parse(argument_count, arguments, &command);
	interrupt_install();
	errcode_t error = command.is_all ? overview_write(&command.overview, &problem) : run(&command, &problem);

	command_free(&command);
	if (!error)
		return EXIT_SUCCESS;
	int status = print_output_problem(&problem);

	interrupt_die();
	return status;
}
