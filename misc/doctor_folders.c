/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "command/tool.h"
#include "doctor_probes.h"
#include "image/mounts.h"
#include "output/temporary_file.h"
#include "source/pack/layer_cache.h"
#include "source/sources.h"
#include "support/cleanup.h"
#include "support/io/whole_io.h"
#include "support/text/units.h"

#define TRIAL_NAME "e2populate-doctor"
#define TRIAL_BYTES 65536u

/* Directories of a source in which a file is looked for that could be shared. */
#define MOST_DEPTH 4

/* --- Filesystems -------------------------------------------------------------------------------------------------- */

static bool is_slow_type(const char *type)
{
	static const char *const slow[] = { "nfs", "cifs", "smb3", "9p", "fuse", "virtiofs", "ceph", "afs" };

	for (size_t i = 0; i < sizeof(slow) / sizeof(*slow); i++)
		if (strncmp(type, slow[i], strlen(slow[i])) == 0)
			return true;
	return false;
}

static void probe_type(struct findings *findings, const char *key, const struct stat *status, const char *advice)
{
	char type[MOUNT_TYPE_BYTES];

	mounts_type(status->st_dev, type);
	if (!*type)
		return;
	if (is_slow_type(type))
		finding_add(findings, key, FINDING_SLOW, advice, "%s", type);
	else
		finding_add_ok(findings, key, "%s", type);
}

/* Asks sysfs about a block device, or about the whole disk of a partition. */
static void probe_disk(struct findings *findings, const char *key, dev_t device)
{
	static const char *const places[] = { "/sys/dev/block/%u:%u/queue/rotational",
		                              "/sys/dev/block/%u:%u/../queue/rotational" };
	char path[128];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), places[i], major(device), minor(device));
		SCOPE_FCLOSE FILE *file = fopen(path, "re");

		if (!file)
			continue;
		if (fgetc(file) == '1')
			finding_add(findings, key, FINDING_SLOW,
			            "A disk that turns is slow with many small files. Memory (/dev/shm) or an SSD is "
			            "faster.",
			            "rotational");
		else
			finding_add_ok(findings, key, "not rotational");
		return;
	}
}

static void probe_space(struct findings *findings, const char *key, const char *path, enum finding_state state,
                        const char *advice)
{
	struct statvfs status;

	if (statvfs(path, &status) < 0)
		finding_add_error(findings, key, errno, state, advice);
	else if (!status.f_bavail)
		finding_add(findings, key, state, advice, "none");
	else
		finding_add_ok(findings, key, "%s", units_bytes((uint64_t)status.f_bavail * status.f_frsize).text);
}

/* --- Our own folders ---------------------------------------------------------------------------------------------- */

/* Can files be made in the folder, or in the nearest one above it that is there? */
static errcode_t may_make(const char *path)
{
	SCOPE_FREE char *folder = strdup(path);

	while (folder && access(folder, F_OK) < 0 && errno == ENOENT && strchr(folder + 1, '/'))
		*strrchr(folder, '/') = '\0';
	if (!folder)
		return ENOMEM;
	return access(folder, W_OK | X_OK) < 0 ? errno : 0;
}

/* chosen: that of --layer-cache; NULL: it is not given. */
static void probe_cache(struct findings *findings, const char *chosen)
{
	static const char advice[] = "It cannot be used: name a folder of your own with --layer-cache=DIR.";
	SCOPE_FREE char *path = chosen ? strdup(chosen) : NULL;
	struct problem problem = { 0 };
	errcode_t error = path ? 0 : layer_cache_usual_path(&path, &problem);

	problem_clear(&problem);
	if (!error)
		error = may_make(path);
	if (error)
		finding_add_error(findings, "layer_cache", error, FINDING_LACKS, advice);
	else
		finding_add_ok(findings, "layer_cache", "%s", path);
}

void doctor_probe_own_folders(struct findings *findings, const char *layer_cache)
{
	const char *chosen = getenv("TMPDIR");
	const char *folder = chosen && *chosen ? chosen : "/var/tmp";

	if (access(folder, W_OK | X_OK) < 0)
		finding_add(findings, "temporary_files", FINDING_LACKS,
		            "Archives that do not fit into memory, and packed images, are unpacked there: set TMPDIR.",
		            "no: %s: %s", folder, strerror(errno));
	else
		finding_add_ok(findings, "temporary_files", "%s", folder);
	probe_space(findings, "temporary_space", folder, FINDING_LACKS, "Set TMPDIR to a folder with space.");
	probe_cache(findings, layer_cache);
}

/* --- The source --------------------------------------------------------------------------------------------------- */

/* Opens a regular file that has data, the name itself or below it; -1: it finds no such file. Follows no symbolic link.
 */
static int open_any_file(int directory, const char *name, unsigned int depth)
{
	int descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;

	if (descriptor < 0 || fstat(descriptor, &status) < 0 || (S_ISREG(status.st_mode) && status.st_size))
		return descriptor;
	SCOPE_CLOSEDIR DIR *entries = S_ISDIR(status.st_mode) && depth ? fdopendir(descriptor) : NULL;
	const struct dirent *entry;
	int found = -1;

	if (!entries)
		close(descriptor);
	while (entries && found < 0 && (entry = readdir(entries)))
		if ((entry->d_type == DT_REG || entry->d_type == DT_DIR) && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			found = open_any_file(dirfd(entries), entry->d_name, depth - 1);
	return found;
}

/* The file or folder that the name of a source names, without its kind and what may follow: "oci:DIR:REF". */
static char *path_of(const char *name)
{
	const struct source source = source_of(name);
	char *path = source.file_bytes ? strndup(source.path, source.file_bytes) : strdup(source.path);

	if (!path)
		exit_without_memory();
	if (source.path != name && access(path, F_OK) < 0)
		path[strcspn(path, ":?")] = '\0';
	return path;
}

void doctor_probe_source(struct findings *findings, const char *name)
{
	SCOPE_FREE char *path = path_of(name);
	struct stat status;

	if (source_is_standard_input(name))
		return;
	if (stat(path, &status) < 0) {
		finding_add_error(findings, "source", errno, FINDING_FAILS, "Name a source that is there.");
		return;
	}
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0) {
		finding_add_error(findings, "source", errno, FINDING_FAILS,
		                  "It cannot be read: run as a user who may.");
		return;
	}
	finding_add_ok(findings, "source", "%s", path);
	probe_type(findings, "source_filesystem", &status,
	           "Reading it waits: --readers=N says how many threads wait at once.");
	probe_disk(findings, "source_disk", S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev);
	finding_add_error(findings, "source_xattrs", flistxattr(descriptor, NULL, 0) < 0 ? errno : 0, FINDING_LACKS,
	                  "Its filesystem has none, so the image gets none from there: --metadata sets them.");
}

/* --- The image ---------------------------------------------------------------------------------------------------- */

static errcode_t try_hole(int descriptor)
{
	SCOPE_FREE char *bytes = calloc(1, TRIAL_BYTES);

	if (!bytes)
		return ENOMEM;
	errcode_t error = whole_write(descriptor, bytes, TRIAL_BYTES, 0);

	if (error)
		return error;
	return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, TRIAL_BYTES / 2) < 0 ? errno : 0;
}

/* Does the new file share the blocks of another one? Both may be on different filesystems: EXDEV. */
static errcode_t try_reflink(int descriptor, int other)
{
	const struct file_clone_range range = { .src_fd = other, .dest_offset = 0 };

	/* A file that does not end with a block is shared only up to the end of the other one. */
	if (ftruncate(descriptor, 0) < 0)
		return errno;
	return ioctl(descriptor, FICLONERANGE, &range) < 0 ? errno : 0;
}

/* Only devices are written so: it is told, and costs nothing. */
static void probe_direct(struct findings *findings, const char *path)
{
	SCOPE_CLOSE int direct = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);

	finding_add_ok(findings, "direct_io", "%s", direct < 0 ? "no, and only devices are written so" : "yes");
}

/* Tries it with a file of the source, or with another new file of the folder if the source has no file. */
static void probe_reflink(struct findings *findings, int descriptor, const char *trial, const char *source)
{
	static const char advice[] = "With --zeros=source contents are copied. On one XFS or btrfs the image shares "
				     "blocks with SOURCE instead.";
	struct temporary_file second = { .descriptor = -1 };
	int other = source ? open_any_file(AT_FDCWD, source, MOST_DEPTH) : -1;
	errcode_t error = 0;

	if (other < 0) {
		error = temporary_open(trial, &second);
		other = second.descriptor;
		if (!error)
			error = whole_write(other, trial, 1, 0);
	}
	if (!error)
		error = try_reflink(descriptor, other);
	finding_add_error(findings, "reflink", error, FINDING_SLOW, advice);
	temporary_end(&second);
	if (other >= 0)
		close(other);
}

static void probe_new_file(struct findings *findings, const char *folder, const char *source)
{
	SCOPE_FREE char *trial = NULL;
	struct temporary_file file = { .descriptor = -1 };

	if (asprintf(&trial, "%s/" TRIAL_NAME, folder) < 0)
		exit_without_memory();
	errcode_t error = temporary_open(trial, &file);

	if (error) {
		finding_add_error(findings, "image_folder", error, FINDING_FAILS,
		                  "No file can be made there: name another folder.");
	} else {
		finding_add_ok(findings, "image_folder", "%s", folder);
		finding_add(findings, "unnamed_files", file.has_name ? FINDING_LACKS : FINDING_OK,
		            file.has_name ?
		                    "The image has a temporary name while it is made, which a kill leaves behind." :
		                    NULL,
		            "%s", file.has_name ? "no" : "yes");
		finding_add_error(findings, "holes", try_hole(file.descriptor), FINDING_LACKS,
		                  "Zeros take up space there: image files are as large as the filesystem.");
		finding_add_error(findings, "user_xattrs",
		                  fsetxattr(file.descriptor, "user." TRIAL_NAME, "", 0, 0) < 0 ? errno : 0,
		                  FINDING_LACKS,
		                  "e2extract(8) cannot give files their xattrs there. Images do not need it.");
		probe_direct(findings, file.path);
		probe_reflink(findings, file.descriptor, trial, source);
	}
	temporary_end(&file);
	if (file.descriptor >= 0)
		close(file.descriptor);
}

/* Opens the device only to read. */
static void probe_device(struct findings *findings, const char *path, const struct stat *status)
{
	SCOPE_CLOSE int direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	finding_add_error(findings, "direct_io", direct < 0 ? errno : 0, FINDING_SLOW,
	                  "What is written goes through the page cache.");
	finding_add_error(findings, "image_device", access(path, W_OK) < 0 ? errno : 0, FINDING_FAILS,
	                  "It cannot be written: run as a user who may.");
	probe_disk(findings, "image_disk", status->st_rdev);
}

void doctor_probe_image(struct findings *findings, const char *path, const char *source)
{
	SCOPE_FREE char *copy = strdup(path);
	struct stat status;

	if (!copy)
		exit_without_memory();
	bool exists = stat(path, &status) == 0;

	if (exists && S_ISBLK(status.st_mode)) {
		probe_device(findings, path, &status);
		return;
	}
	const char *folder = exists && S_ISDIR(status.st_mode) ? path : dirname(copy);

	if (stat(folder, &status) < 0) {
		finding_add_error(findings, "image_folder", errno, FINDING_FAILS, "Name a folder that is there.");
		return;
	}
	probe_type(findings, "image_filesystem", &status,
	           "Writing waits for it: make the image on a local disk, and move it.");
	probe_disk(findings, "image_disk", status.st_dev);
	probe_space(findings, "image_space", folder, FINDING_FAILS,
	            "There is no space: make some, or name another folder.");
	probe_new_file(findings, folder, source);
}
