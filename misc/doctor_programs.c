/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <archive.h>
#include <stdio.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "doctor_probes.h"
#include "program_version.h"
#include "support/cleanup.h"
#include "support/run/program.h"

/* The oldest of which everything is tested. */
static const unsigned int least_version[3] = { 1, 47, 0 };

/* --- Programs ----------------------------------------------------------------------------------------------------- */

/* The three numbers of "mke2fs 1.47.0 (5-Feb-2023)" or "1.47.0". */
static bool parse_version(const char *text, unsigned int version[3])
{
	version[2] = 0;
	return sscanf(text + strcspn(text, "0123456789"), "%u.%u.%u", &version[0], &version[1], &version[2]) >= 2;
}

static bool is_older(const unsigned int version[3], const unsigned int other[3])
{
	for (int i = 0; i < 3; i++)
		if (version[i] != other[i])
			return version[i] < other[i];
	return false;
}

/* A program of e2fsprogs. state and advice are for where it is missing. */
static void probe_e2fsprogs(struct findings *findings, const char *name, enum finding_state state, const char *advice)
{
	SCOPE_FREE char *path = NULL;
	char line[PROGRAM_VERSION_BYTES];
	unsigned int version[3], library_version[3];
	const char *library, *date;

	ext2fs_get_library_version(&library, &date);
	errcode_t error = program_find(name, &path);

	if (error) {
		finding_add(findings, name, state, advice, "not found");
		return;
	}
	if (program_version(path, line) || strncmp(line, name, strlen(name)) != 0 ||
	    !parse_version(line + strlen(name), version))
		finding_add(findings, name, FINDING_LACKS,
		            "It does not say its version, as that of e2fsprogs does: install e2fsprogs.", "%s", path);
	else if (is_older(version, least_version))
		finding_add(findings, name, FINDING_LACKS, "Nothing before 1.47.0 is tested: install a newer one.",
		            "%s: %s", path, line);
	else if (parse_version(library, library_version) && is_older(library_version, version))
		finding_add(findings, name, FINDING_LACKS,
		            "It is newer than libext2fs, which may not know all of its features: install both of one "
		            "version.",
		            "%s: %s", path, line);
	else
		finding_add_ok(findings, name, "%s: %s", path, line);
}

static void probe_optional(struct findings *findings, const char *name, const char *key, const char *advice)
{
	SCOPE_FREE char *path = NULL;
	errcode_t error = program_find(name, &path);

	if (error)
		finding_add(findings, key, FINDING_LACKS, advice, "not found");
	else
		finding_add_ok(findings, key, "%s", path);
}

/* --- Libraries ---------------------------------------------------------------------------------------------------- */

static void probe_libraries(struct findings *findings)
{
	const char *version, *date;

	ext2fs_get_library_version(&version, &date);
	finding_add_ok(findings, "libext2fs", "%s, %s", version, date);
	finding_add_ok(findings, "libarchive", "%s", archive_version_details());
	if (HAVE_ISAL)
		finding_add_ok(findings, "gzip", "ISA-L%s",
		               HAVE_LIBDEFLATE ? ", and libdeflate for short members" : "");
	else
		finding_add(findings, "gzip", FINDING_SLOW, "This build has no ISA-L, which unpacks gzip faster.",
		            "zlib%s", HAVE_LIBDEFLATE ? ", and libdeflate for short members" : "");
	if (HAVE_ZSTD)
		finding_add_ok(findings, "zstd", "libzstd");
	else
		finding_add(findings, "zstd", FINDING_SLOW,
		            "This build has no libzstd, so one thread unpacks an archive.", "libarchive");
	if (HAVE_SELINUX)
		finding_add_ok(findings, "selinux", "libselinux");
	else
		finding_add(findings, "selinux", FINDING_LACKS,
		            "This build has no libselinux, so --file-contexts does not work.", "no");
}

void doctor_probe_programs(struct findings *findings)
{
	probe_e2fsprogs(findings, "mke2fs", FINDING_FAILS, "It makes each empty filesystem: install e2fsprogs.");
	probe_e2fsprogs(findings, "e2fsck", FINDING_LACKS, "--verify does not work without it: install e2fsprogs.");
	probe_optional(findings, "fuse2fs", "fuse2fs", "It mounts an image without root: install fuse2fs.");
	probe_optional(findings, "ext2mb-run", "ext2mb_run",
	               "It has fuse2fs and debugfs find blocks as e2populate does: make install.");
	probe_libraries(findings);
}
