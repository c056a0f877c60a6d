/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/mtree/mtree.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "seeded_random.h"
#include "unit.h"

/* Prints an entry in a fixed order: "LINE PATH type=... mode=...". */
static errcode_t show(void *context, const struct mtree_entry *entry, struct problem *problem)
{
	FILE *out = context;

	(void)problem;
	fprintf(out, "%lu [%s]", entry->line, entry->path);
	if (entry->given & MTREE_TYPE)
		fprintf(out, " type=%o", entry->type);
	if (entry->given & MTREE_MODE)
		fprintf(out, " mode=%o", entry->permissions);
	if (entry->given & MTREE_UID)
		fprintf(out, " uid=%u", entry->uid);
	if (entry->given & MTREE_GID)
		fprintf(out, " gid=%u", entry->gid);
	if (entry->given & MTREE_UNAME)
		fprintf(out, " uname=%s", entry->uname);
	if (entry->given & MTREE_GNAME)
		fprintf(out, " gname=%s", entry->gname);
	if (entry->given & MTREE_TIME)
		fprintf(out, " time=%" PRId64 ".%09u", entry->mtime_seconds, entry->mtime_nanoseconds);
	if (entry->given & MTREE_LINK)
		fprintf(out, " link=[%s]", entry->target);
	if (entry->given & MTREE_DEVICE)
		fprintf(out, " device=%u,%u", entry->major, entry->minor);
	if (entry->given & MTREE_OPTIONAL)
		fprintf(out, " optional");
	if (entry->given & MTREE_NOCHANGE)
		fprintf(out, " nochange");
	for (size_t i = 0; i < entry->xattr_count; i++) {
		fprintf(out, " %s=", entry->xattrs[i].name);
		for (uint32_t byte = 0; byte < entry->xattrs[i].value_bytes; byte++)
			fprintf(out, "%02x", ((const unsigned char *)entry->xattrs[i].value)[byte]);
	}
	fputc('\n', out);
	return 0;
}

static errcode_t read_text(const char *text, size_t bytes, char **shown, struct problem *problem)
{
	size_t shown_bytes;
	FILE *in = bytes ? fmemopen((void *)text, bytes, "r") : fopen("/dev/null", "r");
	FILE *out = open_memstream(shown, &shown_bytes);
	errcode_t error = mtree_read(in, "manifest", show, out, problem);

	fclose(in);
	fclose(out);
	return error;
}

static void reads(const char *text, const char *expected)
{
	struct problem problem = { 0 };
	SCOPE_FREE char *shown = NULL;
	errcode_t error = read_text(text, strlen(text), &shown, &problem);
	SCOPE_FREE char *message = problem_text(&problem);

	ck_assert_msg(!error, "%s", message);
	ck_assert_str_eq(shown, expected);
}

static void refuses(const char *text, const char *expected)
{
	struct problem problem = { 0 };
	SCOPE_FREE char *shown = NULL;

	ck_assert_msg(read_text(text, strlen(text), &shown, &problem) == EINVAL, "%s", text);
	SCOPE_FREE char *message = problem_text(&problem);

	ck_assert_str_eq(message, expected);
	problem_clear(&problem);
}

START_TEST(both_styles_name_paths)
{
	reads("", "");
	reads("#mtree\n\n  # comment\n. type=dir\n./a type=file\n./a/b\n/set type=dir\n",
	      "4 [] type=40000\n5 [a] type=100000\n6 [a/b]\n");
	reads(". type=dir\n    bin type=dir\n        sh type=file\n    ..\n    etc type=dir\n passwd\n..\n..\n..\nx",
	      "1 [] type=40000\n2 [bin] type=40000\n3 [bin/sh] type=100000\n5 [etc] type=40000\n6 [etc/passwd]\n10 "
	      "[x]\n");
	/* Whole paths do not change the directory. */
	reads("a type=dir\n./b type=dir\nc\nd/e//./f/\n", "1 [a] type=40000\n2 [b] type=40000\n3 [a/c]\n4 [d/e/f]\n");
	reads("a\\040\\\\\\#\\s\\377/b", "1 [a \\# \377/b]\n");
	reads("caf\\M-C\\M-)\\^?\\^[\\E\\M^?\\M^A\\M-\\x", "1 [caf\303\251\177\033\033\377\201\334x]\n");
	reads("a \\\n  mode=1 \\\n\\\n uid=2\nb gid=3 \\", "1 [a] mode=1 uid=2\n5 [b] gid=3\n");
	reads("a mode=1\r\nb\r\n", "1 [a] mode=1\n2 [b]\n");
}
END_TEST

START_TEST(lines_go_before_what_is_set)
{
	reads("/set type=file uid=0 gid=0 mode=644 nochange\na/b mode=755\n/unset mode nochange\nc/d\n/unset all\ne/f",
	      "2 [a/b] type=100000 mode=755 uid=0 gid=0 nochange\n4 [c/d] type=100000 uid=0 gid=0\n6 [e/f]\n");
	/* A number goes before a name, on the same line in any order. */
	reads("a uid=1 uname=x\nb uname=x uid=1\n/set uid=0 gname=y\nc uname=x gid=7\nd uname=x uid=2\n",
	      "1 [a] uid=1\n2 [b] uid=1\n4 [c] gid=7 uname=x\n5 [d] uid=2 gname=y\n");
}
END_TEST

START_TEST(values_are_read)
{
	reads("a type=link link=to\\040x time=-5.7 size=3 sha257digest=00 cksum=0 nlink=1 flags=none tags=x "
	      "optional",
	      "1 [a] type=120000 time=-5.000000007 link=[to x] optional\n");
}
END_TEST

START_TEST(devices_are_numbers_in_any_format)
{
	reads("e device=0x103\nf device=0x11110370\n", "1 [e] device=1,3\n2 [f] device=259,70000\n");
	reads("a device=native,1,3\nb device=8,1048575\nc device=259\nd device=linux,4095,0\n",
	      "1 [a] device=1,3\n2 [b] device=8,1048575\n3 [c] device=1,3\n4 [d] device=4095,0\n");
}
END_TEST

START_TEST(xattrs_are_base64)
{
	reads("a xattr.user.a=AAEC xattr.user.b=/+8= xattr.security.x=QQ== xattr.trusted.e= xattrs.user.\\040=QUJD",
	      "1 [a] user.a=000102 user.b=ffef security.x=41 trusted.e= user. =414243\n");
	reads("a xattr.user.a=AA==\nb\nc xattr.user.a=AA==", "1 [a] user.a=00\n2 [b]\n3 [c] user.a=00\n");
}
END_TEST

START_TEST(what_is_wrong_is_named)
{
	static const char *const cases[][2] = {
		{ "a\n\n b mode=8\n", "3: cannot read manifest: \"mode=8\" is not an octal number up to 7777" },
		{ "a mode=10000", "1: cannot read manifest: \"mode=10000\" is not an octal number up to 7777" },
		{ "a mode=", "1: cannot read manifest: \"mode=\" is not an octal number up to 7777" },
		{ "a mode", "1: cannot read manifest: \"mode\" has no value" },
		{ "a optional=1", "1: cannot read manifest: \"optional=1\" takes no value" },
		{ "a modes=1", "1: cannot read manifest: \"modes=1\" is not a keyword of mtree(5)" },
		{ "a digest=1", "1: cannot read manifest: \"digest=1\" is not a keyword of mtree(5)" },
		{ "a type=door", "1: cannot read manifest: \"type=door\" is not file, dir, link, char, block, fifo or "
		                 "socket" },
		{ "a uid=4294967295", "1: cannot read manifest: \"uid=4294967295\" is not a number up to 4294967294" },
		{ "a gid=-1", "1: cannot read manifest: \"gid=-1\" is not a number up to 4294967294" },
		{ "a uname=", "1: cannot read manifest: \"uname=\" is not a name as vis(3) writes it" },
		{ "a link=\\q", "1: cannot read manifest: \"link=\\q\" is not a path as vis(3) writes it" },
		{ "a time=1.", "1: cannot read manifest: \"time=1.\" is not SECONDS or SECONDS.NANOSECONDS" },
		{ "a time=1.1000000000", "1: cannot read manifest: \"time=1.1000000000\" is not SECONDS or "
		                         "SECONDS.NANOSECONDS" },
		{ "a time=9223372036854775808",
		  "1: cannot read manifest: \"time=9223372036854775808\" is not SECONDS or "
		  "SECONDS.NANOSECONDS" },
		{ "a device=c,1", "1: cannot read manifest: \"device=c,1\" is not [FORMAT,]MAJOR,MINOR up to "
		                  "4095,1048575 or a number" },
		{ "a device=1,2,3,4", "1: cannot read manifest: \"device=1,2,3,4\" is not [FORMAT,]MAJOR,MINOR up to "
		                      "4095,1048575 or a number" },
		{ "a device=linux,4096,0", "1: cannot read manifest: \"device=linux,4096,0\" is not "
		                           "[FORMAT,]MAJOR,MINOR up to 4095,1048575 or a number" },
		{ "a device=0,1048576", "1: cannot read manifest: \"device=0,1048576\" is not "
		                        "[FORMAT,]MAJOR,MINOR up to 4095,1048575 or a number" },
		{ "a device=18446744073709551615", "1: cannot read manifest: \"device=18446744073709551615\" is not "
		                                   "[FORMAT,]MAJOR,MINOR up to 4095,1048575 or a number" },
		{ "a xattr.user.a=A", "1: cannot read manifest: \"xattr.user.a=A\" needs a value in base64" },
		{ "a xattr.user.a=AB*=", "1: cannot read manifest: \"xattr.user.a=AB*=\" needs a value in base64" },
		{ "a xattr.user.a", "1: cannot read manifest: \"xattr.user.a\" needs a value in base64" },
		{ "a xattr.user.=",
		  "1: cannot read manifest: \"xattr.user.=\" does not name an extended attribute that ext4 can store" },
		{ "a xattr.btrfs.a=", "1: cannot read manifest: \"xattr.btrfs.a=\" does not name an extended attribute "
		                      "that ext4 can store" },
		{ "/set xattr.user.a=", "1: cannot read manifest: \"/set\" cannot give extended attributes" },
		{ "/set mode=9", "1: cannot read manifest: \"mode=9\" is not an octal number up to 7777" },
		{ "/unset modes", "1: cannot read manifest: \"modes\" is not a keyword of mtree(5)" },
		{ "/bin mode=1", "1: cannot read manifest: \"/bin\" is neither /set nor /unset, and paths do not begin "
		                 "with a slash" },
		{ "a/../b", "1: cannot read manifest: \"a/../b\" is not a path below the root" },
		{ "a\\000", "1: cannot read manifest: \"a\\134000\" is not a name as vis(3) writes it" },
		{ "a\\^@", "1: cannot read manifest: \"a\\^@\" is not a name as vis(3) writes it" },
		{ "a\\M", "1: cannot read manifest: \"a\\M\" is not a name as vis(3) writes it" },
		{ "a\\M-", "1: cannot read manifest: \"a\\M-\" is not a name as vis(3) writes it" },
		{ "a\\^", "1: cannot read manifest: \"a\\^\" is not a name as vis(3) writes it" },
		{ "a device=0x",
		  "1: cannot read manifest: \"device=0x\" is not [FORMAT,]MAJOR,MINOR up to 4095,1048575 or a number" },
		{ "a\\q", "1: cannot read manifest: \"a\\q\" is not a name as vis(3) writes it" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char expected[300];

		snprintf(expected, sizeof(expected), "manifest:%s", cases[i][1]);
		refuses(cases[i][0], expected);
	}
}
END_TEST

START_TEST(a_nul_is_refused)
{
	struct problem problem = { 0 };
	SCOPE_FREE char *shown = NULL;

	ck_assert_int_eq(read_text("a\nb\0c\n", 6, &shown, &problem), EINVAL);
	SCOPE_FREE char *message = problem_text(&problem);

	ck_assert_str_eq(message, "manifest:2: cannot read manifest: \"b\" is followed by a NUL");
	problem_clear(&problem);
}
END_TEST

/* For the sanitizers: whatever comes, it ends, and with a message if it is refused. */
START_TEST(anything_is_read_or_refused)
{
	static const char *const pieces[] = {
		"/set",          "/unset", " ",    "\n",     "\\", "..",    "a",        "./b",   "type=",   "dir",
		"mode=",         "0755",   "uid=", "uname=", "1",  "time=", ".",        "link=", "device=", ",",
		"xattr.user.a=", "QUJD",   "=",    "\\040",  "#",  "all",   "optional", "/"
	};
	struct random random = random_start("anything_is_read_or_refused");
	unsigned int refused = 0;

	for (int round = 0; round < 20000; round++) {
		struct problem problem = { 0 };
		SCOPE_FREE char *shown = NULL;
		char text[400] = "";

		for (uint64_t count = random_below(&random, 20); count; count--)
			strcat(text, random_below(&random, 3) ?
			                     pieces[random_below(&random, sizeof(pieces) / sizeof(*pieces))] :
			                     " ");
		errcode_t error = read_text(text, strlen(text), &shown, &problem);

		ck_assert_int_eq(error, problem.error);
		refused += error != 0;
		problem_clear(&problem);
	}
	ck_assert_uint_gt(refused, 2000);
	ck_assert_uint_lt(refused, 18000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mtree");
	TCase *test_case = tcase_create("mtree");

	suite_add_tcase(suite, test_case);
	tcase_add_test(test_case, both_styles_name_paths);
	tcase_add_test(test_case, lines_go_before_what_is_set);
	tcase_add_test(test_case, values_are_read);
	tcase_add_test(test_case, devices_are_numbers_in_any_format);
	tcase_add_test(test_case, xattrs_are_base64);
	tcase_add_test(test_case, what_is_wrong_is_named);
	tcase_add_test(test_case, a_nul_is_refused);
	tcase_add_test(test_case, anything_is_read_or_refused);
	return run_suite(suite);
}
