/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contents, holes and flags of what is open, and the targets of symbolic links. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare_trees.h"

#define SEEKING_PAYS_BYTES (128 * 1024) /* smaller files are read whole, without asking for their data */

static off_t next_data(int file, off_t position, off_t size_bytes)
{
	off_t data = lseek(file, position, SEEK_DATA);

	return data >= 0 ? data : errno == ENXIO ? size_bytes : position;
}

static bool read_whole(int file, enum side side, off_t position, size_t wanted_bytes)
{
	for (size_t have_bytes = 0; have_bytes < wanted_bytes;) {
		ssize_t got = pread(file, buffers[side] + have_bytes, wanted_bytes - have_bytes, position + have_bytes);

		if (got <= 0) {
			difference("cannot read in the %s at byte %jd: %s", side_names[side],
			           (intmax_t)position + (intmax_t)have_bytes, got ? strerror(errno) : "end of file");
			return false;
		}
		have_bytes += got;
	}
	return true;
}

/* What is a hole in both is skipped. */
static void compare_bytes(const int files[SIDES], off_t size_bytes)
{
	for (off_t position = 0; position < size_bytes; position += CHUNK_BYTES) {
		if (size_bytes > SEEKING_PAYS_BYTES) {
			off_t source = next_data(files[SOURCE], position, size_bytes);
			off_t image = next_data(files[IMAGE], position, size_bytes);

			position = source < image ? source : image;
		}
		size_t wanted = size_bytes - position < CHUNK_BYTES ? size_bytes - position : CHUNK_BYTES;

		for (enum side side = SOURCE; side < SIDES; side++) {
			if (!read_whole(files[side], side, position, wanted))
				return;
		}
		if (!memcmp(buffers[SOURCE], buffers[IMAGE], wanted))
			continue;
		size_t byte = 0;

		while (buffers[SOURCE][byte] == buffers[IMAGE][byte])
			byte++;
		difference("content differs at byte %jd", (intmax_t)position + (intmax_t)byte);
		return;
	}
}

/* Every hole of the source must be one in the image, as far as the image's blocks allow. */
static void compare_holes(const int files[SIDES], off_t size_bytes)
{
	struct stat image;

	if (fstat(files[IMAGE], &image) || image.st_blocks == 0)
		return; /* nothing is allocated: one hole, or inline data */
	off_t unit = options.hole_bytes ? options.hole_bytes : image.st_blksize;

	for (off_t position = 0; position < size_bytes;) {
		off_t hole = lseek(files[SOURCE], position, SEEK_HOLE);

		if (hole < 0 || hole >= size_bytes)
			return;
		position = next_data(files[SOURCE], hole, size_bytes);
		off_t start = (hole + unit - 1) / unit * unit;
		off_t end = position == size_bytes ? size_bytes : position / unit * unit;

		if (start >= end)
			continue;
		off_t data = next_data(files[IMAGE], start, size_bytes);

		if (data < end) {
			difference("blocks are allocated at byte %jd, should be a hole", (intmax_t)data);
			return;
		}
	}
}

/* The other way round: where the image has a hole, the source has one. */
static void compare_holes_of_image(const int files[SIDES], off_t size_bytes)
{
	for (off_t hole = 0, end; hole < size_bytes; hole = end) {
		hole = lseek(files[IMAGE], hole, SEEK_HOLE);
		if (hole < 0 || hole >= size_bytes)
			return;
		end = next_data(files[IMAGE], hole, size_bytes);
		off_t data = next_data(files[SOURCE], hole, size_bytes);

		if (data < end) {
			difference("there is a hole at byte %jd, should be data", (intmax_t)data);
			return;
		}
	}
}

void compare_files(const int files[SIDES], off_t size_bytes)
{
	/* On XFS and ext4 preallocated blocks that are not written are data for SEEK_DATA while their pages are cached.
	 */
	if (options.same_holes)
		posix_fadvise(files[SOURCE], 0, 0, POSIX_FADV_DONTNEED);
	if (!options.no_holes)
		compare_holes(files, size_bytes);
	if (options.same_holes)
		compare_holes_of_image(files, size_bytes);
	if (!options.no_content)
		compare_bytes(files, size_bytes);
}

/* ---- file flags ---- */

/* Flags that chattr(1) sets; the others describe how a filesystem stores the file. */
#define CHATTR_FLAGS                                                                                                   \
	(FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL | FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL |         \
	 FS_NOATIME_FL | FS_JOURNAL_DATA_FL | FS_NOTAIL_FL | FS_DIRSYNC_FL | FS_TOPDIR_FL | FS_DAX_FL)

/* Only regular files and directories can be asked; a filesystem that has no flags has none set. */
static unsigned int read_flags(int file)
{
	unsigned int flags = 0;

	return file >= 0 && !ioctl(file, FS_IOC_GETFLAGS, &flags) ? flags & CHATTR_FLAGS : 0;
}

void compare_flags(const int files[SIDES])
{
	unsigned int source = read_flags(files[SOURCE]), image = read_flags(files[IMAGE]);

	if (source != image)
		difference("file flags are %#x, should be %#x", image, source);
}

/* ---- symbolic links ---- */

void compare_targets(const int directories[SIDES], const char *name)
{
	ssize_t bytes[SIDES];

	for (enum side side = SOURCE; side < SIDES; side++) {
		bytes[side] = readlinkat(directories[side], name, buffers[side], CHUNK_BYTES);
		if (bytes[side] < 0) {
			difference("cannot read the link in the %s: %s", side_names[side], strerror(errno));
			return;
		}
	}
	if (bytes[SOURCE] != bytes[IMAGE] || memcmp(buffers[SOURCE], buffers[IMAGE], bytes[SOURCE]))
		difference("link has another target");
}
