/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/exclude.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "seeded_random.h"
#include "unit.h"

/* patterns: separated by blanks. */
static struct exclude *exclude_of(const char *patterns)
{
	SCOPE_FREE char *copy = strdup(patterns);
	struct exclude *exclude;

	ck_assert_int_eq(exclude_create(&exclude), 0);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		ck_assert_int_eq(exclude_add(exclude, word, "test", NULL), 0);
	return exclude;
}

static void expect(const char *patterns, const char *path, bool expected)
{
	struct exclude *exclude = exclude_of(patterns);
	size_t bytes = strlen(path);
	bool is_directory = path[bytes - 1] == '/';
	SCOPE_FREE char *plain = strndup(path, bytes - is_directory);

	ck_assert_msg(exclude_matches(exclude, plain, is_directory) == expected, "%s: %s", patterns, path);
	exclude_destroy(exclude);
}

static void leaves_out(const char *patterns, const char *path)
{
	expect(patterns, path, true);
}

static void keeps(const char *patterns, const char *path)
{
	expect(patterns, path, false);
}

START_TEST(names_match_anywhere)
{
	leaves_out("foo", "foo");
	leaves_out("foo", "a/b/foo");
	leaves_out("foo", "a/foo/");
	keeps("foo", "food");
	keeps("foo", "fo");
	keeps("foo", "foo/a");
	leaves_out("*.o", "a/.o");
	leaves_out("*.o", "a.o");
	keeps("*.o", "a.o/b");
	leaves_out("[!a-c]?", "x/dd");
	keeps("[!a-c]?", "x/ad");
	leaves_out("\\*", "*");
	keeps("\\*", "a");
	leaves_out("**", "a/b");
	keeps(" ", "a");
}
END_TEST

START_TEST(paths_match_from_the_root)
{
	leaves_out("/foo", "foo");
	keeps("/foo", "a/foo");
	leaves_out("a/foo", "a/foo");
	leaves_out("./a/foo", "a/foo");
	leaves_out("a//foo", "a/foo");
	keeps("a/foo", "b/a/foo");
	keeps("a/foo", "a/foo/b");
	keeps("a/foo", "a");
	leaves_out("a/*", "a/.b");
	keeps("a/*", "a/b/c");
	keeps("a*c", "a/c");
	keeps("/a*c", "a/c");
	keeps("/a?c", "a/c");
}
END_TEST

START_TEST(two_asterisks_match_any_depth)
{
	leaves_out("**/foo", "foo");
	leaves_out("**/foo", "a/b/foo");
	leaves_out("a/**/b", "a/b");
	leaves_out("a/**/b", "a/x/b");
	leaves_out("a/**/b", "a/b/y/b");
	keeps("a/**/b", "a/x/c");
	keeps("a/**/b", "a");
	leaves_out("a/**", "a/b");
	keeps("a/**", "a");
	leaves_out("a/** !b", "a/b/c");
	leaves_out("/**", "a/b");
	leaves_out("**/a/**/b/c", "a/b/b/a/b/c");
	leaves_out("a/**/**/b", "a/b");
}
END_TEST

START_TEST(a_slash_at_the_end_means_directories)
{
	leaves_out("foo/", "a/foo/");
	keeps("foo/", "a/foo");
	leaves_out("a/foo/", "a/foo/");
	keeps("a/foo/", "a/foo");
	keeps("a/foo/", "b/a/foo/");
}
END_TEST

START_TEST(the_last_match_decides)
{
	leaves_out("*.o !a.o", "b.o");
	keeps("*.o !a.o", "a.o");
	leaves_out("*.o !a.o a.*", "a.o");
	leaves_out("\\!a", "!a");
	keeps("!a", "!a");
}
END_TEST

START_TEST(covers_looks_at_the_directories_above)
{
	struct exclude *exclude = exclude_of("/a/b/ x !x/keep");

	ck_assert(exclude_covers(exclude, "a/b/c/d", false));
	ck_assert(exclude_covers(exclude, "a/b", true));
	ck_assert(!exclude_covers(exclude, "a/b", false));
	ck_assert(!exclude_covers(exclude, "a/bb/c", false));
	ck_assert(exclude_covers(exclude, "x/keep", false));
	ck_assert(!exclude_matches(exclude, "x/keep", false));
	exclude_destroy(exclude);
}
END_TEST

static void refuses(const char *pattern, const char *message)
{
	struct problem problem = { 0 };
	struct exclude *exclude;

	ck_assert_int_eq(exclude_create(&exclude), 0);
	ck_assert_int_eq(exclude_add(exclude, pattern, "--exclude", &problem), EINVAL);
	SCOPE_FREE char *text = problem_text(&problem);

	ck_assert_str_eq(text, message);
	problem_clear(&problem);
	exclude_destroy(exclude);
}

START_TEST(patterns_that_match_nothing_are_refused)
{
	refuses("", "--exclude: bad pattern: \"\" names nothing");
	refuses("!", "--exclude: bad pattern: \"!\" names nothing");
	refuses("//", "--exclude: bad pattern: \"//\" names nothing");
	refuses("./", "--exclude: bad pattern: \"./\" names nothing");
	refuses("a/../b", "--exclude: bad pattern: \"a/../b\" leads out of the source");
	refuses("a\\\\\\/b", "--exclude: bad pattern: \"a\\\\\\/b\" has a component that ends in a backslash");
}
END_TEST

static void write_file(const char *path, const char *bytes, size_t count)
{
	SCOPE_CLOSE int descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	ck_assert_int_eq(write(descriptor, bytes, count), (ssize_t)count);
}

START_TEST(files_hold_a_pattern_a_line)
{
	static const char good[] = "# comment\n\n*.o\n!a.o\n\\#b\n c \nlast";
	static const char nul[] = "a\nb\0c\n";
	const char *folder = getenv("TMPDIR");
	struct problem problem = { 0 };
	struct exclude *exclude;
	char path[PATH_MAX], expected[PATH_MAX + 100];

	snprintf(path, sizeof(path), "%s/exclude-%d", folder ? folder : "/tmp", getpid());
	write_file(path, good, strlen(good));
	ck_assert_int_eq(exclude_create(&exclude), 0);
	ck_assert_int_eq(exclude_add_file(exclude, path, &problem), 0);
	ck_assert(exclude_matches(exclude, "x/b.o", false));
	ck_assert(!exclude_matches(exclude, "x/a.o", false));
	ck_assert(exclude_matches(exclude, "#b", false));
	ck_assert(!exclude_matches(exclude, "# comment", false));
	ck_assert(exclude_matches(exclude, " c ", false));
	ck_assert(!exclude_matches(exclude, "c", false));
	ck_assert(exclude_matches(exclude, "last", false));

	write_file(path, nul, sizeof(nul) - 1);
	ck_assert_int_eq(exclude_add_file(exclude, path, &problem), EINVAL);
	SCOPE_FREE char *text = problem_text(&problem);

	snprintf(expected, sizeof(expected), "%s:2: bad pattern: \"b\" is followed by a NUL", path);
	ck_assert_str_eq(text, expected);
	problem_clear(&problem);
	unlink(path);
	ck_assert_int_eq(exclude_add_file(exclude, path, &problem), ENOENT);
	problem_clear(&problem);
	exclude_destroy(exclude);
}
END_TEST

/* The model: cut both into words and try everything. */
struct words {
	char text[64];
	char *list[32];
	unsigned int count;
};

static void cut(struct words *words, const char *text)
{
	strcpy(words->text, text);
	words->count = 0;
	for (char *word = strtok(words->text, "/"); word; word = strtok(NULL, "/"))
		words->list[words->count++] = word;
}

static bool model_words(char **pattern, unsigned int patterns, char **path, unsigned int paths)
{
	if (!patterns)
		return !paths;
	if (!strcmp(*pattern, "**")) {
		/* At the end at least one. */
		for (unsigned int taken = patterns == 1; taken <= paths; taken++)
			if (patterns == 1 ? taken == paths :
			                    model_words(pattern + 1, patterns - 1, path + taken, paths - taken))
				return true;
		return false;
	}
	return paths && !fnmatch(*pattern, *path, 0) && model_words(pattern + 1, patterns - 1, path + 1, paths - 1);
}

static bool model_covers(const char *pattern, const char *path)
{
	struct words patterns, paths;
	const char *slash = strchr(pattern, '/');

	cut(&patterns, pattern);
	cut(&paths, path);
	for (unsigned int depth = 1; depth <= paths.count; depth++) {
		if (slash ? model_words(patterns.list, patterns.count, paths.list, depth) :
		            !fnmatch(pattern, paths.list[depth - 1], 0))
			return true;
	}
	return false;
}

static void random_text(struct random *random, char *text, const char *const *words, size_t word_count,
                        unsigned int most)
{
	unsigned int count = 1 + (unsigned int)random_below(random, most);

	*text = '\0';
	for (unsigned int i = 0; i < count; i++) {
		if (i)
			strcat(text, "/");
		strcat(text, words[random_below(random, word_count)]);
	}
}

START_TEST(agrees_with_a_naive_matcher)
{
	static const char *const globs[] = { "**", "**", "a", "b", "*", "a*", "?", "[ab]", "ab" };
	static const char *const names[] = { "a", "b", "ab", "c" };
	struct random random = random_start("agrees_with_a_naive_matcher");
	unsigned int hits = 0;

	for (int round = 0; round < 20000; round++) {
		struct exclude *exclude;
		char pattern[64], path[64];

		random_text(&random, pattern, globs, 9, 6);
		random_text(&random, path, names, 4, 7);
		ck_assert_int_eq(exclude_create(&exclude), 0);
		ck_assert_int_eq(exclude_add(exclude, pattern, "test", NULL), 0);
		bool expected = model_covers(pattern, path);

		hits += expected;
		ck_assert_msg(exclude_covers(exclude, path, false) == expected, "%s: %s, expected %d", pattern, path,
		              expected);
		exclude_destroy(exclude);
	}
	ck_assert_uint_gt(hits, 2000);
	ck_assert_uint_lt(hits, 18000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exclude");
	TCase *test_case = tcase_create("exclude");

	suite_add_tcase(suite, test_case);
	tcase_add_test(test_case, names_match_anywhere);
	tcase_add_test(test_case, paths_match_from_the_root);
	tcase_add_test(test_case, two_asterisks_match_any_depth);
	tcase_add_test(test_case, a_slash_at_the_end_means_directories);
	tcase_add_test(test_case, the_last_match_decides);
	tcase_add_test(test_case, covers_looks_at_the_directories_above);
	tcase_add_test(test_case, patterns_that_match_nothing_are_refused);
	tcase_add_test(test_case, files_hold_a_pattern_a_line);
	tcase_add_test(test_case, agrees_with_a_naive_matcher);
	return run_suite(suite);
}
