/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * without_calls CALL=ERROR... -- COMMAND [ARGUMENT]...: runs a command as an older kernel (ENOSYS) or a container's
 * filter (EPERM) would, to which some system calls do not exist, or on a disk that is damaged (EIO) or full (ENOSPC).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_CALLS 16
#define CALL_STATEMENTS 5

/* The newer ones have the same number on nearly all machines; headers may lack them. */
static const struct call {
	const char *name;
	unsigned int number;
	unsigned int argument;    /* that is looked at; 0: none is */
	unsigned int value, flag; /* it is this value, or has this flag */
} calls[] = {
	{ "lgetxattr", .number = SYS_lgetxattr },
	{ "llistxattr", .number = SYS_llistxattr },
	{ "flistxattr", .number = SYS_flistxattr },
	{ "ftruncate", .number = SYS_ftruncate },
	{ "getflags", .number = SYS_ioctl, .argument = 1, .value = FS_IOC_GETFLAGS },
	{ "O_TMPFILE", .number = SYS_openat, .argument = 2, .flag = O_TMPFILE & ~O_DIRECTORY },
	{ "unshare", .number = SYS_unshare },
	{ "openat2", .number = 437 },
	{ "landlock_create_ruleset", .number = 444 },
	{ "getxattrat", .number = 464 },
	{ "listxattrat", .number = 465 },
	{ "file_getattr", .number = 468 },
};

static const struct error {
	const char *name;
	unsigned int number;
} errors[] = { { "ENOSYS", ENOSYS }, { "EPERM", EPERM },   { "EACCES", EACCES },
	       { "EIO", EIO },       { "ENOSPC", ENOSPC }, { "EOPNOTSUPP", EOPNOTSUPP } };

#define FIND(table, text, bytes, found)                                                                                \
	for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++)                                                  \
		if (strlen((table)[i].name) == (bytes) && !memcmp((table)[i].name, text, bytes))                       \
	(found) = &(table)[i]

static int fail(const char *what)
{
	fprintf(stderr, "without_calls: %s\n", what);
	return 125;
}

/* The low half of an argument is where a machine of 64 bits has it; the other one is not compared. */
#define LOW_HALF (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)

/* Statements that end with that error where the call is this one; how many they are. */
static unsigned short refuse(struct sock_filter *filter, const struct call *call, unsigned int error)
{
	const unsigned int argument_at =
		offsetof(struct seccomp_data, args) + call->argument * sizeof(uint64_t) + LOW_HALF;
	const unsigned short comparison = call->flag ? BPF_JSET : call->argument ? BPF_JEQ : BPF_JGE;
	const struct sock_filter statements[CALL_STATEMENTS] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at),
		BPF_JUMP(BPF_JMP | comparison | BPF_K, call->flag | call->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
	};

	memcpy(filter, statements, sizeof(statements));
	return CALL_STATEMENTS;
}

int main(int argument_count, char **arguments)
{
	struct sock_filter filter[CALL_STATEMENTS * MOST_CALLS + 1];
	struct sock_fprog program = { 0, filter };
	int at = 1;

	for (; at < argument_count && strcmp(arguments[at], "--"); at++) {
		const struct call *call = NULL;
		const struct error *error = NULL;
		size_t bytes = strcspn(arguments[at], "=");
		const char *value = arguments[at] + bytes + (arguments[at][bytes] == '=');

		FIND(calls, arguments[at], bytes, call);
		FIND(errors, value, strlen(value), error);
		if (!call || !error || at > MOST_CALLS)
			return fail(arguments[at]);
		program.len += refuse(filter + program.len, call, error->number);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (at + 1 >= argument_count)
		return fail("no command");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return fail(strerror(errno));
	execvp(arguments[at + 1], arguments + at + 1);
	return fail(strerror(errno));
}
