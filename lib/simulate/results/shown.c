/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/results/shown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static errcode_t parse_one(const char *name, uint32_t *forms)
{
	for (unsigned int form = 0; form < KERNEL_FORMS; form++) {
		if (strcmp(name, kernel_form_name((enum kernel_form)form)))
			continue;
		*forms |= 1u << form;
		return 0;
	}
	return EINVAL;
}

errcode_t shown_parse(const char *names, uint32_t *forms)
{
	SCOPE_FREE char *list = strdup(names);
	char *rest = list, *word;
	errcode_t error = list ? 0 : ENOMEM;

	while (!error && (word = strsep(&rest, ",")))
		error = parse_one(word, forms);
	return error;
}

static errcode_t capture_lines(uint32_t forms, struct ext2mb *mb, FILE *stream)
{
	errcode_t error = 0;

	for (unsigned int form = 0; form < KERNEL_FORMS && !error; form++)
		if (forms & 1u << form)
			error = kernel_form_print((enum kernel_form)form, mb, stream);
	return error;
}

static errcode_t capture_json(uint32_t forms, struct ext2mb *mb, FILE *stream)
{
	struct json json = { .stream = stream };
	errcode_t error = 0;

	json_open_object(&json, NULL);
	for (unsigned int form = 0; form < KERNEL_FORMS && !error; form++)
		if (forms & 1u << form)
			error = kernel_form_write((enum kernel_form)form, mb, &json,
			                          kernel_form_name((enum kernel_form)form));
	json_close_object(&json);
	errcode_t output_error = json_end(&json);
	return error ? error : output_error;
}

errcode_t shown_capture(uint32_t forms, bool as_json, struct ext2mb *mb, char **text)
{
	SCOPE_FREE char *buffer = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&buffer, &bytes);

	if (!stream)
		return ENOMEM;
	errcode_t error = as_json ? capture_json(forms, mb, stream) : capture_lines(forms, mb, stream);
	if (fclose(stream))
		return ENOMEM;
	if (!error)
		*text = TAKE(buffer);
	return error;
}

void shown_print(FILE *stream, const struct simulate_options *options, const struct measurement *measurements,
                 size_t count)
{
	for (size_t index = 0; options->shown && index < count; index++) {
		for (unsigned int repeat = 0; repeat < options->repeats; repeat++) {
			const struct measurement *run = &measurements[repeat * count + index];

			fprintf(stream, "\n%s, ", run->configuration->name);
			if (run->threads)
				fprintf(stream, "%u threads", run->threads);
			else
				fputs("turns in one thread", stream);
			if (options->repeats > 1)
				fprintf(stream, ", run %u", repeat + 1);
			fprintf(stream, ":\n%s", run->shown);
		}
	}
}

void shown_write(struct json *json, const struct simulate_options *options, const struct measurement *measurement,
                 size_t count)
{
	if (!options->shown)
		return;
	json_open_array(json, "runs");
	for (unsigned int repeat = 0; repeat < options->repeats; repeat++)
		json_document(json, NULL, measurement[repeat * count].shown);
	json_close_array(json);
}
