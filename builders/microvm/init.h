/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the init of microVMs: main program (init.c), machine (machine.c), and what is started (start.c). */
#pragma once

#include <grp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/types.h>

/* One that is prepared for its program. All strings are kept until the machine ends. */
struct machine {
	char *folder;  /* of the init and its configuration */
	char *overlay; /* where the filesystem is mounted that takes changes; NULL: there is none */
	char *hostname;
	unsigned short exit_port; /* of qemu's isa-debug-exit; 0: none */
	bool is_reset;            /* to end it, not powered off */
};

#define MOST_GROUPS 64

struct user {
	uid_t uid;
	gid_t gid;
	gid_t groups[MOST_GROUPS];
	size_t group_count;
	char *home;
};

/* How the image's program is started. */
struct start {
	char **arguments, **environment;
	const char *directory;
	struct user user;
	int stop_signal;
};

/* Says something on the console, in one line. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* Joins the text; ends the program where there is no memory. The caller frees it. */
__attribute__((format(printf, 1, 2))) char *text_of(const char *format, ...);

/* Makes a file of a folder, or replaces its contents. False with errno. */
bool write_file(const char *folder, const char *name, const char *text);

/* Makes a folder and those above it. */
void make_folders(const char *path);

/* Mounts what programs expect, and brings the machine's names to where they look for them. False: it has been said why
 * the machine cannot be used. program: the path by which the kernel has started the init. */
bool machine_prepare(struct machine *machine, const char *program);

/* Reads the configuration. False: it has been said why nothing can be started. words: instead of Cmd, if there are any.
 */
bool start_read(struct start *start, const struct machine *machine, int word_count, char **words);

/* Finds NAME, UID, NAME:GROUP and so on in the image's own /etc/passwd and /etc/group; NULL or "": root. False: it has
 * been said what is unknown. */
bool user_find(const char *text, struct user *user);
