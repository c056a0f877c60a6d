/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/kind/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/kind/source_digest.h"
#include "support/cleanup.h"
#include "support/io/temporary_name.h"
#include "support/run/program.h"
#include "support/vector.h"

static void clear_files(struct run_file **list, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		free((*list)[i].path);
	free(TAKE(*list));
	*count = 0;
}

void run_files_clear(struct run_files *files)
{
	clear_files(&files->inputs, &files->input_count);
	clear_files(&files->outputs, &files->output_count);
	for (size_t i = 0; i < files->folder_count; i++)
		free(files->folders[i].path);
	for (size_t i = 0; i < files->variable_count; i++)
		free(files->variables[i].value);
	for (size_t i = 0; i < files->program_count; i++) {
		free(files->programs[i].name);
		free(files->programs[i].version);
		free(files->programs[i].path);
	}
	free(files->folders);
	free(files->variables);
	free(files->programs);
	*files = (struct run_files){ 0 };
}

/* --- What is read ------------------------------------------------------------------------------------------------- */

static enum run_file_kind kind_of(const struct stat *status)
{
	return S_ISREG(status->st_mode) ? RUN_FILE_REGULAR :
	       S_ISBLK(status->st_mode) ? RUN_FILE_DEVICE :
	       S_ISDIR(status->st_mode) ? RUN_FILE_FOLDER :
	                                  RUN_FILE_STREAM;
}

static void examine(struct run_file *file)
{
	bool is_standard = !strcmp(file->path, "-");
	struct stat status;

	file->kind = RUN_FILE_MISSING;
	if (is_standard ? fstat(STDIN_FILENO, &status) : stat(file->path, &status))
		return;
	file->kind = kind_of(&status);
	if (file->kind != RUN_FILE_STREAM)
		file->version = file_version_of(&status);
}

static void set_part(struct run_file *file, uint64_t offset_bytes)
{
	uint64_t bytes = file->kind == RUN_FILE_REGULAR ? (uint64_t)file->version.bytes : 0;

	file->offset_bytes = offset_bytes;
	file->bytes = bytes > offset_bytes ? bytes - offset_bytes : 0;
}

/* A file that is listed already is not added again. */
static errcode_t add_file(struct run_file **list, size_t *count, size_t *capacity, struct run_file *file)
{
	bool is_there = false;

	for (size_t i = 0; file->path && i < *count && !is_there; i++)
		is_there = !strcmp((*list)[i].role, file->role) && !strcmp((*list)[i].path, file->path);
	errcode_t error = is_there ? 0 : file->path ? vector_add(list, count, capacity, file, sizeof(*file)) : ENOMEM;

	if (error || is_there)
		free(file->path);
	return error;
}

static errcode_t add_input(struct run_files *files, struct run_file *file)
{
	return add_file(&files->inputs, &files->input_count, &files->input_capacity, file);
}

errcode_t run_files_read(struct run_files *files, const char *role, const char *path, uint64_t offset_bytes)
{
	if (files->names_outputs_only)
		return 0;
	struct run_file file = { .role = role, .path = strdup(path) };

	if (!file.path)
		return ENOMEM;
	examine(&file);
	set_part(&file, offset_bytes);
	return add_input(files, &file);
}

/* Small files: 64 KiB of /etc/passwd are a thousand accounts. */
static void hash_contents(struct run_file *file)
{
	SCOPE_CLOSE int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct sha256_ctx sha256;
	uint8_t bytes[16384];
	ssize_t got = -1;

	sha256_init(&sha256);
	while (descriptor >= 0 && (got = read(descriptor, bytes, sizeof(bytes))) > 0)
		sha256_update(&sha256, (size_t)got, bytes);
	if (got == 0)
		source_digest_text(&sha256, file->contents);
}

errcode_t run_files_read_host(struct run_files *files, const char *role, const char *path)
{
	errcode_t error = run_files_read(files, role, path, 0);

	if (error || files->names_outputs_only)
		return error;
	for (size_t i = 0; i < files->input_count; i++) {
		struct run_file *file = &files->inputs[i];

		if (strcmp(file->role, role) || strcmp(file->path, path) || file->is_host)
			continue;
		file->is_host = true;
		if (file->kind == RUN_FILE_REGULAR)
			hash_contents(file);
	}
	return 0;
}

errcode_t run_files_read_folder(struct run_files *files, const char *role, const char *path,
                                const struct folder_sum *sum)
{
	if (files->names_outputs_only)
		return 0;
	struct run_folder folder = { .role = role, .path = strdup(path), .sum = *sum };
	errcode_t error = folder.path ? vector_add(&files->folders, &files->folder_count, &files->folder_capacity,
	                                           &folder, sizeof(folder)) :
	                                ENOMEM;

	if (error)
		free(folder.path);
	return error;
}

errcode_t run_files_use_variable(struct run_files *files, const char *name)
{
	if (files->names_outputs_only)
		return 0;
	const char *value = getenv(name);
	struct run_variable variable = { .name = name, .value = value ? strdup(value) : NULL };
	errcode_t error = !value || variable.value ?
	                          vector_add(&files->variables, &files->variable_count, &files->variable_capacity,
	                                     &variable, sizeof(variable)) :
	                          ENOMEM;

	if (error)
		free(variable.value);
	return error;
}

errcode_t run_files_use_program(struct run_files *files, const char *name, const char *version, const char *path)
{
	if (files->names_outputs_only)
		return 0;
	struct run_program program = { .name = strdup(name), .version = version ? strdup(version) : NULL };
	struct stat status;
	errcode_t error = !program.name || (version && !program.version) ? ENOMEM : 0;

	if (!error && path && *path)
		error = (program.path = strdup(path)) ? 0 : ENOMEM;
	else if (!error && !path && program_find(name, &program.path) == ENOMEM)
		error = ENOMEM;
	if (program.path && !stat(program.path, &status))
		program.file = file_version_of(&status);
	if (!error)
		error = vector_add(&files->programs, &files->program_count, &files->program_capacity, &program,
		                   sizeof(program));
	if (error) {
		free(program.name);
		free(program.version);
		free(program.path);
	}
	return error;
}

/* --- What is written ---------------------------------------------------------------------------------------------- */

static errcode_t add_output(struct run_files *files, const char *role, const char *path, enum run_file_kind kind)
{
	struct run_file file = { .role = role, .path = strdup(path), .kind = kind };

	return add_file(&files->outputs, &files->output_count, &files->output_capacity, &file);
}

errcode_t run_files_write(struct run_files *files, const char *role, const char *path)
{
	return add_output(files, role, path, strcmp(path, "-") ? RUN_FILE_MISSING : RUN_FILE_STREAM);
}

errcode_t run_files_use_folder(struct run_files *files, const char *role, const char *path, bool is_own)
{
	errcode_t error = add_output(files, role, path, RUN_FILE_FOLDER);

	if (!error)
		files->outputs[files->output_count - 1].is_own = is_own;
	return error;
}

void run_files_see_outputs(struct run_files *files)
{
	for (size_t i = 0; i < files->output_count; i++) {
		struct run_file *file = &files->outputs[i];
		const enum run_file_kind kind = file->kind;

		if (strcmp(file->path, "-") != 0)
			examine(file);
		/* The run makes a folder that is not there yet. */
		if (kind == RUN_FILE_FOLDER)
			file->kind = kind;
	}
}

bool run_files_leave_out(struct run_files *files, const struct stat *status)
{
	for (size_t i = 0; i < files->output_count; i++) {
		struct run_file *file = &files->outputs[i];

		if (file->version.inode != status->st_ino || file->version.device != status->st_dev ||
		    !(S_ISREG(status->st_mode) || (S_ISDIR(status->st_mode) && file->is_own)))
			continue;
		__atomic_store_n(&file->is_left_out, true, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

char *run_file_place(const struct run_file *file)
{
	char *place = realpath(file->path, NULL);

	return place || errno == ENOMEM ? place : strdup(file->path);
}

bool run_files_is_temporary(const struct run_files *files, const char *name)
{
	bool is_temporary = false;

	for (size_t i = 0; *name == '.' && i < files->output_count && !is_temporary; i++) {
		SCOPE_FREE char *place = run_file_place(&files->outputs[i]);

		is_temporary = files->outputs[i].kind != RUN_FILE_FOLDER && place && temporary_name_is_for(name, place);
	}
	return is_temporary;
}

bool run_files_is_output(const struct run_files *files, const struct run_file *input)
{
	for (size_t i = 0; i < files->output_count; i++) {
		const struct run_file *output = &files->outputs[i];

		if (output->kind == RUN_FILE_FOLDER)
			continue;
		if (!strcmp(output->path, input->path) ||
		    (input->kind == output->kind && input->kind != RUN_FILE_MISSING && input->kind != RUN_FILE_STREAM &&
		     input->version.device == output->version.device && input->version.inode == output->version.inode))
			return true;
	}
	return false;
}

/* --- The digest --------------------------------------------------------------------------------------------------- */

struct lines {
	char **list;
	size_t count, capacity;
};

#define SCOPE_LINES __attribute__((cleanup(lines_free)))

static void lines_free(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->list[i]);
	free(lines->list);
}

/* Takes over the line. */
static errcode_t add_line(struct lines *lines, char *line, int made)
{
	errcode_t error =
		made < 0 ? ENOMEM : vector_add(&lines->list, &lines->count, &lines->capacity, &line, sizeof(line));

	if (error && made >= 0)
		free(line);
	return error;
}

#define TIME_FORMAT "%" PRId64 ".%09ld"
#define TIME_VALUES(time) (int64_t)(time).tv_sec, (long)(time).tv_nsec

static errcode_t file_line(struct lines *lines, const struct run_file *file, bool is_portable)
{
	const struct file_version *version = &file->version;
	char *line;
	int made;

	if (file->kind == RUN_FILE_MISSING)
		made = asprintf(&line, "missing %s %s", file->role, file->path);
	else if (file->is_host && is_portable)
		made = asprintf(&line, "contents %s %s %s", file->role, file->contents, file->path);
	else
		made = asprintf(&line, "file %s %" PRIu64 " %" PRId64 " " TIME_FORMAT " " TIME_FORMAT " %s", file->role,
		                file->offset_bytes, (int64_t)version->bytes, TIME_VALUES(version->mtime),
		                TIME_VALUES(version->ctime), file->path);
	return add_line(lines, line, made);
}

static errcode_t program_line(struct lines *lines, const struct run_program *program, bool is_portable)
{
	const struct file_version *file = &program->file;
	const char *version = program->version ? program->version : "";
	char *line;
	int made = is_portable ?
	                   asprintf(&line, "program %s %s %" PRId64, program->name, version, (int64_t)file->bytes) :
	                   asprintf(&line, "program %s %s %" PRId64 " " TIME_FORMAT " " TIME_FORMAT " %s",
	                            program->name, version, (int64_t)file->bytes, TIME_VALUES(file->mtime),
	                            TIME_VALUES(file->ctime), program->path ? program->path : "");

	return add_line(lines, line, made);
}

void run_files_folder_digest(const struct folder_sum *sum, char digest[RUN_FILES_FOLDER_DIGEST_BYTES])
{
	snprintf(digest, RUN_FILES_FOLDER_DIGEST_BYTES, "%016" PRIx64 "%016" PRIx64, sum->high, sum->low);
}

static errcode_t other_lines(const struct run_files *files, struct lines *lines)
{
	errcode_t error = 0;
	char *line;

	for (size_t i = 0; !error && i < files->folder_count; i++) {
		const struct run_folder *folder = &files->folders[i];
		char digest[RUN_FILES_FOLDER_DIGEST_BYTES];

		run_files_folder_digest(&folder->sum, digest);
		int made = asprintf(&line, "folder %s %" PRIu64 " %s %s", folder->role, folder->sum.names, digest,
		                    folder->path);

		error = add_line(lines, line, made);
	}
	for (size_t i = 0; !error && i < files->variable_count; i++) {
		const struct run_variable *variable = &files->variables[i];
		int made = variable->value ? asprintf(&line, "variable %s=%s", variable->name, variable->value) :
		                             asprintf(&line, "variable %s", variable->name);

		error = add_line(lines, line, made);
	}
	int made = error ? -1 : asprintf(&line, "user %u group %u", geteuid(), getegid());

	return error ? error : add_line(lines, line, made);
}

static int compare_lines(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* A NUL byte ends each line: names may have line breaks. */
static void hash_lines(struct lines *lines, char digest[RUN_FILES_DIGEST_BYTES])
{
	struct sha256_ctx sha256;

	qsort(lines->list, lines->count, sizeof(*lines->list), compare_lines);
	sha256_init(&sha256);
	for (size_t i = 0; i < lines->count; i++)
		if (!i || strcmp(lines->list[i - 1], lines->list[i]) != 0)
			sha256_update(&sha256, strlen(lines->list[i]) + 1, (const uint8_t *)lines->list[i]);
	source_digest_text(&sha256, digest);
}

errcode_t run_files_digest(const struct run_files *files, bool is_portable, char digest[RUN_FILES_DIGEST_BYTES])
{
	SCOPE_LINES struct lines lines = { 0 };
	errcode_t error = other_lines(files, &lines);

	*digest = '\0';
	for (size_t i = 0; !error && i < files->input_count; i++) {
		const struct run_file *file = &files->inputs[i];

		if (run_files_is_output(files, file))
			continue;
		if (file->kind == RUN_FILE_STREAM || file->kind == RUN_FILE_DEVICE)
			return 0;
		error = file_line(&lines, file, is_portable);
	}
	for (size_t i = 0; !error && i < files->program_count; i++)
		error = program_line(&lines, &files->programs[i], is_portable);
	if (!error)
		hash_lines(&lines, digest);
	return error;
}
