/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Texts as words of a POSIX shell, for commands that a message proposes. */
#pragma once

/* Returns the text, between single quotes unless the shell takes it as it is. The caller frees it; NULL: no memory. */
char *shell_word(const char *text);
