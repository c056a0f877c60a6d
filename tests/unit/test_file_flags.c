/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/file_flags.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "source/host/host_flags.h"
#include "support/cleanup.h"
#include "unit.h"

START_TEST(words_of_chflags_and_libarchive)
{
	static const struct {
		const char *text;
		uint32_t flags;
	} cases[] = {
		{ "", 0 },
		{ "none", 0 },
		{ "schg", FS_IMMUTABLE_FL },
		{ "uchg,nodump", FS_IMMUTABLE_FL | FS_NODUMP_FL },
		{ "uappnd,sappnd", FS_APPEND_FL },
		{ "noatime,sync,dirsync,topdir", FS_NOATIME_FL | FS_SYNC_FL | FS_DIRSYNC_FL | FS_TOPDIR_FL },
		{ "journal,notail,compress", FS_JOURNAL_DATA_FL | FS_NOTAIL_FL | FS_COMPR_FL },
		{ "securedeletion,undel,dax", FS_SECRM_FL | FS_UNRM_FL | FS_DAX_FL },
		/* What says that a flag is not set. */
		{ "dump", 0 },
		{ "nonodump,nosync,noschg,atime", 0 },
		{ "uarch", FILE_FLAGS_UNKNOWN },
		{ "nocow", FILE_FLAGS_UNKNOWN },
		{ "nodump,hidden", FS_NODUMP_FL | FILE_FLAGS_UNKNOWN },
		{ "sch", FILE_FLAGS_UNKNOWN },
		{ "schgs", FILE_FLAGS_UNKNOWN },
		{ "no", FILE_FLAGS_UNKNOWN },
		{ ",,nodump,", FS_NODUMP_FL },
	};

	/* Each flag has a name of its own, by which it is found again. */
	for (uint32_t flags = 1; flags; flags <<= 1) {
		SCOPE_FREE char *text = file_flags_text(flags);
		bool is_known = flags & (FILE_FLAGS_KEPT | FILE_FLAGS_OF_PROJECT);

		ck_assert_uint_eq(file_flags_parse(text), is_known ? flags : 0);
		ck_assert_uint_eq(file_flags_nameless(flags), is_known || flags == FILE_FLAGS_UNREAD ? 0 : flags);
	}
	SCOPE_FREE char *all = file_flags_text(FILE_FLAGS_KEPT);

	ck_assert_uint_eq(file_flags_parse(all), FILE_FLAGS_KEPT);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_msg(file_flags_parse(cases[i].text) == cases[i].flags, "%s: %x", cases[i].text,
		              file_flags_parse(cases[i].text));
}
END_TEST

START_TEST(types_have_what_linux_lets_them_have)
{
	ck_assert_uint_eq(file_flags_of_type(S_IFDIR), FILE_FLAGS_KEPT);
	ck_assert_uint_eq(file_flags_of_type(S_IFREG), FILE_FLAGS_KEPT & ~(FS_DIRSYNC_FL | FS_TOPDIR_FL));
	ck_assert_uint_eq(file_flags_of_type(S_IFLNK), FS_NODUMP_FL | FS_NOATIME_FL);
	ck_assert_uint_eq(file_flags_of_type(S_IFCHR), FS_NODUMP_FL | FS_NOATIME_FL);
}
END_TEST

START_TEST(no_flags_differ_from_unread_ones)
{
	SCOPE_CLOSE int device = open("/dev/null", O_RDONLY | O_CLOEXEC);
	SCOPE_CLOSE int place = open("/", O_PATH | O_CLOEXEC);

	uint32_t flags;

	ck_assert_int_eq(file_flags_read(device, &flags), 0);
	ck_assert_uint_eq(flags, 0);
	ck_assert_int_eq(file_flags_read(place, &flags), 0);
	ck_assert_uint_eq(flags, FILE_FLAGS_UNREAD);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file_flags");
	TCase *tests = tcase_create("file_flags");

	tcase_add_test(tests, words_of_chflags_and_libarchive);
	tcase_add_test(tests, types_have_what_linux_lets_them_have);
	tcase_add_test(tests, no_flags_differ_from_unread_ones);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
