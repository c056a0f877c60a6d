/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "source/layers/image_files.h"
#include "support/cleanup.h"

/* Copies the word up to the next slash, or to the end. */
static bool read_word(const char **text, char word[PLATFORM_WORD_BYTES])
{
	size_t length = strcspn(*text, "/");

	if (!length || length >= PLATFORM_WORD_BYTES)
		return false;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length;
	return true;
}

errcode_t platform_parse(const char *text, struct platform *platform)
{
	*platform = (struct platform){ 0 };
	if (!read_word(&text, platform->system) || *text++ != '/' || !read_word(&text, platform->architecture))
		return EINVAL;
	if (!*text)
		return 0;
	text++;
	return read_word(&text, platform->variant) && !*text ? 0 : EINVAL;
}

static const char *host_architecture(void)
{
	static const struct {
		const char *machine, *architecture;
	} names[] = {
		{ "x86_64", "amd64" },        { "i686", "386" },    { "i586", "386" },
		{ "aarch64", "arm64" },       { "armv7l", "arm" },  { "armv6l", "arm" },
		{ "ppc64le", "ppc64le" },     { "s390x", "s390x" }, { "riscv64", "riscv64" },
		{ "loongarch64", "loong64" },
	};
	struct utsname host;

	if (uname(&host) == 0)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strcmp(host.machine, names[i].machine))
				return names[i].architecture;
	return "unknown";
}

struct platform platform_of_host(void)
{
	struct platform host = { .system = "linux" };

	strcpy(host.architecture, host_architecture());
	return host;
}

bool platform_fits(const struct platform *platform, const json_object *object)
{
	const char *variant = image_text(object, "variant");

	if (strcmp(image_text(object, "os"), platform->system) ||
	    strcmp(image_text(object, "architecture"), platform->architecture))
		return false;
	if (!*variant && !strcmp(platform->architecture, "arm64"))
		variant = "v8";
	return !*platform->variant || !strcmp(variant, platform->variant);
}

void platform_print(const json_object *object, FILE *stream)
{
	const char *variant = image_text(object, "variant");

	fprintf(stream, "%.160s/%.160s%s%.160s", image_text(object, "os"), image_text(object, "architecture"),
	        *variant ? "/" : "", variant);
}

errcode_t platform_check(const char *wanted, const json_object *configuration, const char *path,
                         struct problem *problem)
{
	struct platform platform;
	char *is = NULL;
	size_t bytes;

	if (!wanted)
		return 0;
	errcode_t error = platform_parse(wanted, &platform);

	if (error || platform_fits(&platform, configuration))
		return error;
	FILE *stream = open_memstream(&is, &bytes);

	if (!stream)
		return ENOMEM;
	platform_print(configuration, stream);
	bool is_whole = fclose(stream) == 0 && is;

	if (is_whole)
		error = problem_set_reason(problem, EINVAL, path, "cannot choose an image",
		                           "the only one is for %s, not for %s", is, wanted);
	free(is);
	return is_whole ? error : ENOMEM;
}
