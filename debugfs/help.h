/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Returns what `help COMMAND` prints below usage and meaning: lines, each with its newline; "" if it is no command. */
const char *help_text(const char *command);
