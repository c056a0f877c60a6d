/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nearest word, and words of a shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/text/nearest.h"
#include "support/text/shell_word.h"
#include "unit.h"

static const char *nearest_of(const char *wanted, const char *const *words)
{
	struct nearest nearest = nearest_to(wanted);

	for (; *words; words++)
		nearest_try(&nearest, *words);
	return nearest.word ? nearest.word : "none";
}

START_TEST(the_nearest_word_is_found)
{
	static const char *const words[] = { "free",    "free-inodes", "layout", "labels",  "label",
		                             "reflink", "threads",     "verify", "verbose", NULL };
	static const struct {
		const char *wanted, *nearest;
	} cases[] = {
		{ "fre", "free" },
		{ "frees", "free" },
		{ "fere", "free" },
		{ "tree", "free" },
		{ "eerf", "none" },
		{ "lable", "label" },
		{ "labls", "labels" },
		{ "thread-count", "none" },
		{ "therads", "threads" },
		{ "trheasd", "threads" },
		{ "verrify", "verify" },
		{ "free_inodes", "free-inodes" },
		{ "freeinode", "free-inodes" },
		{ "", "none" },
		{ "x", "none" },
	};
	char endless[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_msg(!strcmp(nearest_of(cases[i].wanted, words), cases[i].nearest), "%s: %s", cases[i].wanted,
		              nearest_of(cases[i].wanted, words));
	memset(endless, 'x', sizeof(endless));
	endless[NEAREST_MOST_BYTES + 1] = '\0';
	ck_assert_str_eq(nearest_of(endless, (const char *const[]){ endless, NULL }), "none");
	endless[NEAREST_MOST_BYTES] = '\0';
	ck_assert_str_eq(nearest_of(endless, (const char *const[]){ "xx", endless, NULL }), endless);
}
END_TEST

/* The shell itself says whether a word is the text again. */
START_TEST(a_shell_reads_words_as_the_texts)
{
	static const char *const texts[] = {
		"https://host/a?b=c&d", "plain/path.tar", "it's", "''", "", "a b\tc\nd", "$HOME `x` \\ \"", "*"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *word = shell_word(texts[i]), *command, read[100] = "";
		FILE *shell;

		ck_assert(word && asprintf(&command, "printf %%s %s", word) > 0);
		shell = popen(command, "r");
		ck_assert(shell);
		read[fread(read, 1, sizeof(read) - 1, shell)] = '\0';
		ck_assert_int_eq(pclose(shell), 0);
		ck_assert_str_eq(read, texts[i]);
		free(command);
		free(word);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("texts");
	TCase *tests = tcase_create("texts");

	tcase_add_test(tests, the_nearest_word_is_found);
	tcase_add_test(tests, a_shell_reads_words_as_the_texts);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
