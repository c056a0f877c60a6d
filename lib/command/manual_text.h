/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tool's manual page as text, so that --help=TOPIC shows it where no manual is installed.
 * lib/command/manual_text.awk makes it from the page when the tool is built. The first byte of a line is its kind;
 * lines are ended by a newline, and the last one by NUL, too.
 */
#pragma once

enum manual_line_kind {
	MANUAL_SECTION = '#',    /* a heading */
	MANUAL_SUBSECTION = '=', /* a heading within a section */
	MANUAL_TAG = '-',        /* "--free=size": an option, command or word, of which the entry that follows tells */
	MANUAL_ENTRY = '>',
	MANUAL_TEXT = '.', /* of a section, and of no single tag */
};

extern const char manual_text[];
