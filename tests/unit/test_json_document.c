/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/text/json_document.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static const struct {
	const char *text, *wanted; /* wanted: what json-c writes of it; NULL: it is refused */
	size_t wrong_byte;
} texts[] = {
	{ "{}", "{}", 0 },
	{ " \n{\"a\": [1, -2, 3.5, \"x}\"], \"b\": {\"c\": null}}\n\t ", "{\"a\":[1,-2,3.5,\"x}\"],\"b\":{\"c\":null}}",
	  0 },
	{ "[true, false]", "[true,false]", 0 },
	{ "\"text\"", "\"text\"", 0 },
	{ "", NULL, 0 },
	{ "   ", NULL, 3 },
	{ "{\"\303\274\": \"\342\202\254\"}", "{\"\303\274\":\"\342\202\254\"}", 0 },
	{ "{\"a\": 1", NULL, 7 },
	{ "{\"a\": 1}}", NULL, 8 },
	{ "{\"a\": 1} {}", NULL, 9 },
	{ "{\"a\": 1,}", NULL, 8 },
	{ "nothing", NULL, 1 },
};

START_TEST(all_of_the_text_is_the_document)
{
	struct problem problem = { 0 };
	json_object *document;
	char reason[64];
	errcode_t error =
		json_document_parse("file", "cannot use", texts[_i].text, strlen(texts[_i].text), &document, &problem);

	if (texts[_i].wanted) {
		ck_assert_int_eq(error, 0);
		ck_assert_str_eq(json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN), texts[_i].wanted);
		json_object_put(document);
	} else {
		ck_assert_int_eq(error, EINVAL);
		snprintf(reason, sizeof(reason), "it is not JSON: see byte %zu", texts[_i].wrong_byte);
		ck_assert_str_eq(problem.reason, reason);
		ck_assert_ptr_null(document);
		problem_clear(&problem);
	}
}
END_TEST

/* What lies after the text is not looked at: files are not strings. */
START_TEST(text_ends_where_it_is_said_to)
{
	json_object *document;

	ck_assert_int_eq(json_document_parse("file", "cannot use", "{}}", 2, &document, NULL), 0);
	json_object_put(document);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_document");
	TCase *tests = tcase_create("json_document");

	tcase_add_loop_test(tests, all_of_the_text_is_the_document, 0, sizeof(texts) / sizeof(*texts));
	tcase_add_test(tests, text_ends_where_it_is_said_to);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
