/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library to be preloaded: one allocation of the process fails, of our code or of a library; or SIGTERM comes with
 * it.
 *
 * FAIL_ALLOCATION=N	the Nth fails with ENOMEM (the first is 1; 0: none)
 * SIGNAL_ALLOCATION=N	with the Nth of LARGE_BYTES or more the process gets SIGTERM
 * COUNT_ALLOCATIONS=FILE	when the process exits, FILE says how many there were, and how many of them were large
 *
 * Processes that it starts are left alone. For a debugger: break at allocation_fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_BYTES (3u << 16)
#define EXPORTED __attribute__((visibility("default")))

/* Before the constructor has run, nothing fails. */
static unsigned long fail_at, signal_at;
static bool is_counting;
static atomic_ulong allocations, large_allocations;
static const char *count_path;

__attribute__((noinline)) static bool allocation_fails(void)
{
	errno = ENOMEM;
	return true;
}

#define MOST_FRAMES 32

/* Whether the function is among those who wait for this allocation. */
static bool is_within(const char *function)
{
	void *frames[MOST_FRAMES];
	int count = backtrace(frames, MOST_FRAMES);
	Dl_info symbol;

	for (int frame = 0; frame < count; frame++)
		if (dladdr(frames[frame], &symbol) && symbol.dli_sname && strcmp(symbol.dli_sname, function) == 0)
			return true;
	return false;
}

/*
 * libext2fs (1.47.0 to 1.47.2) crashes when these have no memory: it clears what it has not got, frees what it has not
 * set, goes on without a cache. Our code sees to it that there is some before it calls them (filesystem/fs_errors.h).
 * So does libarchive (3.6.2): it uses an entry that it has not got, and filters while it opens an archive, such as
 * liblzma's decoder that liblzma had no memory for. And json-c (0.16): it uses a name that it has not got.
 */
static bool would_crash(const void *caller)
{
	static const char *const functions[] = { "ext2fs_create_inode_cache", "ext2fs_extent_open2",
		                                 "io_channel_alloc_buf", "archive_entry_new2" };
	Dl_info symbol;

	if (!dladdr(caller, &symbol))
		return false;
	if ((strstr(symbol.dli_fname, "libarchive") || strstr(symbol.dli_fname, "liblzma")) &&
	    (is_within("archive_read_open1") || is_within("archive_read_new")))
		return true;
	if (symbol.dli_sname && strstr(symbol.dli_sname, "strdup") && is_within("json_tokener_parse_ex"))
		return true;
	/* One of its own, for which there is no name: unix_io, which gives up its caches before they are there
	 * (1.47.2). */
	if (!symbol.dli_sname)
		return strstr(symbol.dli_fname, "libext2fs") && is_within("ext2fs_open2");
	for (size_t function = 0; function < sizeof(functions) / sizeof(*functions); function++)
		if (strcmp(symbol.dli_sname, functions[function]) == 0)
			return true;
	return false;
}

static bool must_fail(const void *caller, size_t bytes)
{
	if (!is_counting)
		return false;
	if (bytes >= LARGE_BYTES && atomic_fetch_add(&large_allocations, 1) + 1 == signal_at)
		raise(SIGTERM);
	return atomic_fetch_add(&allocations, 1) + 1 == fail_at && !would_crash(caller) && allocation_fails();
}

static unsigned long number_of(const char *name)
{
	const char *number = getenv(name);

	return number ? strtoul(number, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void)
{
	fail_at = number_of("FAIL_ALLOCATION");
	signal_at = number_of("SIGNAL_ALLOCATION");
	count_path = getenv("COUNT_ALLOCATIONS");
	unsetenv("LD_PRELOAD");
	is_counting = true;
}

__attribute__((destructor)) static void end(void)
{
	is_counting = false;
	FILE *file = count_path ? fopen(count_path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%lu\n%lu\n", atomic_load(&allocations), atomic_load(&large_allocations));
	fclose(file);
}

/* The next one of that name: the C library's, or a sanitizer's. */
static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

#define NEXT(name)                                                                                                     \
	static typeof(&name) next_##name;                                                                              \
	if (!next_##name)                                                                                              \
	next_##name = (typeof(&name))next(#name)

EXPORTED void *malloc(size_t bytes)
{
	NEXT(malloc);
	return must_fail(__builtin_return_address(0), bytes) ? NULL : next_malloc(bytes);
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
	NEXT(calloc);
	return must_fail(__builtin_return_address(0), count * bytes) ? NULL : next_calloc(count, bytes);
}

EXPORTED void *realloc(void *old, size_t bytes)
{
	NEXT(realloc);
	return must_fail(__builtin_return_address(0), bytes) ? NULL : next_realloc(old, bytes);
}

EXPORTED void *reallocarray(void *old, size_t count, size_t bytes)
{
	NEXT(reallocarray);
	return must_fail(__builtin_return_address(0), count * bytes) ? NULL : next_reallocarray(old, count, bytes);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
	NEXT(aligned_alloc);
	return must_fail(__builtin_return_address(0), bytes) ? NULL : next_aligned_alloc(alignment, bytes);
}

EXPORTED int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	NEXT(posix_memalign);
	return must_fail(__builtin_return_address(0), bytes) ? ENOMEM : next_posix_memalign(ret, alignment, bytes);
}
