/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users of the image's own files: glibc's functions would load libraries that are not there. */
#include "init.h"

#include <stdint.h>
#include <string.h>

#define FIELDS 7

/* One line of /etc/passwd or /etc/group. */
struct line {
	char *fields[FIELDS];
	size_t count;
};

/* Reads the next line that has so many fields; false: there is none. */
static bool read_line(FILE *file, char **buffer, size_t *bytes, size_t least_fields, struct line *line)
{
	while (getline(buffer, bytes, file) >= 0) {
		char *rest = *buffer;

		rest[strcspn(rest, "\n")] = '\0';
		for (line->count = 0; rest && line->count < FIELDS;)
			line->fields[line->count++] = strsep(&rest, ":");
		if (line->count >= least_fields)
			return true;
	}
	return false;
}

static bool read_number(const char *text, unsigned int *number)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value >= UINT32_MAX)
		return false;
	*number = (unsigned int)value;
	return true;
}

/* Finds an account by its name, or else by its number, which needs no account. *name gets its name, or NULL. */
static bool find_account(const char *text, struct user *user, char **name)
{
	FILE *file = fopen("/etc/passwd", "re");
	unsigned int number = 0, own;
	bool is_number = read_number(text, &number), is_found = false;
	struct line line;
	char *buffer = NULL;
	size_t bytes = 0;

	*name = NULL;
	user->uid = number;
	user->home = strdup("/");
	while (file && !is_found && read_line(file, &buffer, &bytes, 6, &line)) {
		if (!read_number(line.fields[2], &own) ||
		    (strcmp(line.fields[0], text) && !(is_number && own == number)))
			continue;
		is_found = read_number(line.fields[3], &user->gid);
		user->uid = own;
		user->home = text_of("%s", *line.fields[5] ? line.fields[5] : "/");
		*name = text_of("%s", line.fields[0]);
	}
	free(buffer);
	if (file)
		fclose(file);
	return is_found || is_number;
}

static bool has_member(char *members, const char *name)
{
	for (char *member; (member = strsep(&members, ","));)
		if (!strcmp(member, name))
			return true;
	return false;
}

/* Finds a group by its name or number. */
static bool find_group(const char *text, struct user *user)
{
	FILE *file = fopen("/etc/group", "re");
	bool is_found = read_number(text, &user->gid);
	struct line line;
	char *buffer = NULL;
	size_t bytes = 0;

	while (file && !is_found && read_line(file, &buffer, &bytes, 3, &line))
		is_found = !strcmp(line.fields[0], text) && read_number(line.fields[2], &user->gid);
	free(buffer);
	if (file)
		fclose(file);
	return is_found;
}

/* The other groups of an account. */
static void add_groups(const char *name, struct user *user)
{
	FILE *file = fopen("/etc/group", "re");
	struct line line;
	char *buffer = NULL;
	size_t bytes = 0;

	while (file && user->group_count < MOST_GROUPS && read_line(file, &buffer, &bytes, 4, &line))
		if (has_member(line.fields[3], name) && read_number(line.fields[2], &user->groups[user->group_count]))
			user->group_count++;
	free(buffer);
	if (file)
		fclose(file);
}

bool user_find(const char *text, struct user *user)
{
	char *own = text_of("%s", text && *text ? text : "0"), *group = strchr(own, ':'), *name;

	if (group)
		*group++ = '\0';
	if (!find_account(*own ? own : "0", user, &name)) {
		complain("User: %s: the image's /etc/passwd does not have it", own);
		return false;
	}
	if (group && *group) {
		if (!find_group(group, user)) {
			complain("User: %s: the image's /etc/group does not have the group %s", text, group);
			return false;
		}
	} else if (name) {
		add_groups(name, user);
	}
	return true;
}
