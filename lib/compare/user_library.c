/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/user_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ERRNO 4095 /* Linux's own limit */

static const char action[] = "cannot use it as a policy";

bool user_library_is_path(const char *name)
{
	return strchr(name, '/');
}

const char *user_library_name(const struct user_library *library)
{
	return strrchr(library->path, '/') + 1;
}

/* dlerror(3)'s text begins with the path, which the message has already. */
static const char *load_error(const char *path)
{
	const char *text = dlerror();
	size_t length = strlen(path);

	if (!text)
		return "no reason is known";
	return strncmp(text, path, length) == 0 && text[length] == ':' ?
	               text + length + 1 + strspn(text + length + 1, " ") :
	               text;
}

static errcode_t check_version(const struct user_library *library, struct problem *problem)
{
	const unsigned int *version = dlsym(library->handle, "ext2mb_policy_version");

	if (!version)
		return problem_set_reason(problem, ELIBBAD, library->path, action,
		                          "it has no ext2mb_policy_version: ext2mb_policy.h has EXT2MB_POLICY_LIBRARY");
	if (*version == EXT2MB_POLICY_VERSION)
		return 0;
	return problem_set_reason(problem, ELIBBAD, library->path, action,
	                          "it was compiled with version %u of ext2mb_policy.h, and this program has %u",
	                          *version, EXT2MB_POLICY_VERSION);
}

static errcode_t look_all_up(struct user_library *library, struct problem *problem)
{
	const struct {
		const char *name;
		void *function;
	} functions[] = {
		{ "ext2mb_policy_goal", &library->goal },
		{ "ext2mb_policy_normalize", &library->normalize },
		{ "ext2mb_policy_next_group", &library->next_group },
		{ "ext2mb_policy_give_up", &library->give_up },
		{ "ext2mb_policy_open", &library->open },
		{ "ext2mb_policy_close", &library->close },
	};
	bool has_state = dlsym(library->handle, "ext2mb_policy_open") || dlsym(library->handle, "ext2mb_policy_close");
	errcode_t error = check_version(library, problem);

	/* The last two may be absent, but not one of them. Pointers are stored as dlsym(3) recommends. */
	for (size_t n = 0; !error && n < sizeof(functions) / sizeof(*functions) - (has_state ? 0 : 2); n++) {
		void *found = dlsym(library->handle, functions[n].name);

		memcpy(functions[n].function, &found, sizeof(found));
		if (!found)
			error = problem_set_reason(problem, ELIBBAD, library->path, action, "it has no function %s",
			                           functions[n].name);
	}
	return error;
}

errcode_t user_library_load(const char *path, struct user_library **ret, struct problem *problem)
{
	struct user_library *library = calloc(1, sizeof(*library));
	errcode_t error = library && (library->path = strdup(path)) ? 0 : ENOMEM;

	if (!error) {
		library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		error = library->handle ? look_all_up(library, problem) :
		                          problem_set_reason(problem, ELIBBAD, path, action, "%s", load_error(path));
	}
	if (error) {
		user_library_unload(library);
		return problem_set(problem, error, path, action);
	}
	*ret = library;
	return 0;
}

errcode_t user_library_explain(const struct user_library *library, errcode_t error, struct problem *problem)
{
	if (!library || !library->open_error || !error)
		return error;
	if (library->open_error < 0 || library->open_error > MOST_ERRNO)
		return problem_set_reason(problem, error, library->path, action,
		                          "ext2mb_policy_open: it returned %ld, which is no errno value",
		                          library->open_error);
	return problem_set_reason(problem, error, library->path, action, "ext2mb_policy_open: %s",
	                          error_message(library->open_error));
}

void user_library_unload(struct user_library *library)
{
	if (!library)
		return;
	if (library->handle)
		dlclose(library->handle);
	free(library->path);
	free(library);
}
