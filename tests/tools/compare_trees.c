/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare_trees SOURCE MOUNTED: is a mounted image the tree that it was built from?
 *
 * Both trees are walked together, so an entry that only one of them has is found as well. Everything that an
 * image has to keep is compared, the roots included; what no builder can keep (atime, ctime, inode numbers) is
 * not. Directories are opened relative to their parents: paths may be longer than PATH_MAX.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "compare_trees.h"
#include "support/cleanup.h"

#define SHOWN_DIFFERENCES 20
#define SHOWN_PATH_BYTES 1000    /* of longer paths, the end */
#define AHEAD_NAMES 64           /* are asked for before they are compared */
#define AHEAD_BYTES (128 << 10)  /* of each of them */
#define EXT4_MAXIMUM_LINKS 65000 /* a directory with more has a link count of 1 (dir_nlink) */

const char *const side_names[SIDES] = { "source", "image" };

/* A name of a file that has, or should have, several. */
struct link_record {
	dev_t source_device;
	ino_t source_inode, image_inode;
	nlink_t image_links;
	char *path;
};

struct names {
	char **list;
	size_t count;
};

struct compare_options options = { .latest_seconds = INT64_MAX };

static uint64_t differences, entries;
static char *path; /* of the entry that is being compared, relative to the roots */
static size_t path_bytes, path_room;
static struct link_record *links;
static size_t link_count, link_room;
char *buffers[SIDES];

void *must_have(void *memory)
{
	if (!memory) {
		perror("compare_trees");
		exit(2);
	}
	return memory;
}

static void print_escaped(const char *text)
{
	for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
		if (*byte < ' ' || *byte >= 0x7f || *byte == '\\')
			printf("\\x%02x", *byte);
		else
			putchar(*byte);
	}
}

void difference_at(const char *where, const char *format, ...)
{
	va_list arguments;

	size_t where_bytes = strlen(where);

	if (differences++ >= SHOWN_DIFFERENCES)
		return;
	if (where_bytes > SHOWN_PATH_BYTES) {
		printf("...");
		where += where_bytes - SHOWN_PATH_BYTES;
	}
	print_escaped(where);
	printf(": ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

const char *current_path(void)
{
	return path_bytes ? path : ".";
}

/* Appends a name to the current path; returns the length to give to path_leave(). */
static size_t path_enter(const char *name)
{
	size_t before = path_bytes, name_bytes = strlen(name);

	if (path_bytes + name_bytes + 2 > path_room) {
		path_room = 2 * (path_bytes + name_bytes + 2);
		path = must_have(realloc(path, path_room));
	}
	if (path_bytes)
		path[path_bytes++] = '/';
	memcpy(path + path_bytes, name, name_bytes + 1);
	path_bytes += name_bytes;
	return before;
}

static void path_leave(size_t before)
{
	path_bytes = before;
	path[before] = '\0';
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

#define SCOPE_NAMES __attribute__((cleanup(names_free)))

static void names_add(struct names *names, const char *name)
{
	if ((names->count & (names->count + 1)) == 0) /* 0, 1, 3, 7, ...: full */
		names->list = must_have(realloc(names->list, (2 * names->count + 1) * sizeof(*names->list)));
	names->list[names->count++] = must_have(strdup(name));
}

static bool read_names(int directory, enum side side, struct names *names)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_CLOSEDIR DIR *stream = copy < 0 ? NULL : fdopendir(copy);

	if (!stream) {
		difference("cannot list in the %s: %s", side_names[side], strerror(errno));
		return false;
	}
	errno = 0;
	for (struct dirent *entry; (entry = readdir(stream));) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			names_add(names, entry->d_name);
	}
	if (errno) {
		difference("cannot list in the %s: %s", side_names[side], strerror(errno));
		return false;
	}
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), compare_names);
	return true;
}

static void compare_times(const struct stat *source, const struct stat *image)
{
	int64_t seconds = source->st_mtim.tv_sec;
	long nanoseconds = source->st_mtim.tv_nsec;

	if (seconds >= options.latest_seconds) {
		nanoseconds = seconds > options.latest_seconds ? 0 : nanoseconds;
		seconds = options.latest_seconds;
	}
	if (options.narrow_times)
		seconds = seconds < INT32_MIN ? INT32_MIN : seconds > INT32_MAX ? INT32_MAX : seconds;
	if (seconds != image->st_mtim.tv_sec)
		difference("mtime is %jd, should be %jd", (intmax_t)image->st_mtim.tv_sec, (intmax_t)seconds);
	else if (!options.no_nanoseconds && !options.narrow_times && nanoseconds != image->st_mtim.tv_nsec)
		difference("mtime's nanoseconds are %ld, should be %ld", image->st_mtim.tv_nsec, nanoseconds);
}

static void record_link(const struct stat *source, const struct stat *image)
{
	if (link_count == link_room) {
		link_room = link_room ? 2 * link_room : 256;
		links = must_have(realloc(links, link_room * sizeof(*links)));
	}
	links[link_count++] = (struct link_record){
		.source_device = source->st_dev,
		.source_inode = source->st_ino,
		.image_inode = image->st_ino,
		.image_links = image->st_nlink,
		.path = must_have(strdup(path)),
	};
}

/* False if the types differ, so that nothing else can be compared. */
static bool compare_attributes(const struct stat *source, const struct stat *image)
{
	if ((source->st_mode ^ image->st_mode) & S_IFMT) {
		difference("type is %o, should be %o", image->st_mode & S_IFMT, source->st_mode & S_IFMT);
		return false;
	}
	if (!options.no_modes && source->st_mode != image->st_mode)
		difference("permissions are %04o, should be %04o", image->st_mode & 07777, source->st_mode & 07777);
	if (!options.no_owners && (source->st_uid != image->st_uid || source->st_gid != image->st_gid))
		difference("owner is %u:%u, should be %u:%u", image->st_uid, image->st_gid, source->st_uid,
		           source->st_gid);
	if (!options.no_times)
		compare_times(source, image);
	if ((S_ISCHR(source->st_mode) || S_ISBLK(source->st_mode)) && source->st_rdev != image->st_rdev)
		difference("device is %u:%u, should be %u:%u", major(image->st_rdev), minor(image->st_rdev),
		           major(source->st_rdev), minor(source->st_rdev));
	if ((S_ISREG(source->st_mode) || S_ISLNK(source->st_mode)) && source->st_size != image->st_size)
		difference("size is %jd, should be %jd", (intmax_t)image->st_size, (intmax_t)source->st_size);
	if (!S_ISDIR(source->st_mode) && !options.no_links && (source->st_nlink > 1 || image->st_nlink > 1))
		record_link(source, image);
	return true;
}

/* ---- xattrs ---- */

/*
 * One entry on both sides. What can be opened is opened once, for its xattrs, flags and contents: 50000 small files
 * take 2.0 s of so, and 4 s where each of them finds the file anew.
 */
struct pair {
	int files[SIDES]; /* a negative errno where it could not be opened, or need not be */
	/* Symbolic links and special files. The kernel's *at calls for xattrs are younger than the kernels that tests
	 * run on; these paths do the same. */
	char paths[SIDES][300];
};

static ssize_t list_xattrs(const struct pair *pair, enum side side, char *list, size_t list_bytes)
{
	return pair->files[side] >= 0 ? flistxattr(pair->files[side], list, list_bytes) :
	                                llistxattr(pair->paths[side], list, list_bytes);
}

static ssize_t get_xattr(const struct pair *pair, enum side side, const char *name, char *value, size_t value_bytes)
{
	return pair->files[side] >= 0 ? fgetxattr(pair->files[side], name, value, value_bytes) :
	                                lgetxattr(pair->paths[side], name, value, value_bytes);
}

static bool read_xattr_names(const struct pair *pair, enum side side, struct names *names)
{
	char list[65536]; /* XATTR_LIST_MAX */
	ssize_t list_bytes = list_xattrs(pair, side, list, sizeof(list));

	if (list_bytes < 0 && errno == ENOTSUP)
		return true;
	if (list_bytes < 0) {
		difference("cannot list xattrs in the %s: %s", side_names[side], strerror(errno));
		return false;
	}
	for (const char *name = list; name < list + list_bytes; name += strlen(name) + 1)
		names_add(names, name);
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), compare_names);
	return true;
}

static void compare_xattr_value(const struct pair *pair, const char *name)
{
	static char values[SIDES][65536]; /* XATTR_SIZE_MAX */
	ssize_t value_bytes[SIDES];

	for (enum side side = SOURCE; side < SIDES; side++) {
		value_bytes[side] = get_xattr(pair, side, name, values[side], sizeof(values[side]));
		if (value_bytes[side] < 0) {
			difference("cannot read xattr %s in the %s: %s", name, side_names[side], strerror(errno));
			return;
		}
	}
	if (value_bytes[SOURCE] != value_bytes[IMAGE])
		difference("xattr %s has %zd bytes, should have %zd", name, value_bytes[IMAGE], value_bytes[SOURCE]);
	else if (memcmp(values[SOURCE], values[IMAGE], value_bytes[SOURCE]))
		difference("xattr %s has another value", name);
}

static void compare_xattrs(const struct pair *pair)
{
	SCOPE_NAMES struct names source = { 0 }, image = { 0 };

	if (!read_xattr_names(pair, SOURCE, &source) || !read_xattr_names(pair, IMAGE, &image))
		return;
	for (size_t s = 0, i = 0; s < source.count || i < image.count;) {
		int order = s == source.count ? 1 : i == image.count ? -1 : strcmp(source.list[s], image.list[i]);

		if (order < 0)
			difference("xattr %s is missing", source.list[s++]);
		else if (order > 0)
			difference("xattr %s is not in the source", image.list[i++]);
		else
			compare_xattr_value(pair, source.list[s++]), i++;
	}
}

/* ---- directories ---- */

static void compare_directories(const int directories[SIDES], const struct stat *image, bool is_root);

static void close_pair(struct pair *pair)
{
	for (enum side side = SOURCE; side < SIDES; side++) {
		if (pair->files[side] >= 0)
			close(pair->files[side]);
	}
}

#define SCOPE_PAIR __attribute__((cleanup(close_pair)))

/* Both are of this type. */
static void open_pair(struct pair *pair, const int directories[SIDES], const char *name, mode_t type)
{
	for (enum side side = SOURCE; side < SIDES; side++) {
		pair->files[side] = -EINVAL;
		if (S_ISREG(type) || S_ISDIR(type))
			pair->files[side] = openat(directories[side], name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (pair->files[side] == -1)
			pair->files[side] = -errno;
		if (pair->files[side] < 0)
			snprintf(pair->paths[side], sizeof(pair->paths[side]), "/proc/self/fd/%d/%s", directories[side],
			         name);
	}
}

static bool is_open(const struct pair *pair)
{
	for (enum side side = SOURCE; side < SIDES; side++) {
		if (pair->files[side] < 0) {
			difference("cannot open in the %s: %s", side_names[side], strerror(-pair->files[side]));
			return false;
		}
	}
	return true;
}

static void compare_entry(const int directories[SIDES], const char *name, const struct stat *source,
                          const struct stat *image)
{
	entries++;
	if (!compare_attributes(source, image))
		return;
	SCOPE_PAIR struct pair pair;

	open_pair(&pair, directories, name, source->st_mode);
	if (!options.no_xattrs)
		compare_xattrs(&pair);
	if (!options.no_flags && (S_ISREG(source->st_mode) || S_ISDIR(source->st_mode)))
		compare_flags(pair.files);
	if (S_ISREG(source->st_mode) && source->st_size == image->st_size && source->st_size && is_open(&pair))
		compare_files(pair.files, source->st_size);
	if (S_ISLNK(source->st_mode))
		compare_targets(directories, name);
	if (S_ISDIR(source->st_mode) && is_open(&pair))
		compare_directories(pair.files, image, false);
}

/* Compares one name of both directories; returns true if it is a subdirectory of the image's. */
static bool compare_name(const int directories[SIDES], const char *name)
{
	struct stat status[SIDES];
	size_t before = path_enter(name);
	bool found = true;

	for (enum side side = SOURCE; side < SIDES && found; side++) {
		found = !fstatat(directories[side], name, &status[side], AT_SYMLINK_NOFOLLOW);
		if (!found)
			difference("cannot look up in the %s: %s", side_names[side], strerror(errno));
	}
	if (found && !(options.no_special && !S_ISREG(status[SOURCE].st_mode) && !S_ISDIR(status[SOURCE].st_mode) &&
	               !S_ISLNK(status[SOURCE].st_mode)))
		compare_entry(directories, name, &status[SOURCE], &status[IMAGE]);
	path_leave(before);
	return found && S_ISDIR(status[IMAGE].st_mode);
}

static void only_in(enum side side, const int directories[SIDES], const char *name)
{
	size_t before = path_enter(name);
	struct stat status;

	if (options.no_special && side == SOURCE && !fstatat(directories[side], name, &status, AT_SYMLINK_NOFOLLOW) &&
	    !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) {
		path_leave(before);
		return;
	}
	difference(side == SOURCE ? "is missing" : "is not in the source");
	path_leave(before);
}

/*
 * Has the kernel read the beginning of a file while others are compared: a read through a loop device waits for another
 * thread, which for 50000 small files takes 8 s of 10 on a busy machine.
 */
static void read_ahead(int directory, const char *name)
{
	struct stat status;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode) || !status.st_size)
		return;
	SCOPE_CLOSE int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (file >= 0)
		posix_fadvise(file, 0, AHEAD_BYTES, POSIX_FADV_WILLNEED);
}

static void compare_directories(const int directories[SIDES], const struct stat *image, bool is_root)
{
	SCOPE_NAMES struct names source = { 0 }, in_image = { 0 };
	nlink_t expected_links = 2;

	if (!read_names(directories[SOURCE], SOURCE, &source) || !read_names(directories[IMAGE], IMAGE, &in_image))
		return;
	for (size_t s = 0, i = 0, ahead = 0; s < source.count || i < in_image.count;) {
		while (!options.no_content && ahead < in_image.count && ahead < i + AHEAD_NAMES)
			read_ahead(directories[IMAGE], in_image.list[ahead++]);

		const char *source_name = s < source.count ? source.list[s] : NULL;
		const char *image_name = i < in_image.count ? in_image.list[i] : NULL;
		int order = !source_name ? 1 : !image_name ? -1 : strcmp(source_name, image_name);

		if (order == 0)
			expected_links += compare_name(directories, source_name);
		else if (order < 0)
			only_in(SOURCE, directories, source_name);
		else if (is_root && !strcmp(image_name, "lost+found"))
			expected_links++;
		else
			only_in(IMAGE, directories, image_name);
		s += order <= 0;
		i += order >= 0;
	}
	if (!options.no_links && image->st_nlink != expected_links &&
	    !(image->st_nlink == 1 && expected_links >= EXT4_MAXIMUM_LINKS))
		difference("directory has %ju links, should have %ju", (uintmax_t)image->st_nlink,
		           (uintmax_t)expected_links);
}

/* ---- hard links: the names must fall into the same files on both sides ---- */

static int compare_by_source(const void *left, const void *right)
{
	const struct link_record *a = left, *b = right;

	if (a->source_device != b->source_device)
		return a->source_device < b->source_device ? -1 : 1;
	if (a->source_inode != b->source_inode)
		return a->source_inode < b->source_inode ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int compare_by_image(const void *left, const void *right)
{
	const struct link_record *a = left, *b = right;

	if (a->image_inode != b->image_inode)
		return a->image_inode < b->image_inode ? -1 : 1;
	return strcmp(a->path, b->path);
}

static bool same_source(const struct link_record *a, const struct link_record *b)
{
	return a->source_device == b->source_device && a->source_inode == b->source_inode;
}

static void compare_links(void)
{
	if (!link_count)
		return;
	qsort(links, link_count, sizeof(*links), compare_by_source);
	for (size_t first = 0, end; first < link_count; first = end) {
		for (end = first; end < link_count && same_source(&links[first], &links[end]); end++) {
			if (links[end].image_inode != links[first].image_inode)
				difference_at(links[end].path, "is not a hard link of the same file as %s",
				              links[first].path);
		}
		for (size_t i = first; i < end; i++) {
			if (links[i].image_links != end - first)
				difference_at(links[i].path, "has %ju links, should have %zu",
				              (uintmax_t)links[i].image_links, end - first);
		}
	}
	qsort(links, link_count, sizeof(*links), compare_by_image);
	for (size_t i = 1; i < link_count; i++) {
		if (links[i].image_inode == links[i - 1].image_inode && !same_source(&links[i], &links[i - 1]))
			difference_at(links[i].path, "is a hard link of the same file as %s", links[i - 1].path);
	}
}

static const char usage[] =
	"usage: compare_trees [options] SOURCE MOUNTED\n"
	"  --no-content --no-owners --no-modes --no-times --no-nanoseconds --no-links --no-xattrs --no-flags\n"
	"  --no-holes\n"
	"  --same-holes         nor has the image holes where the source has none\n"
	"  --no-special         leave devices, fifos and sockets out\n"
	"  --no-root            leave the roots' own attributes out\n"
	"  --narrow-times       times as inodes of 128 bytes keep them: 32 bits of seconds\n"
	"  --hole-bytes=BYTES   the image has holes of whole clusters only (default: whole blocks)\n"
	"  --latest=SECONDS     later times are expected to be this one (SOURCE_DATE_EPOCH)\n";

__attribute__((noreturn)) static void wrong_usage(void)
{
	fputs(usage, stderr);
	exit(2);
}

static const struct option long_options[] = {
	{ "no-content", no_argument, &options.no_content, 1 },
	{ "no-owners", no_argument, &options.no_owners, 1 },
	{ "no-modes", no_argument, &options.no_modes, 1 },
	{ "no-times", no_argument, &options.no_times, 1 },
	{ "no-nanoseconds", no_argument, &options.no_nanoseconds, 1 },
	{ "no-links", no_argument, &options.no_links, 1 },
	{ "no-xattrs", no_argument, &options.no_xattrs, 1 },
	{ "no-flags", no_argument, &options.no_flags, 1 },
	{ "no-holes", no_argument, &options.no_holes, 1 },
	{ "same-holes", no_argument, &options.same_holes, 1 },
	{ "no-special", no_argument, &options.no_special, 1 },
	{ "no-root", no_argument, &options.no_root, 1 },
	{ "narrow-times", no_argument, &options.narrow_times, 1 },
	{ "hole-bytes", required_argument, NULL, 'h' },
	{ "latest", required_argument, NULL, 'l' },
	{ NULL, 0, NULL, 0 },
};

static void read_options(int argc, char **argv)
{
	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		if (option == 'h')
			options.hole_bytes = strtoll(optarg, NULL, 10);
		else if (option == 'l')
			options.latest_seconds = strtoll(optarg, NULL, 10);
		else if (option)
			wrong_usage();
	}
	if (argc - optind != 2)
		wrong_usage();
}

int main(int argc, char **argv)
{
	int roots[SIDES];
	struct stat status[SIDES];
	struct rlimit files;

	read_options(argc, argv);
	if (!getrlimit(RLIMIT_NOFILE, &files)) { /* two descriptors for each level of depth */
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	for (enum side side = SOURCE; side < SIDES; side++) {
		const char *name = argv[optind + side];

		buffers[side] = must_have(malloc(CHUNK_BYTES));
		roots[side] = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (roots[side] < 0 || fstat(roots[side], &status[side])) {
			fprintf(stderr, "compare_trees: %s: cannot open: %s\n", name, strerror(errno));
			return 2;
		}
	}
	path_leave(path_enter(""));
	if (!options.no_root) {
		entries++;
		compare_attributes(&status[SOURCE], &status[IMAGE]);
		struct pair pair = { .files = { roots[SOURCE], roots[IMAGE] } };

		if (!options.no_xattrs)
			compare_xattrs(&pair);
		if (!options.no_flags)
			compare_flags(pair.files);
	}
	compare_directories(roots, &status[IMAGE], true);
	compare_links();
	printf("%" PRIu64 " entries, %" PRIu64 " differences\n", entries, differences);
	return differences ? 1 : 0;
}
