/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least that a builder of images has to do: threads open, read and close every regular file below a directory
 * (three calls each), and write the bytes, each file from a block on, to one file in megabytes. No metadata, no order,
 * no image.
 *
 *   floor THREADS SRC_DIR OUT_FILE
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 4096
#define BUFFER_BYTES (1 << 20)
#define NAMES 512 /* that one thread takes at a time; so several share a large directory */

/* A directory that is open as long as some thread needs it. */
struct folder {
	atomic_int users;
	int descriptor;
};

/* Files of one directory, or the directory itself. */
struct task {
	struct task *next;
	struct folder *folder;
	bool is_folder; /* to be read */
	unsigned int count;
	char *names[NAMES];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct task *tasks;
static unsigned int unfinished; /* tasks that wait or run */
static atomic_ullong end_bytes; /* of what has been written */
static int output;

static void fail(const char *name)
{
	fprintf(stderr, "floor: %s: %s\n", name, strerror(errno));
	exit(1);
}

static void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		fail("memory");
	return memory;
}

static void put_task(struct task *task)
{
	pthread_mutex_lock(&mutex);
	task->next = tasks;
	tasks = task;
	unfinished++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static struct task *take_task(void)
{
	struct task *task;

	pthread_mutex_lock(&mutex);
	while (!tasks && unfinished)
		pthread_cond_wait(&changed, &mutex);
	task = tasks;
	if (task)
		tasks = task->next;
	pthread_mutex_unlock(&mutex);
	return task;
}

static void end_task(struct task *task)
{
	if (atomic_fetch_sub(&task->folder->users, 1) == 1) {
		close(task->folder->descriptor);
		free(task->folder);
	}
	free(task);
	pthread_mutex_lock(&mutex);
	if (--unfinished == 0)
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static struct task *new_task(struct folder *folder)
{
	struct task *task = allocate(sizeof(*task));

	task->folder = folder;
	atomic_fetch_add(&folder->users, 1);
	return task;
}

static void put_folder(int parent, const char *name)
{
	struct folder *folder = allocate(sizeof(*folder));

	folder->descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->descriptor < 0)
		fail(name);
	struct task *task = new_task(folder);

	task->is_folder = true;
	put_task(task);
}

/* Directories become tasks, files fill them. */
static void read_folder(struct folder *folder)
{
	int descriptor = dup(folder->descriptor);
	DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
	struct task *files = new_task(folder);
	const struct dirent *entry;

	if (!directory)
		fail("directory");
	while ((entry = readdir(directory))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (entry->d_type == DT_DIR)
			put_folder(folder->descriptor, entry->d_name);
		if (entry->d_type != DT_REG)
			continue;
		files->names[files->count] = strdup(entry->d_name);
		if (!files->names[files->count++])
			fail("memory");
		if (files->count < NAMES)
			continue;
		put_task(files);
		files = new_task(folder);
	}
	closedir(directory);
	put_task(files);
}

static void flush(const char *buffer, size_t *used)
{
	unsigned long long at = atomic_fetch_add(&end_bytes, *used);

	for (size_t done = 0; done < *used;) {
		ssize_t count = pwrite(output, buffer + done, *used - done, (off_t)(at + done));

		if (count < 0)
			fail("writing");
		done += (size_t)count;
	}
	*used = 0;
}

static void copy_file(int folder, const char *name, char *buffer, size_t *used)
{
	int descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool at_end = false;

	if (descriptor < 0)
		fail(name);
	while (!at_end) {
		size_t room = BUFFER_BYTES - *used;
		ssize_t count = read(descriptor, buffer + *used, room);

		if (count < 0)
			fail(name);
		at_end = (size_t)count < room; /* true of regular files */
		*used += ((size_t)count + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
		if (*used == BUFFER_BYTES)
			flush(buffer, used);
	}
	close(descriptor);
}

static void *work(void *argument)
{
	char *buffer = allocate(BUFFER_BYTES);
	size_t used = 0;
	struct task *task;

	(void)argument;
	while ((task = take_task())) {
		if (task->is_folder)
			read_folder(task->folder);
		for (unsigned int index = 0; index < task->count; index++) {
			copy_file(task->folder->descriptor, task->names[index], buffer, &used);
			free(task->names[index]);
		}
		end_task(task);
	}
	flush(buffer, &used);
	free(buffer);
	return NULL;
}

int main(int argument_count, char **arguments)
{
	unsigned int threads = argument_count == 4 ? (unsigned int)strtoul(arguments[1], NULL, 10) : 0;

	if (!threads || threads > 1024) {
		fprintf(stderr, "usage: floor THREADS SRC_DIR OUT_FILE\n");
		return 2;
	}
	pthread_t *list = allocate(threads * sizeof(*list));

	output = open(arguments[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output < 0)
		fail(arguments[3]);
	put_folder(AT_FDCWD, arguments[2]);
	for (unsigned int index = 0; index < threads; index++)
		if ((errno = pthread_create(&list[index], NULL, work, NULL)))
			fail("threads");
	for (unsigned int index = 0; index < threads; index++)
		pthread_join(list[index], NULL);
	free(list);
	if (close(output))
		fail(arguments[3]);
	return 0;
}
