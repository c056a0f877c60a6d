/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/size/trials.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/io/whole_io.h"
#include "support/run/interrupt.h"

#define COPY_BYTES ((size_t)256 << 10)

static errcode_t open_named(struct trial_file *scratch, struct problem *problem)
{
	const char *folder = getenv("TMPDIR");

	scratch->is_named = true;
	if (asprintf(&scratch->path, "%s/e2populate.XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		scratch->path = NULL;
		return problem_set(problem, ENOMEM, NULL, "cannot make a temporary file");
	}
	scratch->descriptor = mkostemp(scratch->path, O_CLOEXEC);
	if (scratch->descriptor >= 0) {
		interrupt_removes(scratch->path);
		return 0;
	}
	int error = errno;

	scratch->is_named = false;
	return problem_set(problem, error, scratch->path, "cannot make a temporary file");
}

errcode_t trial_file_open(struct trial_file *scratch, struct problem *problem)
{
	*scratch = (struct trial_file){ .descriptor = memfd_create("e2populate", 0) };
	if (scratch->descriptor < 0)
		return open_named(scratch, problem);
	/* Children inherit the descriptor, so one name serves all. */
	if (asprintf(&scratch->path, "/proc/self/fd/%d", scratch->descriptor) < 0) {
		scratch->path = NULL;
		return problem_set(problem, ENOMEM, NULL, "cannot make a temporary file");
	}
	if (access(scratch->path, R_OK | W_OK) == 0)
		return 0;
	trial_file_close(scratch);
	return open_named(scratch, problem);
}

void trial_file_close(struct trial_file *scratch)
{
	if (scratch->descriptor >= 0)
		close(scratch->descriptor);
	scratch->descriptor = -1;
	if (scratch->is_named)
		unlink(scratch->path);
	interrupt_keeps(scratch->path);
	free(TAKE(scratch->path));
}

static bool is_same_key(const struct trial_key *one, const struct trial_key *other)
{
	return strcmp(one->size, other->size) == 0 && one->inodes == other->inodes &&
	       one->block_bytes == other->block_bytes;
}

static struct trial *find(struct trials *trials, const struct trial_key *key)
{
	for (struct trial *trial = trials->list; trial < trials->list + TRIALS_KEPT; trial++)
		if (trial->last_use && is_same_key(&trial->key, key))
			return trial;
	return NULL;
}

static uint64_t memory_bytes(const struct trial *trial)
{
	struct stat status;

	return trial->file.path && fstat(trial->file.descriptor, &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
}

bool trials_are_small(const struct trials *trials)
{
	for (const struct trial *trial = trials->list; trial < trials->list + TRIALS_KEPT; trial++)
		if (memory_bytes(trial) > TRIAL_MOST_BYTES)
			return false;
	return true;
}

static void drop_large(struct trials *trials)
{
	for (struct trial *trial = trials->list; trial < trials->list + TRIALS_KEPT; trial++) {
		if (memory_bytes(trial) <= TRIAL_MOST_BYTES)
			continue;
		trial_file_close(&trial->file);
		trial->last_use = 0;
	}
}

/* Takes the place of the trial that has not been used for longest. */
static errcode_t begin(struct trials *trials, const struct trial_key *key, struct trial **ret, struct problem *problem)
{
	struct trial *oldest = trials->list;

	for (struct trial *trial = trials->list; trial < trials->list + TRIALS_KEPT; trial++)
		if (trial->last_use < oldest->last_use)
			oldest = trial;
	errcode_t error = oldest->file.path ? 0 : trial_file_open(&oldest->file, problem);

	if (error) {
		trial_file_close(&oldest->file);
		return error;
	}
	problem_clear(&oldest->problem);
	oldest->key = *key;
	oldest->is_made = false;
	oldest->last_use = ++trials->uses;
	*ret = oldest;
	return 0;
}

struct making {
	const struct mke2fs_run *run;
	struct trial *trials[TRIALS_KEPT];
};

/* A failure stays in the trial: it concerns the search only if it asks for that size. */
static errcode_t make(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct making *making = context;
	struct trial *trial = making->trials[index];
	struct mke2fs_run run = *making->run;

	(void)worker;
	(void)problem;
	run.path = trial->file.path;
	run.size = trial->key.size;
	run.inodes = trial->key.inodes;
	run.block_bytes = trial->key.block_bytes;
	/* The file must keep nothing of an earlier trial. */
	if (ftruncate(trial->file.descriptor, 0) < 0)
		problem_set(&trial->problem, errno, run.options->image, "cannot truncate");
	else
		trial->is_made = mke2fs_run(&run, &trial->problem) == 0;
	return 0;
}

errcode_t trials_make(struct trials *trials, const struct mke2fs_run *run, const struct trial_key *keys, size_t count,
                      const struct workplace *work, struct problem *problem)
{
	struct making making = { .run = run };
	size_t missing = 0;

	for (size_t i = 0; i < count; i++) {
		if (find(trials, &keys[i]))
			continue;
		if (!missing)
			drop_large(trials);
		errcode_t error = begin(trials, &keys[i], &making.trials[missing], problem);

		if (error)
			return error;
		missing++;
	}
	/* A pool leaves a job of one task to this thread, which a signal reaches at once. */
	return missing ? pool_run(work->pool, missing, make, &making, problem) : 0;
}

errcode_t trials_get(struct trials *trials, const struct mke2fs_run *run, const struct trial_key *key,
                     const struct workplace *work, const struct trial **ret, struct problem *problem)
{
	errcode_t error = trials_make(trials, run, key, 1, work, problem);

	if (error)
		return error;
	struct trial *trial = find(trials, key);

	trial->last_use = ++trials->uses;
	*ret = trial;
	if (trial->is_made)
		return 0;
	error = trial->problem.error;
	problem_move(problem, &trial->problem);
	trial->last_use = 0;
	return error;
}

static errcode_t copy_data(int from, int to)
{
	SCOPE_FREE char *bytes = malloc(COPY_BYTES);
	off_t start, end = 0;

	if (!bytes)
		return ENOMEM;
	while ((start = lseek(from, end, SEEK_DATA)) >= 0) {
		end = lseek(from, start, SEEK_HOLE);
		if (end < 0)
			return errno;
		for (size_t count; start < end; start += (off_t)count) {
			count = end - start < (off_t)COPY_BYTES ? (size_t)(end - start) : COPY_BYTES;
			errcode_t error = whole_read(from, bytes, count, (uint64_t)start);

			if (!error)
				error = whole_write(to, bytes, count, (uint64_t)start);
			if (error)
				return error;
		}
	}
	return errno == ENXIO ? 0 : errno;
}

errcode_t trials_copy(const struct trials *trials, const struct trial_key *key, int descriptor, bool *is_copied)
{
	const struct trial *trial = find((struct trials *)trials, key);
	struct stat status;

	*is_copied = trial && trial->is_made;
	if (!*is_copied)
		return 0;
	if (fstat(trial->file.descriptor, &status) < 0 || ftruncate(descriptor, 0) < 0 ||
	    ftruncate(descriptor, status.st_size) < 0)
		return errno;
	return copy_data(trial->file.descriptor, descriptor);
}

void trials_release(struct trials *trials)
{
	for (struct trial *trial = trials->list; trial < trials->list + TRIALS_KEPT; trial++) {
		if (trial->file.path)
			trial_file_close(&trial->file);
		problem_clear(&trial->problem);
	}
	*trials = (struct trials){ 0 };
}
