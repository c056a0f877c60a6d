// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * without_calls CALL=ERROR... -- COMMAND [ARGUMENT]...: runs a command as an older kernel (ENOSYS) or a container's
 * filter (EPERM) would, to which some system calls do not exist.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_CALLS 16

/* The newer ones have the same number on nearly all machines; headers may lack them. */
static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
	{ "lgetxattr", SYS_lgetxattr }, { "llistxattr", SYS_llistxattr }, { "openat2", 437 },
	{ "getxattrat", 464 },          { "listxattrat", 465 },           { "file_getattr", 468 },
};

static const struct {
	const char *name;
	unsigned int number;
} errors[] = { { "ENOSYS", ENOSYS }, { "EPERM", EPERM }, { "EACCES", EACCES } };

#define FIND(table, text, bytes, found)                                                                                \
	for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++)                                                  \
		if (strlen((table)[i].name) == (bytes) && !memcmp((table)[i].name, text, bytes))                       \
	(found) = &(table)[i].number

static int fail(const char *what)
{
	fprintf(stderr, "without_calls: %s\n", what);
	return 125;
}

int main(int argument_count, char **arguments)
{
	struct sock_filter filter[2 * MOST_CALLS + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { 1, filter };
	int at = 1;

	for (; at < argument_count && strcmp(arguments[at], "--"); at++) {
		const unsigned int *call = NULL, *error = NULL;
		size_t bytes = strcspn(arguments[at], "=");
		const char *value = arguments[at] + bytes + (arguments[at][bytes] == '=');

		FIND(calls, arguments[at], bytes, call);
		FIND(errors, value, strlen(value), error);
		if (!call || !error || at > MOST_CALLS)
			return fail(arguments[at]);
		filter[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *call, 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | *error);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (at + 1 >= argument_count)
		return fail("no command");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return fail(strerror(errno));
	execvp(arguments[at + 1], arguments + at + 1);
	return fail(strerror(errno));
}
