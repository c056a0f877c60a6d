/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overview while it is written: Markdown, and the same text as a page for browsers. It uses a part of Markdown:
 * headings, paragraphs with `code`, **strong** and *weak* words, commands (indented by four blanks) and tables.
 *
 * The page is made from the Markdown, because that is shorter: the sentences are Markdown anyway, and the tables are
 * those that e2allocsim prints. Calls for headings, paragraphs and cells that write both were tried, and took 85
 * lines and 60 statements more (e2allocsim's tables had to use them, too).
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "support/problem.h"

enum document_block { BLOCK_NONE, BLOCK_PARAGRAPH, BLOCK_COMMANDS, BLOCK_TABLE };

struct document {
	FILE *markdown, *page; /* the caller's; either may be NULL */
	FILE *text;            /* text that is printed here goes into both */
	char *line;            /* the incomplete last line; owned */
	size_t length, capacity;
	enum document_block block; /* the block that is open in the page */
	bool is_in_section;
	errcode_t error;
};

/* ENOMEM; then nothing is to be closed. */
MUST_CHECK errcode_t document_open(FILE *markdown, FILE *page, struct document *document);

/* Flushes printed text, so that direct writes to markdown or page come after it. Errors of printing. */
MUST_CHECK errcode_t document_flush(struct document *document);

/* Ends the open block. Errors of printing. */
MUST_CHECK errcode_t document_close(struct document *document);
