/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --help=TOPIC: what the manual says of an option, of a section of --help, or of a section of its own. */
#pragma once

#include "command/command_line.h"

/* Proposals of completion: names of options and words of headings; NULL after the last one. Valid until the next call.
 */
const char *help_topic_word(const struct command_line *line, unsigned int index);

/*
 * Prints to standard output what there is about a topic: an option's name or letter, with dashes or without them; words
 * of a heading, in --help or in the manual; or else a word that the manual explains. Wrong usage if the topic is none
 * of these.
 */
void help_topic_print(const struct command_line *line, const struct option_row *standard_rows, const char *topic);
