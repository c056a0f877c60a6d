/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/overview/overview_document.h"

#include <string.h>

#include "unit.h"

#define MOST_BYTES 4096

struct outputs {
	char markdown[MOST_BYTES], page[MOST_BYTES];
};

/* Printed byte by byte: how it comes does not matter. */
static void convert(const char *text, struct outputs *outputs)
{
	FILE *markdown = fmemopen(outputs->markdown, sizeof(outputs->markdown), "w");
	FILE *page = fmemopen(outputs->page, sizeof(outputs->page), "w");
	struct document document;

	ck_assert_ptr_nonnull(markdown);
	ck_assert_ptr_nonnull(page);
	ck_assert_int_eq(document_open(markdown, page, &document), 0);
	setvbuf(document.text, NULL, _IONBF, 0);
	for (const char *at = text; *at; at++)
		fputc(*at, document.text);
	ck_assert_int_eq(document_close(&document), 0);
	fclose(markdown);
	fclose(page);
}

START_TEST(markdown_becomes_a_page)
{
	static const struct {
		const char *markdown, *page;
	} cases[] = {
		{ "", "" },
		{ "one\ntwo\n\nthree\n", "<p>one\ntwo</p>\n<p>three</p>\n" },
		{ "# All of it\n", "<h1>All of it</h1>\n" },
		{ "#image, append\n\n#\n", "<p>#image, append</p>\n<p>#</p>\n" },
		{ "## append: files\nx\n## unlink\n### again\n",
		  "<section id=\"append\">\n<h2>append: files</h2>\n<p>x</p>\n"
		  "</section>\n<section id=\"unlink\">\n<h2>unlink</h2>\n<h3>again</h3>\n</section>\n" },
		{ "a `b*c*` **d** *e*\n", "<p>a <code>b*c*</code> <strong>d</strong> <em>e</em></p>\n" },
		{ "2 * 3, a** and `\n", "<p>2 * 3, a** and `</p>\n" },
		{ "1 < 2 & `3 > 2`\n", "<p>1 &lt; 2 &amp; <code>3 &gt; 2</code></p>\n" },
		{ "    a <b\n    c\n", "<pre>a &lt;b\nc</pre>\n" },
		{ "| a |  b |\n|---|---:|\n| **part**\n| x & y | -1.5 |\n| z | layout |\nend\n",
		  "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\" class=\"text\">a</th><th "
		  "scope=\"col\">b</th></tr>\n"
		  "</thead><tbody>\n"
		  "<tr><th scope=\"row\" class=\"text\"><strong>part</strong></th></tr>\n"
		  "<tr><th scope=\"row\" class=\"text\">x &amp; y</th><td>-1.5</td></tr>\n"
		  "<tr><th scope=\"row\" class=\"text\">z</th><td class=\"text\">layout</td></tr>\n"
		  "</tbody></table></div>\n<p>end</p>\n" },
	};

	for (size_t index = 0; index < sizeof(cases) / sizeof(*cases); index++) {
		struct outputs outputs = { 0 };

		convert(cases[index].markdown, &outputs);
		ck_assert_str_eq(outputs.markdown, cases[index].markdown);
		ck_assert_str_eq(outputs.page, cases[index].page);
	}
}
END_TEST

START_TEST(either_may_be_left_out)
{
	char text[MOST_BYTES] = "";
	FILE *stream = fmemopen(text, sizeof(text), "w");
	struct document document;

	ck_assert_int_eq(document_open(NULL, stream, &document), 0);
	fputs("one\n", document.text);
	ck_assert_int_eq(document_flush(&document), 0);
	fputs("<svg/>\n", stream);
	fputs("two\n", document.text);
	ck_assert_int_eq(document_close(&document), 0);
	fclose(stream);
	ck_assert_str_eq(text, "<p>one</p>\n<svg/>\n<p>two</p>\n");

	stream = fmemopen(text, sizeof(text), "w");
	ck_assert_int_eq(document_open(stream, NULL, &document), 0);
	fputs("**one**\n", document.text);
	ck_assert_int_eq(document_close(&document), 0);
	fclose(stream);
	ck_assert_str_eq(text, "**one**\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("overview_document");
	TCase *tests = tcase_create("overview_document");

	tcase_add_test(tests, markdown_becomes_a_page);
	tcase_add_test(tests, either_may_be_left_out);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
