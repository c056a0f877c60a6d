/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/kind/run_host.h"

#include <archive.h>
#include <errno.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2mb_version.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MKE2FS_CONFIGURATION "/etc/mke2fs.conf"

static errcode_t use_variables(struct run_files *files, const char *const *names)
{
	errcode_t error = 0;

	for (; !error && *names; names++)
		error = run_files_use_variable(files, *names);
	return error;
}

static errcode_t use_this_program(struct run_files *files)
{
	char path[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[bytes < 0 ? 0 : bytes] = '\0';
	return run_files_use_program(files, basename(path), EXT2MB_VERSION_STRING, path);
}

errcode_t run_host_add(struct run_files *files)
{
	static const char *const variables[] = { "SOURCE_DATE_EPOCH", "LD_PRELOAD", "PSEUDO_PREFIX", NULL };
	const char *library, *date;
	errcode_t error = use_this_program(files);

	ext2fs_get_library_version(&library, &date);
	if (!error)
		error = run_files_use_program(files, "libext2fs", library, "");
	if (!error)
		error = run_files_use_program(files, "libarchive", archive_version_details() + strlen("libarchive "),
		                              "");
	return error ? error : use_variables(files, variables);
}

errcode_t run_host_add_time_zone(struct run_files *files)
{
	errcode_t error = run_files_use_variable(files, "TZ");

	return error ? error : run_files_read_host(files, "time-zone", "/etc/localtime");
}

errcode_t run_host_add_for_archives(struct run_files *files)
{
	static const char *const accounts[] = { "/etc/group", "/etc/nsswitch.conf", "/etc/passwd" };
	errcode_t error = run_host_add_time_zone(files);

	for (size_t i = 0; !error && i < sizeof(accounts) / sizeof(*accounts); i++)
		error = run_files_read_host(files, "accounts", accounts[i]);
	return error;
}

errcode_t run_host_add_mke2fs(struct run_files *files)
{
	static const char *const variables[] = {
		"E2FSPROGS_FAKE_TIME",    "E2FSPROGS_UNDO_DIR",   "MKE2FS_CONFIG", "MKE2FS_DEVICE_PHYS_SECTSIZE",
		"MKE2FS_DEVICE_SECTSIZE", "MKE2FS_FIRST_META_BG", "MKE2FS_SYNC",   NULL,
	};
	const char *configuration = getenv("MKE2FS_CONFIG");
	errcode_t error = run_files_use_program(files, "mke2fs", NULL, NULL);

	if (!error)
		error = use_variables(files, variables);
	return error ? error :
	               run_files_read_host(files, "mke2fs-config",
	                                   configuration ? configuration : MKE2FS_CONFIGURATION);
}
