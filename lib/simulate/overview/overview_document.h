/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overview while it is written: Markdown, and the same text as a page for browsers. What is printed is Markdown, as
 * little of it as the overview needs: headings, paragraphs with `code`, **strong** and *weak* words, commands (indented
 * by four blanks) and tables.
 *
 * The page is made of the Markdown, since that is the shorter way: the sentences are written as Markdown anyway, and
 * the tables are those that e2allocsim prints. Headings, paragraphs and cells as calls that write both were tried, and
 * took 85 lines and 60 statements more (e2allocsim's tables had to be made of them as well).
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "support/problem.h"

enum document_block { BLOCK_NONE, BLOCK_PARAGRAPH, BLOCK_COMMANDS, BLOCK_TABLE };

struct document {
	FILE *markdown, *page; /* the caller's; either may be NULL */
	FILE *text;            /* what is printed here goes into both */
	char *line;            /* that is not at its end yet; owned */
	size_t length, capacity;
	enum document_block block; /* what the page is within */
	bool is_in_section;
	errcode_t error;
};

/* ENOMEM, and nothing is to be closed. */
MUST_CHECK errcode_t document_open(FILE *markdown, FILE *page, struct document *document);

/* So that what is written to markdown or page directly comes after what was printed. Errors of printing. */
MUST_CHECK errcode_t document_flush(struct document *document);

/* Ends what the page is within. Errors of printing. */
MUST_CHECK errcode_t document_close(struct document *document);
