/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names the inode or block that an error is about, in a buffer of the caller's. */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct orphan_message {
	char *text;   /* may be NULL */
	size_t bytes; /* with the terminating NUL */
};

#define orphan_message_say(why, ...)                                                                                   \
	do {                                                                                                           \
		if ((why)->bytes)                                                                                      \
			snprintf((why)->text, (why)->bytes, __VA_ARGS__);                                              \
	} while (0)
