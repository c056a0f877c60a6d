/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/tool.h"
#include "source/sources.h"
#include "support/text/shell_word.h"

/* How a name begins, and the command that brings what it names: %s is the name as a word of the shell. */
static const struct elsewhere {
	const char *prefix;
	const char *what;
	const char *fetch; /* before the tool */
	const char *read;  /* what follows -d then */
} elsewhere[] = {
	{ "http://", "a URL", "curl -fL %s | ", "-" },
	{ "https://", "a URL", "curl -fL %s | ", "-" },
	{ "ftp://", "a URL", "curl -fL %s | ", "-" },
	{ "s3://", "a URL", "aws s3 cp %s - | ", "-" },
	{ "rsync://", "a URL", "rsync -aHAX %s/ DIR && ", "DIR" },
	{ "docker://", "an image in a registry", "skopeo copy %s oci:DIR && ", "oci:DIR" },
	{ "docker-daemon:", "an image of a container engine", "skopeo copy %s oci:DIR && ", "oci:DIR" },
	{ "containers-storage:", "an image of a container engine", "skopeo copy %s oci:DIR && ", "oci:DIR" },
};

/*
 * The command that fetches the source. usage_error() does not return, so nobody frees it: it is kept here, where a
 * sanitizer sees that it is still in use.
 */
static char *fetch;

static void refuse(const char *name, const char *what, const char *read)
{
	usage_error("-d %s: %s is not read; type: %s%s -d %s ...", name, what, fetch, tool_name, read);
}

static void refuse_named(const struct elsewhere *place, const char *name)
{
	const char *gap = strstr(place->fetch, "%s");
	char *word = shell_word(name);
	int length = word ? asprintf(&fetch, "%.*s%s%s", (int)(gap - place->fetch), place->fetch, word, gap + 2) : -1;

	free(word);
	if (length < 0)
		exit_without_memory();
	refuse(name, place->what, place->read);
}

/* "user@host:path", as scp(1) and rsync(1) take it. */
static void refuse_remote(const char *name)
{
	const char *colon = strchr(name, ':'), *at = memchr(name, '@', colon ? (size_t)(colon - name) : 0);

	if (!at || at == name || at + 1 == colon || memchr(name, '/', (size_t)(colon - name)))
		return;
	char *login = strndup(name, (size_t)(colon - name));
	char *host = login ? shell_word(login) : NULL;
	char *path = shell_word(colon[1] ? colon + 1 : ".");
	int length = host && path ? asprintf(&fetch, "ssh %s tar -C %s -c . | ", host, path) : -1;

	free(login);
	free(host);
	free(path);
	if (length < 0)
		exit_without_memory();
	refuse(name, "a path on another host", "-");
}

static void refuse_source_elsewhere(const char *name)
{
	if (access(name, F_OK) == 0)
		return;
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
		if (strncmp(name, elsewhere[i].prefix, strlen(elsewhere[i].prefix)) == 0)
			refuse_named(&elsewhere[i], name);
	refuse_remote(name);
}

void source_option_check(const struct argument_list *sources)
{
	const size_t last = sources->count - 1;
	const char *name = sources->list[last];
	bool is_input = source_is_standard_input(name);

	if (!*name)
		usage_error("-d \"\": no source is named");
	if (source_names_nothing(name))
		usage_error("-d %s: no file is named", name);
	refuse_source_elsewhere(name);
	for (size_t i = 0; i < last; i++)
		if (is_input && source_is_standard_input(sources->list[i]))
			usage_error("-d %s: standard input can be read only once", name);
}
