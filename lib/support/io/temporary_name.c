/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/io/temporary_name.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/cleanup.h"

/* All parts together have less than NAME_MAX, 255 bytes. */
#define NAME_BYTES 160
#define HOST_BYTES 48
#define BOOT_DIGITS 16
#define MARK ".e2new-"

static void read_host(char host[HOST_BYTES + 1])
{
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	snprintf(host, HOST_BYTES + 1, "%s", *name ? name : "unknown");
	for (char *at = host; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '.' && *at != '-')
			*at = '_';
}

/* Only zeros without /proc: that is the start of no host. */
static void read_boot(char boot[BOOT_DIGITS + 1])
{
	SCOPE_CLOSE int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t bytes = descriptor < 0 ? 0 : read(descriptor, text, sizeof(text));
	int digits = 0;

	for (ssize_t i = 0; i < bytes && digits < BOOT_DIGITS; i++)
		if (isxdigit((unsigned char)text[i]))
			boot[digits++] = text[i];
	if (digits < BOOT_DIGITS)
		memset(boot, '0', BOOT_DIGITS);
	boot[BOOT_DIGITS] = '\0';
}

/* Splits a path into its folder, with the slash, and a name. */
static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *temporary_name_of(const char *final_path, unsigned int number)
{
	const char *name = name_in(final_path);
	char host[HOST_BYTES + 1], boot[BOOT_DIGITS + 1], *path;

	read_host(host);
	read_boot(boot);
	return asprintf(&path, "%.*s.%.*s" MARK "%s-%s-%u", (int)(name - final_path), final_path, NAME_BYTES, name,
	                host, boot, number) < 0 ?
	               NULL :
	               path;
}

bool temporary_name_is_for(const char *name, const char *final_path)
{
	const char *own = name_in(final_path);
	size_t bytes = strnlen(own, NAME_BYTES);

	return *name == '.' && !strncmp(name + 1, own, bytes) && !strncmp(name + 1 + bytes, MARK, strlen(MARK));
}

bool temporary_name_is_ours(const char *path)
{
	const char *mark = strstr(name_in(path), MARK), *number = strrchr(path, '-');
	char boot[BOOT_DIGITS + 1];

	read_boot(boot);
	return mark && number > mark + strlen(MARK) + BOOT_DIGITS && number[-BOOT_DIGITS - 1] == '-' &&
	       !strncmp(number - BOOT_DIGITS, boot, BOOT_DIGITS) && strspn(boot, "0") < BOOT_DIGITS;
}
