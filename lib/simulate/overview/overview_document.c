/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/overview/overview_document.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "support/cleanup.h"
#include "support/io/whole_io.h"
#include "support/text/markup.h"
#include "support/vector.h"

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

/* Markdown's marks within a line, and their elements. Longer marks come first. */
static const struct {
	const char *mark, *element;
} marks[] = { { "**", "strong" }, { "*", "em" }, { "`", "code" } };

#define MARKS (sizeof(marks) / sizeof(*marks))

/* Returns the index of the mark with which text begins, if the mark is closed, and where; MARKS: none. */
static size_t mark_at(const char *text, const char *end, const char **mark_end)
{
	for (size_t index = 0; index < MARKS; index++) {
		size_t length = strlen(marks[index].mark);

		/* An asterisk before a blank is not a mark. */
		if ((size_t)(end - text) <= length || !begins(text, marks[index].mark) || text[length] == ' ')
			continue;
		*mark_end = memmem(text + length, (size_t)(end - text) - length, marks[index].mark, length);
		if (*mark_end && *mark_end > text + length)
			return index;
	}
	return MARKS;
}

static void put_words(FILE *page, const char *text, const char *end)
{
	while (text < end) {
		const char *mark_end;
		size_t mark = mark_at(text, end, &mark_end);

		if (mark == MARKS) {
			markup_print(text++, 1, page);
			continue;
		}
		text += strlen(marks[mark].mark);
		fprintf(page, "<%s>", marks[mark].element);
		/* There are no marks within code. */
		markup_print(text, (size_t)(mark_end - text), page);
		fprintf(page, "</%s>", marks[mark].element);
		text = mark_end + strlen(marks[mark].mark);
	}
}

static void end_block(struct document *document)
{
	static const char *const ends[] = {
		[BLOCK_NONE] = "",
		[BLOCK_PARAGRAPH] = "</p>\n",
		[BLOCK_COMMANDS] = "</pre>\n",
		[BLOCK_TABLE] = "</tbody></table></div>\n",
	};

	fputs(ends[document->block], document->page);
	document->block = BLOCK_NONE;
}

static void begin_block(struct document *document, enum document_block block)
{
	static const char *const begins[] = {
		[BLOCK_NONE] = "",
		[BLOCK_PARAGRAPH] = "<p>",
		[BLOCK_COMMANDS] = "<pre>",
		[BLOCK_TABLE] = "<div class=\"scroll\" tabindex=\"0\"><table>",
	};

	if (document->block == block) {
		if (block != BLOCK_TABLE)
			fputc('\n', document->page);
		return;
	}
	end_block(document);
	fputs(begins[block], document->page);
	document->block = block;
}

/* 0: not a heading. A line may begin with the name of an image, which may be anything. */
static size_t heading_level(const char *line)
{
	size_t level = strspn(line, "#");

	return level <= 3 && line[level] == ' ' ? level : 0;
}

/* A section's address is the first word of its heading. */
static void put_heading(struct document *document, const char *line)
{
	size_t level = heading_level(line);
	const char *words = line + level + 1;

	end_block(document);
	if (level == 2) {
		fputs(document->is_in_section ? "</section>\n<section id=\"" : "<section id=\"", document->page);
		markup_print(words, strcspn(words, ": "), document->page);
		fputs("\">\n", document->page);
		document->is_in_section = true;
	}
	fprintf(document->page, "<h%zu>", level);
	put_words(document->page, words, words + strlen(words));
	fprintf(document->page, "</h%zu>\n", level);
}

static void put_cell(FILE *page, const char *text, const char *end, bool is_head, bool is_first)
{
	while (text < end && isblank((unsigned char)*text))
		text++;
	while (text < end && isblank((unsigned char)end[-1]))
		end--;
	/* Numbers and their headings are right-aligned. */
	bool is_text = is_first || (!is_head && text < end && !isdigit((unsigned char)*text) && *text != '-');

	fprintf(page, "<%s%s>",
	        is_head  ? "th scope=\"col\"" :
	        is_first ? "th scope=\"row\"" :
	                   "td",
	        is_text ? " class=\"text\"" : "");
	put_words(page, text, end);
	fputs(is_head || is_first ? "</th>" : "</td>", page);
}

/* A rule ends the heads; a row of one cell is a heading of the next rows. */
static void put_row(struct document *document, const char *line)
{
	FILE *page = document->page;
	bool is_head = document->block != BLOCK_TABLE, is_first = true;

	begin_block(document, BLOCK_TABLE);
	if (begins(line, "|---")) {
		fputs("</thead><tbody>\n", page);
		return;
	}
	fputs(is_head ? "<thead><tr>" : "<tr>", page);
	for (const char *cell = line + 1, *end; *cell; cell = *end ? end + 1 : end) {
		end = cell + strcspn(cell, "|");
		put_cell(page, cell, end, is_head, is_first);
		is_first = false;
	}
	fputs("</tr>\n", page);
}

static void put_line(struct document *document, const char *line)
{
	if (!*line) {
		end_block(document);
	} else if (heading_level(line)) {
		put_heading(document, line);
	} else if (*line == '|') {
		put_row(document, line);
	} else if (begins(line, "    ")) {
		begin_block(document, BLOCK_COMMANDS);
		markup_print(line + 4, strlen(line + 4), document->page);
	} else {
		begin_block(document, BLOCK_PARAGRAPH);
		put_words(document->page, line, line + strlen(line));
	}
}

static errcode_t copy_text(struct document *document, const char *text, size_t count)
{
	errcode_t error = vector_reserve(&document->line, &document->capacity, document->length + count + 1, 1);

	if (error)
		return error;
	memcpy(document->line + document->length, text, count);
	document->length += count;

	char *line = document->line, *end = document->line + document->length, *stop;

	while ((stop = memchr(line, '\n', (size_t)(end - line)))) {
		*stop = '\0';
		put_line(document, line);
		line = stop + 1;
	}
	document->length = (size_t)(end - line);
	memmove(document->line, line, document->length);
	return 0;
}

static ssize_t write_text(void *context, const char *text, size_t count)
{
	struct document *document = context;

	if (document->markdown)
		fwrite(text, 1, count, document->markdown);
	if (document->page && !document->error)
		document->error = copy_text(document, text, count);
	if (!document->error)
		return (ssize_t)count;
	errno = (int)document->error;
	return -1;
}

errcode_t document_open(FILE *markdown, FILE *page, struct document *document)
{
	*document = (struct document){ .markdown = markdown, .page = page };
	document->text = fopencookie(document, "w", (cookie_io_functions_t){ .write = write_text });
	return document->text ? 0 : ENOMEM;
}

errcode_t document_flush(struct document *document)
{
	errcode_t error = flush_output(document->text);

	if (!error && document->markdown)
		error = flush_output(document->markdown);
	if (!error && document->page) {
		end_block(document);
		error = flush_output(document->page);
	}
	return error;
}

errcode_t document_close(struct document *document)
{
	errcode_t error = document_flush(document);

	if (document->page && document->is_in_section)
		fputs("</section>\n", document->page);
	if (fclose(document->text) && !error)
		error = EIO;
	free(document->line);
	return error;
}
