/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run_files_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/tool.h"
#include "program_version.h"

#define TIME_BYTES 40

static const char *const kinds[] = {
	[RUN_FILE_REGULAR] = "file",  [RUN_FILE_DEVICE] = "device",   [RUN_FILE_FOLDER] = "folder",
	[RUN_FILE_STREAM] = "stream", [RUN_FILE_MISSING] = "missing",
};

static const char *time_text(const struct timespec *time, char text[TIME_BYTES])
{
	snprintf(text, TIME_BYTES, "%" PRId64 ".%09ld", (int64_t)time->tv_sec, (long)time->tv_nsec);
	return text;
}

static void write_version(struct json *json, const struct file_version *version)
{
	char mtime[TIME_BYTES], ctime[TIME_BYTES];

	json_members(json, JSON_COUNT("device", version->device), JSON_COUNT("inode", version->inode),
	             JSON_COUNT("file_bytes", (uint64_t)version->bytes),
	             JSON_TEXT("mtime", time_text(&version->mtime, mtime)),
	             JSON_TEXT("ctime", time_text(&version->ctime, ctime)));
}

static void write_file(struct json *json, const struct run_file *file, bool is_input)
{
	bool is_seen = file->kind == RUN_FILE_REGULAR || file->kind == RUN_FILE_DEVICE;

	json_open_row(json, NULL);
	json_members(json, JSON_TEXT("role", file->role), JSON_TEXT("path", file->path),
	             JSON_TEXT("kind", kinds[file->kind]));
	if (is_input && is_seen)
		json_members(json, JSON_COUNT("offset", file->offset_bytes), JSON_COUNT("bytes", file->bytes));
	if (is_seen)
		write_version(json, &file->version);
	if (*file->contents)
		json_string(json, "sha256", file->contents);
	json_close_object(json);
}

static void write_folder(struct json *json, const struct run_folder *folder)
{
	char digest[RUN_FILES_FOLDER_DIGEST_BYTES];

	run_files_folder_digest(&folder->sum, digest);
	json_row(json, NULL, JSON_TEXT("role", folder->role), JSON_TEXT("path", folder->path),
	         JSON_COUNT("names", folder->sum.names), JSON_COUNT("bytes", folder->sum.bytes),
	         JSON_COUNT("of_nobody", folder->sum.of_nobody), JSON_TEXT("digest", digest));
}

static void write_program(struct json *json, const struct run_program *program)
{
	json_open_row(json, NULL);
	json_string(json, "name", program->name);
	if (program->version)
		json_string(json, "version", program->version);
	if (program->path) {
		json_string(json, "path", program->path);
		write_version(json, &program->file);
	}
	json_close_object(json);
}

static void write_variable(struct json *json, const struct run_variable *variable)
{
	json_open_row(json, NULL);
	json_string(json, "name", variable->name);
	if (variable->value)
		json_string(json, "value", variable->value);
	json_close_object(json);
}

static void write_lists(struct json *json, const struct run_files *files)
{
	json_open_array(json, "files");
	for (size_t i = 0; i < files->input_count; i++)
		write_file(json, &files->inputs[i], true);
	json_close_array(json);
	json_open_array(json, "folders");
	for (size_t i = 0; i < files->folder_count; i++)
		write_folder(json, &files->folders[i]);
	json_close_array(json);
	json_open_array(json, "programs");
	for (size_t i = 0; i < files->program_count; i++)
		write_program(json, &files->programs[i]);
	json_close_array(json);
	json_open_array(json, "environment");
	for (size_t i = 0; i < files->variable_count; i++)
		write_variable(json, &files->variables[i]);
	json_close_array(json);
	json_members(json, JSON_COUNT("user", geteuid()), JSON_COUNT("group", getegid()));
}

/* Programs of two versions may have one size. */
static errcode_t ask_versions(struct run_files *files)
{
	for (size_t i = 0; i < files->program_count; i++) {
		struct run_program *program = &files->programs[i];
		char line[PROGRAM_VERSION_BYTES];

		if (program->version || !program->path)
			continue;
		errcode_t error = program_version(program->path, line);

		if (error == ENOMEM || error == EAGAIN)
			return error;
		/* A program that says nothing has no version, and its size and times count. */
		if (error || !*line)
			continue;
		size_t bytes = strlen(program->name);
		bool has_name = !strncmp(line, program->name, bytes) && line[bytes] == ' ';

		program->version = strdup(has_name ? line + bytes + 1 : line);
		if (!program->version)
			return ENOMEM;
	}
	return 0;
}

errcode_t run_files_json(struct json *json, struct run_files *files)
{
	char digest[RUN_FILES_DIGEST_BYTES], portable[RUN_FILES_DIGEST_BYTES];

	run_files_see_outputs(files);
	errcode_t error = ask_versions(files);

	if (!error)
		error = run_files_digest(files, false, digest);
	if (!error)
		error = run_files_digest(files, true, portable);
	if (error)
		return error;
	json_open_object(json, "inputs");
	if (*digest)
		json_members(json, JSON_TEXT("digest", digest), JSON_TEXT("portable_digest", portable));
	write_lists(json, files);
	json_close_object(json);
	json_open_array(json, "outputs");
	for (size_t i = 0; i < files->output_count; i++)
		write_file(json, &files->outputs[i], false);
	json_close_array(json);
	return 0;
}

void run_files_print_left_out(const struct run_files *files)
{
	for (size_t i = 0; i < files->output_count; i++)
		if (files->outputs[i].is_left_out)
			print_failure_reason(EINVAL, files->outputs[i].path, NULL,
			                     "is in its own source and is left out");
}

static errcode_t print(struct run_files *files)
{
	struct json json = { .stream = stdout };

	json_open_object(&json, NULL);
	errcode_t error = run_files_json(&json, files);

	json_close_object(&json);
	errcode_t stream_error = json_end(&json);

	return error ? error : stream_error;
}

int run_files_end(struct run_files *files, errcode_t error, struct problem *problem)
{
	if (!error)
		error = print(files);
	if (error)
		problem_set(problem, error, NULL, "cannot list inputs");
	return error ? print_output_problem(problem) : EXIT_SUCCESS;
}
