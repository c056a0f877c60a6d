/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/extract.h"

#include <errno.h>

#include "extract/in_order.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

static const struct tree_output *const outputs[EXTRACT_FORMS] = {
	[EXTRACT_DIRECTORY] = &directory_output, [EXTRACT_TAR] = &tar_output,
	[EXTRACT_MTREE] = &mtree_output,         [EXTRACT_LIST] = &list_output,
	[EXTRACT_LIST_JSON] = &json_list_output,
};

/* --- Reports to the user ------------------------------------------------------------------------------------------ */

static int compare_left_out(const void *one, const void *other)
{
	uint32_t first = ((const struct left_out *)one)->node, second = ((const struct left_out *)other)->node;

	return first < second ? -1 : first > second;
}

/* Reports the files that all workers left out, in the order of the tree. */
static errcode_t tell_left_out(struct extraction *extraction, struct extract_report *report)
{
	SCOPE_FREE struct left_out *all = NULL;
	size_t count = 0, capacity = 0;
	errcode_t error = 0;

	for (unsigned int i = 0; !error && i < pool_workers(extraction->pool); i++) {
		struct extraction_worker *worker = &extraction->workers[i];

		error = vector_reserve(&all, &capacity, count + worker->left_out_count, sizeof(*all));
		if (error)
			break;
		if (worker->left_out_count)
			memcpy(all + count, worker->left_out, worker->left_out_count * sizeof(*all));
		count += worker->left_out_count;
		worker->left_out_count = 0;
	}
	if (count)
		qsort(all, count, sizeof(*all), compare_left_out);
	for (size_t i = 0; i < count; i++) {
		if (!error)
			error = warnings_add(&report->left_out, &all[i].problem, 1);
		problem_clear(&all[i].problem);
	}
	return error;
}

static errcode_t tell_losses(struct extraction *extraction, struct extract_report *report)
{
	struct losses all = { .names_each = extraction->options->names_losses };
	errcode_t error = 0;

	for (unsigned int i = 0; !error && i < pool_workers(extraction->pool); i++)
		error = losses_add(&all, &extraction->workers[i].losses);
	if (!error)
		error = losses_tell(&all, extraction->tree, extraction->output->name, &report->losses);
	losses_free(&all);
	return error;
}

static errcode_t tell(struct extraction *extraction, struct extract_report *report)
{
	errcode_t error = tell_left_out(extraction, report);

	return error ? error : tell_losses(extraction, report);
}

static errcode_t tell_refused(struct extraction *extraction)
{
	const struct selection *selection = &extraction->selection;
	errcode_t error = 0;

	for (size_t i = 0; !error && i < selection->refused_count; i++) {
		SCOPE_FREE char *path = tree_path(extraction->tree, selection->refused[i]);
		struct problem problem = { 0 };

		problem_set_reason(&problem, EINVAL, path, "is left out",
		                   "its name could lead out of the directory that it is in");
		error = extraction_damaged(extraction, 0, selection->refused[i], DAMAGE_LEFT_OUT, &problem);
	}
	return error;
}

static errcode_t tell_missing(const struct extract_options *options, const bool *is_missing,
                              struct extract_report *report)
{
	errcode_t error = 0;

	for (size_t i = 0; !error && i < options->path_count; i++) {
		struct problem problem = { 0 };

		if (!is_missing[i])
			continue;
		problem_set_reason(&problem, ENOENT, options->paths[i], "cannot be extracted",
		                   "the image has nothing of this name");
		error = warnings_add(&report->left_out, &problem, 1);
	}
	return error;
}

/* --- The run ------------------------------------------------------------------------------------------------------ */

/* With is_strict: refuses files that the form cannot hold, before anything is written. */
static errcode_t check_strictly(struct extraction *extraction, struct extract_report *report, struct problem *problem)
{
	const struct extract_options *options = extraction->options;
	errcode_t error = 0;

	if (!options->is_strict || !extraction->output->lacks)
		return 0;
	for (uint32_t node = 0; !error && node < extraction->tree->node_count; node++)
		if (selection_has(&extraction->selection, node))
			error = extraction_note_lacks(extraction, 0, node);
	if (error || !losses_are_any(&extraction->workers[0].losses))
		return error;
	error = tell_losses(extraction, report);
	return error ? error :
	               problem_set_reason(problem, EOPNOTSUPP, options->output, "cannot write",
	                                  "%s cannot hold all of it, and --strict is given", extraction->output->name);
}

static errcode_t write_stream(struct extraction *extraction, struct problem *problem)
{
	const struct extract_options *options = extraction->options;
	struct output_sink sink;
	errcode_t error =
		output_sink_open(&sink, options->output, options->source, extraction->output->is_binary, problem);

	if (!error)
		error = in_order_write(extraction, &sink, problem);
	if (!error)
		error = contents_check(extraction->tree, problem);
	if (!error)
		error = output_sink_finish(&sink, problem);
	output_sink_close(&sink);
	return error;
}

static errcode_t prepare(struct extraction *extraction, bool *is_missing)
{
	const struct extract_options *options = extraction->options;

	extraction->workers = calloc(pool_workers(extraction->pool), sizeof(*extraction->workers));
	extraction->damaged = calloc(extraction->tree->node_count, 1);
	if (!extraction->workers || !extraction->damaged)
		return ENOMEM;
	for (unsigned int i = 0; i < pool_workers(extraction->pool); i++) {
		extraction->workers[i].loaded.selection = &extraction->selection;
		extraction->workers[i].loaded.options = options;
		extraction->workers[i].loaded.hole_seconds = &extraction->hole_seconds;
		extraction->workers[i].losses.names_each = options->names_losses;
	}
	return selection_make(&extraction->selection, extraction->tree, options->paths, options->path_count,
	                      is_missing);
}

static errcode_t run(struct extraction *extraction, const bool *is_missing, struct extract_report *report,
                     struct problem *problem)
{
	const struct extract_options *options = extraction->options;
	const struct selection *selection = &extraction->selection;
	errcode_t error = tell_refused(extraction);

	report->files = selection->files;
	report->data_bytes = selection->data_bytes;
	if (!error)
		error = check_strictly(extraction, report, problem);
	if (error)
		return error;
	bool reads = extraction->output->has_contents || extraction->output->has_digests;

	progress_stage(options->progress, "extract", reads ? selection->data_bytes : 0, selection->files);
	error = extraction->output->write ? extraction->output->write(extraction, problem) :
	                                    write_stream(extraction, problem);
	if (!error)
		error = tell(extraction, report);
	return error ? error : tell_missing(options, is_missing, report);
}

static void free_workers(struct extraction *extraction)
{
	for (unsigned int i = 0; extraction->workers && i < pool_workers(extraction->pool); i++) {
		struct extraction_worker *worker = &extraction->workers[i];

		for (size_t j = 0; j < worker->left_out_count; j++)
			problem_clear(&worker->left_out[j].problem);
		free(worker->left_out);
		losses_free(&worker->losses);
		loaded_free(&worker->loaded);
	}
	free(extraction->workers);
	free(extraction->damaged);
	selection_free(&extraction->selection);
}

/* Reports that the image has none of the paths; nothing is made. */
static errcode_t refuse_all(const struct extract_options *options, struct problem *problem)
{
	return problem_set_reason(problem, ENOENT, options->paths[0], "cannot be extracted", "%s",
	                          options->path_count == 1 ?
	                                  "the image has nothing of this name" :
	                                  "the image has nothing of this name, nor of the other ones");
}

errcode_t extract(const struct tree *tree, const struct extract_options *options, struct pool *pool,
                  struct extract_report *report, struct problem *problem)
{
	struct extraction extraction = {
		.tree = tree, .options = options, .output = outputs[options->form], .pool = pool
	};
	SCOPE_FREE bool *is_missing = calloc(options->path_count + 1, sizeof(*is_missing));
	size_t missing = 0;

	*report = (struct extract_report){ 0 };
	if (!is_missing)
		return problem_set(problem, ENOMEM, options->output, "cannot write");
	errcode_t error = prepare(&extraction, is_missing);

	for (size_t i = 0; i < options->path_count; i++)
		missing += is_missing[i];
	if (!error && options->path_count && missing == options->path_count)
		error = refuse_all(options, problem);
	if (!error)
		error = run(&extraction, is_missing, report, problem);
	free_workers(&extraction);
	if (!error)
		return 0;
	problem_set(problem, error, options->output, "cannot write");
	interrupt_explain(options->output, problem);
	return error;
}

void extract_report_clear(struct extract_report *report)
{
	warnings_clear(&report->losses);
	warnings_clear(&report->left_out);
}
