/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "layer_cache_command.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "source/pack/layer_cache.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/text/json.h"
#include "support/text/units.h"

const struct option_row layer_cache_rows[] = {
	LAYER_CACHE_ROWS,
	{ .name = "layer-cache-list", FIELD(layers.lists), .help = "list what DIR has, and make no image" },
	{ .name = "layer-cache-check",
	  FIELD(layers.checks),
	  .help = "compare all that DIR has with its checksums and drop what is damaged, and make\n"
	          "no image" },
	{ .name = "layer-cache-drop",
	  .argument = "DIGEST|all",
	  .kind = ARGUMENT_TEXT,
	  FIELD(layers.dropped),
	  .help = "drop a layer by its diff_id or its blob's digest, an archive by its sha256,\n"
	          "or all that nobody uses, and make no image" },
	{ .name = "layer-cache-unpin",
	  .argument = "DIGEST|all",
	  .kind = ARGUMENT_TEXT,
	  FIELD(layers.unpinned),
	  .help = "let what --layer-cache-pin has pinned be dropped, and make no image" },
	{ 0 },
};

void layer_cache_options_check(struct command *command)
{
	const struct layer_cache_command *own = &command->layers;

	layer_cache_option_complete(&command->layer_cache, &command->options.layer_cache);
	if (layer_cache_is_all(command) && !command->layer_cache.path)
		usage_error("options that begin with --layer-cache- need --layer-cache=DIR or --layer-cache=auto");
	if (own->lists + own->checks + (own->dropped != NULL) + (own->unpinned != NULL) > 1)
		usage_error(
			"--layer-cache-list, --layer-cache-check, --layer-cache-drop and --layer-cache-unpin exclude "
			"each other");
}

bool layer_cache_is_all(const struct command *command)
{
	const struct layer_cache_command *own = &command->layers;

	return own->lists || own->checks || own->dropped || own->unpinned;
}

static void print_time(int64_t seconds, char text[32])
{
	time_t time = seconds;
	struct tm parts;

	*text = '\0';
	if (gmtime_r(&time, &parts))
		strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void print_entry(const struct layer_entry *entry)
{
	const char *dot = strchr(entry->name, '.');
	int kind_bytes = dot ? (int)(dot - entry->name) : 0;
	char used[32];

	print_time(entry->used_seconds, used);
	printf("%.*s sha256:%s  %s  %" PRIu64 " name%s  used %s%s%s%s\n", kind_bytes, entry->name,
	       dot ? dot + 1 : entry->name, units_bytes(entry->disk_bytes).text, entry->names,
	       units_plural(entry->names), used, entry->is_used ? "  in use" : "", entry->is_pinned ? "  pinned" : "",
	       entry->is_damaged ? "  damaged" : "");
}

static void write_entry(struct json *json, const struct layer_entry *entry)
{
	const char *dot = strchr(entry->name, '.');
	char kind[sizeof(entry->name)], used[32];

	snprintf(kind, sizeof(kind), "%.*s", dot ? (int)(dot - entry->name) : 0, entry->name);
	print_time(entry->used_seconds, used);
	json_row(json, NULL, JSON_TEXT("kind", kind), JSON_TEXT("sha256", dot ? dot + 1 : entry->name),
	         JSON_COUNT("bytes", entry->disk_bytes), JSON_COUNT("names", entry->names), JSON_TEXT("used", used),
	         JSON_BOOLEAN("in_use", entry->is_used), JSON_BOOLEAN("damaged", entry->is_damaged),
	         JSON_BOOLEAN("pinned", entry->is_pinned));
}

static errcode_t list(const struct command *command, struct layer_cache *cache, struct problem *problem)
{
	SCOPE_FREE struct layer_entry *entries = NULL;
	struct json json = { .stream = stdout };
	size_t count;
	errcode_t error = layer_cache_list(cache, &entries, &count, problem);

	if (error)
		return error;
	if (!command->json) {
		for (size_t i = 0; i < count; i++)
			print_entry(&entries[i]);
		return 0;
	}
	json_open_object(&json, NULL);
	json_open_array(&json, "layers");
	for (size_t i = 0; i < count; i++)
		write_entry(&json, &entries[i]);
	json_close_array(&json);
	json_close_object(&json);
	return json_end(&json);
}

static errcode_t drop(const struct command *command, struct layer_cache *cache, struct problem *problem)
{
	struct layer_drop dropped;
	errcode_t error = layer_cache_drop(cache, command->layers.dropped, &dropped, problem);

	if (error)
		return error;
	if (!command->quiet)
		printf("dropped %" PRIu64 " layer%s, %s\n", dropped.packs, units_plural(dropped.packs),
		       units_bytes(dropped.bytes).text);
	if (!dropped.used)
		return 0;
	return problem_set_reason(problem, EBUSY, command->layer_cache.path, "cannot drop everything",
	                          "%" PRIu64 " layer%s in use", dropped.used, dropped.used == 1 ? " is" : "s are");
}

static errcode_t unpin(const struct command *command, struct layer_cache *cache, struct problem *problem)
{
	uint64_t count;
	errcode_t error = layer_cache_unpin(cache, command->layers.unpinned, &count, problem);

	if (!error && !command->quiet)
		printf("unpinned %" PRIu64 " layer%s\n", count, units_plural(count));
	return error;
}

static errcode_t check(const struct command *command, struct layer_cache *cache, struct problem *problem)
{
	struct warnings damaged = { 0 };
	struct pool *pool;
	uint64_t checked;
	errcode_t error = pool_create(command->options.threads > 1 ? command->options.threads : 0, &pool);

	if (error)
		return problem_set(problem, error, NULL, "cannot start threads");
	error = layer_cache_check(cache, pool, &damaged, &checked, problem);
	pool_destroy(pool);
	for (size_t i = 0; i < damaged.count; i++)
		print_problem(&damaged.list[i]);
	if (!error && !command->quiet)
		printf("checked %" PRIu64 " layer%s, of which %zu %s damaged\n", checked, units_plural(checked),
		       damaged.count, damaged.count == 1 ? "was" : "were");
	if (!error && damaged.count)
		error = EBADMSG;
	warnings_clear(&damaged);
	return error;
}

int layer_cache_run(const struct command *command)
{
	struct layer_cache *cache;
	struct problem problem = { 0 };
	errcode_t error = layer_cache_open(&command->options.layer_cache, &cache, &problem);

	if (!error) {
		error = command->layers.lists    ? list(command, cache, &problem) :
		        command->layers.checks   ? check(command, cache, &problem) :
		        command->layers.unpinned ? unpin(command, cache, &problem) :
		                                   drop(command, cache, &problem);
		layer_cache_close(cache);
	}
	if (problem.error)
		print_problem(&problem);
	if (error)
		return EXIT_FAILURE;
	error = flush_output(stdout);
	return error ? print_output_failure(error) : EXIT_SUCCESS;
}
