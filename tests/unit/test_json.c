/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/text/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "support/utf8.h"
#include "unit.h"

static char *text;
static size_t text_bytes;
static struct json json;

static void setup(void)
{
	json = (struct json){ .stream = open_memstream(&text, &text_bytes) };
}

static void teardown(void)
{
	free(text);
}

static void expect(const char *wanted)
{
	ck_assert_int_eq(json_end(&json), 0);
	fclose(json.stream);
	ck_assert_str_eq(text, wanted);
}

START_TEST(values_are_written)
{
	json_open_object(&json, NULL);
	json_unsigned(&json, "largest", UINT64_MAX);
	json_number(&json, "ratio", 1.25, 1);
	json_number(&json, "nothing", NAN, 1);
	json_boolean(&json, "yes", true);
	json_string(&json, "null", NULL);
	json_open_array(&json, "empty");
	json_close_array(&json);
	json_open_array(&json, "rows");
	json_open_row(&json, NULL);
	json_unsigned(&json, "a", 1);
	json_open_array(&json, "b");
	json_unsigned(&json, NULL, 2);
	json_unsigned(&json, NULL, 3);
	json_close_array(&json);
	json_close_object(&json);
	json_open_row(&json, NULL);
	json_close_object(&json);
	json_close_array(&json);
	json_close_object(&json);
	expect("{\n"
	       "  \"largest\": 18446744073709551615,\n"
	       "  \"ratio\": 1.2,\n"
	       "  \"nothing\": null,\n"
	       "  \"yes\": true,\n"
	       "  \"null\": null,\n"
	       "  \"empty\": [],\n"
	       "  \"rows\": [\n"
	       "    {\"a\": 1, \"b\": [2, 3]},\n"
	       "    {}\n"
	       "  ]\n"
	       "}\n");
}
END_TEST

START_TEST(bytes_are_escaped)
{
	json_open_array(&json, NULL);
	json_string(&json, NULL, "a\"b\\c/d");
	json_bytes(&json, NULL, "\0\n\x1f\x7f", 4);
	json_string(&json, NULL, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	json_string(&json, NULL, "x\xff\xc3");
	json_close_array(&json);
	expect("[\n"
	       "  \"a\\\"b\\\\c/d\",\n"
	       "  \"\\u0000\\u000a\\u001f\\u007f\",\n"
	       "  \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\",\n"
	       "  \"x\\ufffd\\ufffd\"\n"
	       "]\n");
}
END_TEST

START_TEST(what_is_no_text_keeps_its_bytes)
{
	json_open_object(&json, NULL);
	json_string(&json, "path", "/a\xff");
	json_open_row(&json, "row");
	json_string(&json, "path", "\x80");
	json_string(&json, "next", "b");
	json_close_object(&json);
	json_close_object(&json);
	expect("{\n"
	       "  \"path\": \"/a\\ufffd\",\n"
	       "  \"path_hex\": \"2f61ff\",\n"
	       "  \"row\": {\"path\": \"\\ufffd\", \"path_hex\": \"80\", \"next\": \"b\"}\n"
	       "}\n");
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
	struct json full = { .stream = fopen("/dev/full", "w") };

	ck_assert_ptr_nonnull(full.stream);
	json_unsigned(&full, NULL, 1);
	ck_assert_int_eq(json_end(&full), ENOSPC);
	fclose(full.stream);
	fclose(json.stream);
}
END_TEST

START_TEST(characters_have_lengths)
{
	static const struct {
		const char *bytes;
		unsigned int length;
	} cases[] = {
		{ "", 0 },
		{ "a", 1 },
		{ "\x7f", 1 },
		{ "\x80", 0 },
		{ "\xc1\xbf", 0 },
		{ "\xc2\x80", 2 },
		{ "\xc2", 0 },
		{ "\xc2z", 0 },
		{ "\xe0\x9f\xbf", 0 },
		{ "\xe0\xa0\x80", 3 },
		{ "\xed\x9f\xbf", 3 },
		{ "\xed\xa0\x80", 0 },
		{ "\xee\x80\x80", 3 },
		{ "\xf0\x8f\xbf\xbf", 0 },
		{ "\xf0\x90\x80\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 },
		{ "\xff", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t code;

		ck_assert_msg(utf8_decode(cases[i].bytes, strlen(cases[i].bytes), &code) == cases[i].length, "case %zu",
		              i);
	}
	fclose(json.stream);
}
END_TEST

START_TEST(terminals_get_no_commands)
{
	static const char name[] = "a\033[2J\n\\\xc2\x9b\xc3\xa9\xff\\x2d\\033\xe2\x80\xae\x9b";
	char *shown = utf8_printable(name);

	ck_assert_str_eq(shown, "a\\033[2J\\012\\\\302\\233\xc3\xa9\\377\\x2d\\134033\\342\\200\\256\\233");
	free(shown);
	fclose(json.stream);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json");
	TCase *tests = tcase_create("json");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, values_are_written);
	tcase_add_test(tests, bytes_are_escaped);
	tcase_add_test(tests, what_is_no_text_keeps_its_bytes);
	tcase_add_test(tests, a_full_disk_is_an_error);
	tcase_add_test(tests, characters_have_lengths);
	tcase_add_test(tests, terminals_get_no_commands);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
