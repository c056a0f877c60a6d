/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a source with any number of entries to standard output, as a stream that needs no memory:
 *
 *   make_scale tar|mtree ENTRIES [EACH [xattrs]]
 *
 * ENTRIES counts directories and files. Each directory has EACH files (default: 1000; 0: all files are in one). Files
 * are empty; a manifest says that they have the contents of "empty", a file beside it. xattrs: each has another one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define SECONDS 1700000000

/* ustar's, with its checksum; of what entries differ in, only the name, the type and the size are parameters. */
static void write_header(const char *name, char type, unsigned int size)
{
	char header[BLOCK] = "";
	unsigned int sum = 0;

	strcpy(header, name);
	snprintf(header + 100, 8, "%07o", type == '5' ? 0755 : 0644);
	snprintf(header + 108, 8, "%07o", 0);
	snprintf(header + 116, 8, "%07o", 0);
	snprintf(header + 124, 12, "%011o", size);
	snprintf(header + 136, 12, "%011o", SECONDS);
	memset(header + 148, ' ', 8);
	header[156] = type;
	memcpy(header + 257, "ustar\00000", 8);
	for (int i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	fwrite(header, 1, BLOCK, stdout);
}

/* A pax header with one extended attribute. */
static void write_xattr(unsigned long number)
{
	char record[BLOCK] = "";

	snprintf(record, sizeof(record), "39 SCHILY.xattr.user.number=%010lu\n", number);
	write_header("pax", 'x', 39);
	fwrite(record, 1, BLOCK, stdout);
}

static void write_tar(const char *path, int is_directory, unsigned long number, int has_xattrs)
{
	if (has_xattrs && !is_directory)
		write_xattr(number);
	write_header(path, is_directory ? '5' : '0', 0);
}

static void write_mtree(const char *path, int is_directory, unsigned long number, int has_xattrs)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";

	printf("./%s type=%s", path, is_directory ? "dir mode=0755" : "file mode=0644 contents=empty");
	if (has_xattrs && !is_directory) {
		fputs(" xattr.user.number=", stdout);
		for (int shift = 35; shift >= 0; shift -= 5)
			putchar(digits[number >> shift & 31]);
	}
	printf(" uid=0 gid=0 time=%d.0\n", SECONDS);
}

static const struct {
	const char *name;
	void (*write)(const char *path, int is_directory, unsigned long number, int has_xattrs);
} forms[] = { { "tar", write_tar }, { "mtree", write_mtree } };

static void write_entries(size_t form, unsigned long entries, unsigned long each, int has_xattrs)
{
	unsigned long files = 0;
	char path[100], folder[50] = "";

	for (unsigned long entry = 0; entry < entries; entry++) {
		int is_directory = each ? entry % (each + 1) == 0 : entry == 0;

		if (is_directory) {
			snprintf(folder, sizeof(folder), "directory-%06lu", each ? entry / (each + 1) : 0);
			strcpy(path, folder);
		} else {
			snprintf(path, sizeof(path), "%s/file-%08lu", folder, files++);
		}
		forms[form].write(path, is_directory, entry, has_xattrs);
	}
}

int main(int argc, char **argv)
{
	static const char zeros[2 * BLOCK];
	size_t form = 0;

	while (argc > 2 && form < sizeof(forms) / sizeof(*forms) && strcmp(argv[1], forms[form].name))
		form++;
	if (argc < 3 || form == sizeof(forms) / sizeof(*forms)) {
		fprintf(stderr, "usage: make_scale tar|mtree ENTRIES [EACH [xattrs]]\n");
		return 2;
	}
	if (forms[form].write == write_mtree)
		puts("#mtree");
	write_entries(form, strtoul(argv[2], NULL, 10), argc > 3 ? strtoul(argv[3], NULL, 10) : 1000,
	              argc > 4 && !strcmp(argv[4], "xattrs"));
	if (forms[form].write == write_tar)
		fwrite(zeros, 1, sizeof(zeros), stdout);
	return fflush(stdout) ? EXIT_FAILURE : 0;
}
