// SPDX-License-Identifier: GPL-2.0-or-later
/* What --help and --version say. */
#include <stdio.h>

#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2mb_version.h>

#include "e2allocsim_options.h"

#define COLUMN 24

static const char head[] =
	"Usage: e2allocsim WORKLOAD [options] IMAGE [SIZE]\n"
	"       e2allocsim all --report=DIR [--quick] [--seed=N] [--progress=STYLE]\n"
	"Runs a workload on the metadata of an ext4 filesystem and tells what it makes of files and free space.\n"
	"\n"
	"  all                   all workloads on an image of its own: DIR/allocsim.md and charts; --quick: in small\n"
	"  IMAGE                 a file or device with a filesystem that is not mounted; with SIZE, a new sparse file\n"
	"  SIZE                  as mke2fs(8) reads it\n"
	"\n"
	"What is compared:\n"
	"  --policy=POLICY       base (Linux before the series), series (with it), ext2mb (default)\n"
	"  --add=CHOICES         single choices or numbers of the series' patches: try-lock,4,8-10\n"
	"  --drop=CHOICES\n"
	"  --scan=SCAN           linear or indexed, as mb_optimize_scan\n"
	"  --normalize=POLICY    ext2mb, table, pow2 or none\n"
	"  --small=WINDOWS       directory, thread or none\n"
	"  --goals=N             stream goals asked for (default: 64)\n"
	"  --stripe=BLOCKS       of a RAID (default: the superblock's; 0: none)\n"
	"  --compare=WHAT        policies, patches, normalizations or windows: several runs, a table; the image stays\n"
	"                        as it is\n"
	"\n"
	"How it runs:\n"
	"  --threads=N[,N]...    0 (default): streams take turns in one thread, in an order that the seed decides\n"
	"  --checksums           with threads: a bitmap's checksum under the lock with each search, as Linux does\n"
	"  --repeat=N            so many runs, of measured values the median; the image stays as it is\n"
	"  --processors=N        supposed when streams take turns: groups where others are count as busy (default: "
	"64)\n"
	"  --seed=N              default: 1\n"
	"  --directory=NAME      where in the image's root the files are made (default: called as the workload)\n"
	"  -n                    leave the image as it is\n"
	"  --json                results as JSON\n"
	"  --progress=STYLE      auto (a bar on a terminal), bar, json or none\n"
	"  -h, --help            this text\n"
	"  -V, --version         versions of e2allocsim and of the library it uses\n"
	"\n"
	"For a new image, passed on to mke2fs(8): -b -E -g -G -i -I -J -L -m -N -O -t -T -U (default: -t ext4 -O\n"
	"orphan_file); -F replaces a file that is there.\n";

void command_print_help(void)
{
	const struct workload *workload;

	fputs(head, stdout);
	for (unsigned int index = 0; (workload = workload_get(index)); index++) {
		printf("\n%s: %s\n", workload->name, workload->summary);
		for (const struct workload_option *option = workload->options; option->name; option++) {
			int used = printf("  --%s%s%s", option->name, option->argument ? "=" : "",
			                  option->argument ? option->argument : "");

			printf("%*s%s\n", used < COLUMN ? COLUMN - used : 1, "", option->help);
		}
	}
}

void command_print_version(void)
{
	const char *version, *date;

	ext2fs_get_library_version(&version, &date);
	printf("e2allocsim %s\nUsing EXT2FS Library version %s, %s\n", EXT2MB_VERSION_STRING, version, date);
}
