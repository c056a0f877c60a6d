// SPDX-License-Identifier: GPL-2.0-or-later
#include "e2populate_existing.h"

#include <blkid/blkid.h>
#include <endian.h>
#include <ext2fs/ext2_fs.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/cleanup.h"
#include "support/utf8.h"

#define SUPERBLOCK_BYTES 1024

static void print_time(const char *what, uint32_t seconds)
{
	time_t time = seconds;

	putchar('\t');
	utf8_print(what, stdout);
	/* ctime() ends with a newline. */
	printf(" on %s", ctime(&time));
}

/* When it was last used. */
static void print_history(const char *path)
{
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct ext2_super_block super;
	char what[128];

	if (descriptor < 0 || pread(descriptor, &super, sizeof(super), SUPERBLOCK_BYTES) != sizeof(super) ||
	    le16toh(super.s_magic) != EXT2_SUPER_MAGIC)
		return;
	snprintf(what, sizeof(what), "last mounted%s%.64s", super.s_last_mounted[0] ? " on " : "",
	         (const char *)super.s_last_mounted);
	if (super.s_mtime)
		print_time(what, le32toh(super.s_mtime));
	else if (super.s_mkfs_time)
		print_time("created", le32toh(super.s_mkfs_time));
	else if (super.s_wtime)
		print_time("last modified", le32toh(super.s_wtime));
}

static const char *value_of(blkid_probe probe, const char *key)
{
	const char *value;

	return blkid_probe_lookup_value(probe, key, &value, NULL) == 0 ? value : NULL;
}

/* Says what there is; false: nothing that is known. */
static bool print_content(const char *path, blkid_probe probe)
{
	const char *type = value_of(probe, "TYPE"), *label = value_of(probe, "LABEL");
	const char *table = value_of(probe, "PTTYPE");

	if (!type && !table)
		return false;
	utf8_print(path, stdout);
	if (!type) {
		printf(" contains a %s partition table\n", table);
		return true;
	}
	printf(" contains a %s file system", type);
	if (label) {
		fputs(" labelled '", stdout);
		utf8_print(label, stdout);
		putchar('\'');
	}
	putchar('\n');
	print_history(path);
	return true;
}

static bool ask(void)
{
	char answer[16];

	fputs("Proceed anyway? (y,N) ", stdout);
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

bool existing_may_go(const char *path)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return true;
	blkid_probe probe = blkid_new_probe_from_filename(path);

	/* If it cannot be opened, writing to it fails later with the reason. */
	if (!probe)
		return true;
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL);
	bool found = blkid_do_fullprobe(probe) >= 0 && print_content(path, probe);

	blkid_free_probe(probe);
	return !found || ask();
}
