/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random owners, modes, ACLs, capabilities, xattrs and times. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "make_tree.h"

#define OLDEST_SECONDS INT64_C(-2147483648) /* what inodes of 256 bytes can keep */
#define LATEST_SECONDS INT64_C(10737418239) /* and e2fsck takes for what it is: it doubts 2310 and later */

static void write_acl(const char *name, const char *xattr, mode_t mode)
{
	struct __attribute__((packed)) {
		uint32_t version;
		struct __attribute__((packed)) {
			uint16_t tag, permissions;
			uint32_t id;
		} entries[6];
	} acl = { 2,
		  {
			  { 0x01, mode >> 6 & 7, UINT32_MAX },                            /* the owner */
			  { 0x02, random_below(8), 1000 + random_below(2) * 4000000000 }, /* a user */
			  { 0x04, random_below(8), UINT32_MAX },                          /* the group */
			  { 0x08, random_below(8), random_below(100000) },                /* another group */
			  { 0x10, mode >> 3 & 7, UINT32_MAX }, /* the mask is what the mode shows for the group */
			  { 0x20, mode & 7, UINT32_MAX },      /* others */
		  } };

	optional(lsetxattr(name, xattr, &acl, sizeof(acl), 0), name, "cannot set an ACL");
}

static void write_capability(const char *name)
{
	uint32_t capability[5] = { 0x02000001, 1 << random_below(30), 0, 0, 0 }; /* version 2, effective */

	optional(lsetxattr(name, "security.capability", capability, sizeof(capability), 0), name,
	         "cannot set capabilities");
}

/* Values that together stay below the limit: ext4 has room for one block and the rest of the inode. */
static void write_xattrs(const char *name, mode_t mode)
{
	static const char *const file_prefixes[] = { "user", "trusted", "security", "user.longer.prefix" };
	static const char *const other_prefixes[] = { "trusted", "security" };
	static const uint64_t sizes[] = { 0, 1, 3, 4, 5, 16, 40, 60, 100, 255, 1000 };
	bool is_plain = S_ISREG(mode) || S_ISDIR(mode);
	uint64_t used_bytes = 0, count = 1 + random_below(one_in(4) ? 12 : 3);
	char value[1000];

	for (uint64_t i = 0; i < count; i++) {
		char xattr[256];
		size_t value_bytes = PICK(sizes);
		const char *prefix = is_plain ? PICK(file_prefixes) : PICK(other_prefixes);

		snprintf(xattr, sizeof(xattr), "%s.%.*s%" PRIu64, prefix, (int)random_below(12), "abcdefghijkl", i);
		used_bytes += strlen(xattr) + value_bytes + 24;
		if (used_bytes > options.xattr_bytes)
			return;
		if (one_in(4))
			memset(value, 'v', value_bytes); /* sets of different files may be equal */
		else
			fill_random(value, value_bytes);
		optional(lsetxattr(name, xattr, value, value_bytes, 0), name, "cannot set an xattr");
	}
}

static struct timespec random_time(void)
{
	static const int64_t edges[] = {
		OLDEST_SECONDS, -1, 0, 1, INT32_MAX, INT64_C(1) << 31, UINT32_MAX, INT64_C(1) << 32, LATEST_SECONDS
	};
	static const long nanoseconds[] = { 0, 1, 999999999, 500000000 };
	struct timespec time = { .tv_nsec = one_in(4) ? PICK(nanoseconds) : (long)random_below(1000000000) };

	if (one_in(6))
		time.tv_sec = PICK(edges);
	else if (one_in(6))
		time.tv_sec = OLDEST_SECONDS + random_below(LATEST_SECONDS - OLDEST_SECONDS);
	else
		time.tv_sec = 1500000000 + random_below(200000000);
	return time;
}

/* In this order: an owner's change clears setuid and capabilities, and all of them change nothing of mtime. */
void write_metadata(const char *name, mode_t type)
{
	static const uint32_t owners[] = { 0, 1, 33, 1000, 65534, 65535, 65536, 100000, 4000000000, 4294967294 };
	static const mode_t modes[] = { 0644, 0755, 0600, 0, 0777, 0444, 04755, 02755, 01777, 07777, 06711, 0640 };
	mode_t mode = type | PICK(modes);
	struct timespec times[2] = { random_time(), random_time() };

	if (one_in(3))
		optional(lchown(name, PICK(owners), PICK(owners)), name, "cannot change the owner");
	if (!S_ISLNK(type) && chmod(name, mode & 07777))
		fail(name, "cannot change the mode");
	if (!S_ISLNK(type) && options.xattr_bytes && one_in(6))
		write_acl(name, "system.posix_acl_access", mode);
	if (S_ISDIR(type) && options.xattr_bytes && one_in(6))
		write_acl(name, "system.posix_acl_default", 0750);
	if (options.xattr_bytes && one_in(4))
		write_xattrs(name, type);
	if (S_ISREG(type) && options.xattr_bytes && one_in(8))
		write_capability(name);
	if (utimensat(AT_FDCWD, name, times, AT_SYMLINK_NOFOLLOW))
		fail(name, "cannot set times");
}
