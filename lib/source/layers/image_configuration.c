/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/image_configuration.h"

#include <errno.h>
#include <stdlib.h>

#include "source/layers/image_files.h"

static const char *const platform_keys[] = { "architecture", "os", "os.version", "variant" };

static const char *const run_keys[] = {
	"User",       "ExposedPorts", "Env",        "Entrypoint",  "Cmd",   "Volumes",
	"WorkingDir", "Labels",       "StopSignal", "ArgsEscaped", "Shell", "Healthcheck",
};

void image_configuration_clear(struct image_configuration *configuration)
{
	free(TAKE(configuration->text));
}

/* Adds those of the members that are there; null is as good as none. */
static errcode_t copy_members(json_object *to, const json_object *from, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		json_object *value = json_object_object_get(from, keys[i]);

		if (value && json_object_object_add(to, keys[i], json_object_get(value)))
			return ENOMEM;
	}
	return 0;
}

errcode_t image_configuration_take(struct image_configuration *configuration, const json_object *document,
                                   const char *path, struct problem *problem)
{
	const json_object *config = json_object_object_get(document, "config");
	SCOPE_DOCUMENT json_object *taken = json_object_new_object();
	json_object *run = taken ? json_object_new_object() : NULL;

	if (config && !json_object_is_type(config, json_type_object))
		return problem_set_reason(problem, EINVAL, path, "cannot use", "its \"config\" is not a JSON object");
	if (!run)
		return ENOMEM;
	errcode_t error = copy_members(taken, document, platform_keys, sizeof(platform_keys) / sizeof(*platform_keys));

	if (!error)
		error = copy_members(run, config, run_keys, sizeof(run_keys) / sizeof(*run_keys));
	if (json_object_object_add(taken, "config", run)) {
		json_object_put(run);
		return ENOMEM;
	}
	const char *text =
		error ? NULL :
			json_object_to_json_string_ext(taken, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
	                                                              JSON_C_TO_STRING_NOSLASHESCAPE);
	char *line = NULL;

	if (!text || asprintf(&line, "%s\n", text) < 0)
		return ENOMEM;
	free(configuration->text);
	configuration->text = line;
	return 0;
}
