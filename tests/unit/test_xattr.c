/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where xattrs stand, their bytes before libext2fs, e2fsck and the kernel, and what is refused. */
#include "ondisk/xattr.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <ext2fs/ext2_ext_attr.h>

#include "ondisk/file_map.h"
#include "ondisk_image.h"
#include "seeded_random.h"
#include "unit.h"

#define OVERHEAD_INODE 8  /* magic and terminator */
#define OVERHEAD_BLOCK 36 /* header and terminator */
#define ENTRY_ONE 20      /* an entry whose name is one letter */

static uint8_t noise[1 << 16];

static void fill_noise(struct random *random)
{
	for (size_t n = 0; n < sizeof(noise); n++)
		noise[n] = random_next(random);
}

#define ACL_BYTES(entries) (4 + 8 * (entries))
static const uint8_t full_acl[ACL_BYTES(6)] = {
	2,    0, 0, 0,                         /* version */
	1,    0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* owner */
	2,    0, 7, 0, 0xe8, 3,    1,    0,    /* user 66536 */
	2,    0, 4, 0, 0xe9, 3,    0,    0,    /* user 1001 */
	4,    0, 4, 0, 0xff, 0xff, 0xff, 0xff, /* group */
	0x10, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, /* mask */
	0x20, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, /* others */
};
static const uint8_t capability[20] = { 1, 0, 0, 2, 0, 4 }; /* version 2, effective, one capability */

static struct ondisk_format format_of(uint32_t block_bytes, uint16_t inode_bytes)
{
	return (struct ondisk_format){
		.block_bytes = block_bytes,
		.block_bits = __builtin_ctz(block_bytes),
		.inode_bytes = inode_bytes,
		.extra_isize = inode_bytes > 128 ? 32 : 0,
	};
}

static errcode_t place(const struct ondisk_format *format, const struct xattr *list, size_t count,
                       struct xattr_layout *layout)
{
	memset(layout, 0xa5, sizeof(*layout));
	return xattr_place(format, list, count, layout);
}

static void expect_place(const struct ondisk_format *format, const struct xattr *list, size_t count, uint64_t in_inode,
                         bool needs_block)
{
	struct xattr_layout layout;

	ck_assert_int_eq(place(format, list, count, &layout), 0);
	ck_assert_uint_eq(layout.in_inode, in_inode);
	ck_assert_int_eq(layout.needs_block, needs_block);
}

START_TEST(places_to_the_byte)
{
	struct ondisk_format format = format_of(4096, 256);
	uint32_t inode_value = 96 - OVERHEAD_INODE - ENTRY_ONE;
	uint32_t block_value = 4096 - OVERHEAD_BLOCK - ENTRY_ONE;
	struct xattr_layout layout;
	struct xattr list[] = {
		{ .name = "user.a", .value = noise, .value_bytes = inode_value },
		{ .name = "user.b", .value = noise, .value_bytes = block_value },
	};

	expect_place(&format, NULL, 0, 0, false);
	expect_place(&format, list, 1, 1, false);
	expect_place(&format, list, 2, 1, true);
	list[0].value_bytes++;
	expect_place(&format, list, 1, 0, true);
	ck_assert_int_eq(place(&format, list, 2, &layout), E2BIG);
	list[0].value_bytes--;
	list[1].value_bytes++;
	ck_assert_int_eq(place(&format, list, 2, &layout), E2BIG);
	list[1].value_bytes = UINT32_MAX;
	ck_assert_int_eq(place(&format, list, 2, &layout), E2BIG);

	format = format_of(4096, 128);
	list[1].value_bytes = block_value;
	expect_place(&format, list + 1, 1, 0, true);
	list[1].value_bytes++;
	ck_assert_int_eq(place(&format, list + 1, 1, &layout), E2BIG);
}
END_TEST

START_TEST(what_fits_in_order_goes_into_the_inode)
{
	struct ondisk_format format = format_of(4096, 256); /* 88 bytes, of which each entry takes 20 */
	struct xattr list[] = {
		{ .name = "user.a", .value = noise, .value_bytes = 20 },
		{ .name = "user.b", .value = noise, .value_bytes = 60 },
		{ .name = "user.c", .value = noise, .value_bytes = 20 },
		{ .name = "user.d", .value = noise, .value_bytes = 8 },
	};

	expect_place(&format, list, 4, 0x5, true);
}
END_TEST

/* In order, "a" would take the place that only "b" can fill, and leave the block a few bytes short. */
START_TEST(the_fullest_inode_is_found_when_it_must_be)
{
	struct ondisk_format format = format_of(4096, 256);
	uint32_t block_value = 4096 - OVERHEAD_BLOCK - ENTRY_ONE - (ENTRY_ONE + 12);
	struct xattr list[] = {
		{ .name = "user.a", .value = noise, .value_bytes = 12 },
		{ .name = "user.b", .value = noise, .value_bytes = 88 - ENTRY_ONE },
		{ .name = "user.c", .value = noise, .value_bytes = block_value },
	};
	struct xattr_layout layout;

	expect_place(&format, list, 3, 0x2, true);
	list[2].value_bytes++;
	ck_assert_int_eq(place(&format, list, 3, &layout), E2BIG);
}
END_TEST

/* As few as do, the largest first; their entries stand in a block, where e2fsck does not mistake a symlink for a map.
 */
START_TEST(values_that_get_inodes)
{
	struct ondisk_format format = format_of(4096, 256);
	struct xattr list[] = {
		{ .name = "user.a", .value = noise, .value_bytes = 20 },
		{ .name = "user.b", .value = noise, .value_bytes = 3000 },
		{ .name = "user.c", .value = noise, .value_bytes = 65536 },
		{ .name = "user.d", .value = noise, .value_bytes = 1900 },
		{ .name = "user.e", .value = noise, .value_bytes = 2001 },
	};
	struct xattr_layout layout;

	ck_assert_int_eq(place(&format, list, 5, &layout), E2BIG);
	format.ea_inode = true;
	expect_place(&format, list, 5, 0x1, true);
	ck_assert_int_eq(xattr_place(&format, list, 5, &layout), 0);
	ck_assert_uint_eq(layout.in_value_inode, 0x6);
	expect_place(&format, list + 2, 1, 0, true);
	list[2].value_bytes++;
	ck_assert_int_eq(place(&format, list, 5, &layout), E2BIG);
	list[2].value_bytes = 20;
	ck_assert_int_eq(xattr_place(&format, list, 5, &layout), 0);
	ck_assert_uint_eq(layout.in_value_inode, 0x2);
	expect_place(&format, list, 2, 0x1, true);
	ck_assert_int_eq(xattr_place(&format, list, 2, &layout), 0);
	ck_assert_uint_eq(layout.in_value_inode, 0);
}
END_TEST

/* 64 names of 250 bytes: more entries than the block holds, so some stand in the inode. */
START_TEST(entries_of_values_fill_the_inode_last)
{
	struct ondisk_format format = format_of(4096, 1024);
	static char names[15][256];
	struct xattr list[16];
	struct xattr_layout layout;

	format.ea_inode = true;
	for (int n = 0; n < 15; n++) {
		snprintf(names[n], sizeof(names[n]), "user.%0245d", n);
		list[n] = (struct xattr){ .name = names[n], .value = noise, .value_bytes = 5000 };
	}
	list[15] = (struct xattr){ .name = "user.small", .value = noise, .value_bytes = 20 };
	ck_assert_int_eq(xattr_place(&format, list, 16, &layout), 0);
	ck_assert_uint_eq(layout.in_value_inode, 0x7fff);
	ck_assert_uint_eq(layout.in_inode, 0x8000);
	ck_assert_int_eq(xattr_place(&format, list, 15, &layout), 0);
	ck_assert_uint_eq(layout.in_inode, 0);
	format.block_bytes = 2048;
	ck_assert_int_eq(xattr_place(&format, list, 10, &layout), 0);
	ck_assert_uint_eq(layout.in_value_inode, 0x3ff);
	ck_assert_int_eq(__builtin_popcountll(layout.in_inode), 3);
	ck_assert_int_eq(layout.needs_block, true);
	ck_assert_int_eq(xattr_place(&format, list, 11, &layout), E2BIG);
}
END_TEST

START_TEST(counts_up_to_64)
{
	struct ondisk_format format = format_of(4096, 256);
	char names[XATTR_MAX_COUNT + 1][16];
	struct xattr list[XATTR_MAX_COUNT + 1];
	struct xattr_layout layout;

	for (int n = 0; n <= XATTR_MAX_COUNT; n++) {
		snprintf(names[n], sizeof(names[n]), "user.%d", n);
		list[n] = (struct xattr){ .name = names[n], .value = noise, .value_bytes = 4 };
	}
	expect_place(&format, list, XATTR_MAX_COUNT, 0x7, true);
	ck_assert_int_eq(place(&format, list, XATTR_MAX_COUNT + 1, &layout), E2BIG);
}
END_TEST

START_TEST(names_that_are_refused)
{
	char longest[5 + 255 + 1] = "user.", too_long[5 + 256 + 1] = "user.";
	const struct {
		const char *name;
		errcode_t expected;
	} cases[] = {
		{ "user.x", 0 },
		{ "trusted.x", 0 },
		{ "security.x", 0 },
		{ "system.x", 0 },
		{ "system.posix_acl_accessx", 0 }, /* a name of its own, no ACL */
		{ "system.richacl", 0 },
		{ longest, 0 },
		{ too_long, ERANGE },
		{ "system.data", ENOTSUP },
		{ "os2.x", ENOTSUP },
		{ "user", ENOTSUP },
		{ "", ENOTSUP },
		{ "user.", EINVAL },
		{ "system.posix_acl_access", EINVAL }, /* the value is none */
		{ "system.posix_acl_default", EINVAL },
	};
	struct ondisk_format format = format_of(4096, 256);
	struct xattr_layout layout;

	memset(longest + 5, 'n', 255);
	memset(too_long + 5, 'n', 256);
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct xattr xattr = { .name = cases[n].name, .value = "value", .value_bytes = 5 };

		ck_assert_msg(place(&format, &xattr, 1, &layout) == cases[n].expected, "%s", cases[n].name);
	}
}
END_TEST

static errcode_t place_acl(const uint8_t *acl, uint32_t bytes)
{
	struct ondisk_format format = format_of(4096, 256);
	struct xattr xattr = { .name = "system.posix_acl_access", .value = acl, .value_bytes = bytes };
	struct xattr_layout layout;

	return place(&format, &xattr, 1, &layout);
}

START_TEST(malformed_acls)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} changes[] = {
		{ 0, 1 },     /* version */
		{ 4, 0 },     /* no tag */
		{ 4, 0x40 },  /* an unknown one */
		{ 5, 1 },     /* an unknown high one */
		{ 6, 8 },     /* permissions */
		{ 7, 1 },     /* unknown high ones */
		{ 4, 2 },     /* no owner */
		{ 20, 1 },    /* a second owner, out of order */
		{ 28, 1 },    /* and no group */
		{ 36, 0x20 }, /* others twice, no mask */
		{ 36, 8 },    /* a named group, no mask */
		{ 44, 8 },    /* out of order, no others */
	};

	ck_assert_int_eq(place_acl(full_acl, sizeof(full_acl)), 0);
	for (uint32_t bytes = 0; bytes < sizeof(full_acl); bytes++)
		ck_assert_int_eq(place_acl(full_acl, bytes), EINVAL);
	for (size_t n = 0; n < sizeof(changes) / sizeof(changes[0]); n++) {
		uint8_t acl[sizeof(full_acl)];

		memcpy(acl, full_acl, sizeof(acl));
		acl[changes[n].offset] = changes[n].value;
		ck_assert_msg(place_acl(acl, sizeof(acl)) == EINVAL, "change %zu", n);
	}
	for (int entry = 0; entry < 6; entry++) {
		uint8_t acl[sizeof(full_acl)];
		bool is_named = entry == 1 || entry == 2; /* only these may be left out, the mask belongs to them */

		memcpy(acl, full_acl, sizeof(acl));
		memmove(acl + ACL_BYTES(entry), acl + ACL_BYTES(entry + 1), sizeof(acl) - ACL_BYTES(entry + 1));
		ck_assert_msg(place_acl(acl, ACL_BYTES(5)) == (is_named ? 0 : EINVAL), "without entry %d", entry);
	}
	uint8_t nobody[sizeof(full_acl)];

	memcpy(nobody, full_acl, sizeof(nobody));
	memset(nobody + 16, 0xff, 4);
	ck_assert_int_eq(place_acl(nobody, sizeof(nobody)), EINVAL);
}
END_TEST

/* The form that the kernel writes, byte for byte: ids only where they mean something. */
START_TEST(acls_on_disk)
{
	static const uint8_t expected[] = {
		1, 0, 0,    0, 1, 0, 6, 0, 2, 0, 7,    0, 0xe8, 3, 1,    0, 2, 0,
		4, 0, 0xe9, 3, 0, 0, 4, 0, 4, 0, 0x10, 0, 7,    0, 0x20, 0, 4, 0,
	};
	struct ondisk_format format = format_of(4096, 256);
	struct xattr list[] = {
		{ .name = "system.posix_acl_default", .value = full_acl, .value_bytes = sizeof(full_acl) }
	};
	struct xattr_layout layout;
	uint8_t area[96];

	expect_place(&format, list, 1, 1, false);
	ck_assert_int_eq(xattr_place(&format, list, 1, &layout), 0);
	ck_assert_int_eq(xattr_encode_inode(&format, list, 1, &layout, area), 0);
	ck_assert_uint_eq(area[4], 0); /* no name */
	ck_assert_uint_eq(area[5], 3); /* its index */
	ck_assert_uint_eq(area[12], sizeof(expected));
	ck_assert_mem_eq(area + sizeof(area) - sizeof(expected), expected, sizeof(expected));
}
END_TEST

/* --- Real filesystems ---------------------------------------------------------------------------------- */

struct test_set {
	struct xattr list[XATTR_MAX_COUNT];
	char names[XATTR_MAX_COUNT][256];
	size_t count;
	unsigned int files; /* that share the block */
	bool for_kernel;    /* it shows all of them */
};

static void add_xattr(struct test_set *set, const char *name, const void *value, uint32_t value_bytes)
{
	snprintf(set->names[set->count], sizeof(set->names[0]), "%s", name);
	set->list[set->count] =
		(struct xattr){ .name = set->names[set->count], .value = value, .value_bytes = value_bytes };
	set->count++;
}

static uint32_t room(uint32_t bytes, uint32_t overhead)
{
	return bytes > overhead ? bytes - overhead : 0;
}

static void make_full(struct test_set *set, const struct ondisk_format *format, uint32_t inode_less,
                      uint32_t block_less)
{
	uint32_t inode_room = room(inode_xattr_area_bytes(format), OVERHEAD_INODE + ENTRY_ONE);

	if (inode_room > 0)
		add_xattr(set, "user.i", noise + 1, inode_room - inode_less);
	add_xattr(set, "user.b", noise + 3, format->block_bytes - OVERHEAD_BLOCK - ENTRY_ONE - block_less);
}

/* What does fit the block alone. */
static void make_random(struct test_set *set, struct random *random, uint32_t block_bytes)
{
	static const char *const prefixes[] = { "user.", "trusted.", "security." };
	unsigned int count = 1 + random_below(random, 12);
	uint32_t left = block_bytes - OVERHEAD_BLOCK;

	for (unsigned int n = 0; n < count; n++) {
		char name[256];
		int length = 1 + random_below(random, random_below(random, 4) ? 20 : 240);

		snprintf(name, sizeof(name), "%s%0*u", prefixes[random_below(random, 3)], length, n);
		if (random_below(random, 3) == 0)
			name[strlen(name) - 2 + (length == 1)] |= 0x80; /* the hash takes bytes as unsigned */
		uint32_t value_bytes = random_below(random, block_bytes * 2 / 3 / count);
		uint32_t most_bytes = 16 + strlen(name) + value_bytes + 6; /* and padding */

		if (most_bytes > left)
			break;
		left -= most_bytes;
		add_xattr(set, name, noise + random_below(random, 1000), value_bytes);
	}
}

#define SETS 40

static void make_set(struct test_set *set, const struct ondisk_format *format, struct random *random, int number)
{
	char longest[256] = "trusted.";

	*set = (struct test_set){ .files = 1, .for_kernel = true };
	memset(longest + 8, 'l', 255 - 8);
	switch (number) {
	case 0:
		make_full(set, format, 0, 0);
		break;
	case 1:
		make_full(set, format, 3, 3); /* the padding is full of zeros */
		break;
	case 2:
		add_xattr(set, "user.nothing", NULL, 0);
		break;
	case 3:
		add_xattr(set, longest, noise, 5);
		longest[8] = 'k';
		add_xattr(set, longest, noise + 9, 0);
		break;
	case 4:
		add_xattr(set, "security.capability", capability, sizeof(capability));
		add_xattr(set, "system.posix_acl_access", full_acl, sizeof(full_acl));
		break;
	case 5:
		for (int n = 0; n < (format->block_bytes > 1024 ? XATTR_MAX_COUNT : 24); n++) {
			snprintf(longest, sizeof(longest), "user.%d", 7 * n);
			add_xattr(set, longest, noise + n, n % 7);
		}
		set->files = 3;
		break;
	case 6:
		add_xattr(set, "user.shared", noise, format->block_bytes - 200);
		set->files = 5;
		break;
	case 7:
		add_xattr(set, "system.other", noise, 17);
		add_xattr(set, "system.richacl", noise, 11);
		set->for_kernel = false;
		break;
	default:
		make_random(set, random, format->block_bytes);
	}
}

/* e2fsck and the kernel also take the hash that was once made with signed characters; it is not to be written. */
static void check_hashes(const uint8_t *block)
{
	size_t offset = sizeof(struct ext2_ext_attr_header);

	while (!EXT2_EXT_IS_LAST_ENTRY(block + offset)) {
		union {
			struct ext2_ext_attr_entry entry;
			uint8_t bytes[EXT2_EXT_ATTR_LEN(UINT8_MAX)];
		} copy;
		struct ext2_ext_attr_entry *entry = &copy.entry;

		/* With its name, and its numbers in the machine's order of bytes. */
		memcpy(copy.bytes, block + offset, EXT2_EXT_ATTR_LEN(block[offset]));
		entry->e_value_offs = le16toh(entry->e_value_offs);
		entry->e_value_size = le32toh(entry->e_value_size);
		ck_assert_uint_eq(le32toh(entry->e_hash),
		                  ext2fs_ext_attr_hash_entry(entry, (void *)(block + entry->e_value_offs)));
		offset += EXT2_EXT_ATTR_LEN(entry->e_name_len);
	}
}

static void put_set(struct ondisk_image *image, const struct test_set *set, int number)
{
	const struct ondisk_format *format = &image->format;
	uint8_t *area = malloc(inode_xattr_area_bytes(format) + 1);
	uint8_t *block = malloc(format->block_bytes);
	uint8_t *bytes = malloc(format->inode_bytes);
	struct xattr_layout layout;
	blk64_t block_number = 0;
	uint64_t taken;

	ck_assert_int_eq(xattr_place(format, set->list, set->count, &layout), 0);
	area[inode_xattr_area_bytes(format)] = 0x77;
	ck_assert_int_eq(xattr_encode_inode(format, set->list, set->count, &layout, area), 0);
	ck_assert_uint_eq(area[inode_xattr_area_bytes(format)], 0x77);
	if (layout.needs_block) {
		block_number = ondisk_image_take_blocks(image, 1, &taken);
		ck_assert_int_eq(
			xattr_encode_block(format, set->list, set->count, &layout, block_number, set->files, block), 0);
		check_hashes(block);
		ck_assert(ext2fs_ext_attr_block_csum_verify(image->fs, 0, block_number, (void *)block));
		ondisk_image_put_blocks(image, block_number, 1, block);
	}
	for (unsigned int file = 0; file < set->files; file++) {
		char name[32];
		struct inode_value value = {
			.mode = S_IFREG | 0674, /* the mask of the ACL is the group's part */
			.links = 1,
			.blocks = layout.needs_block,
			.flags = format->extents ? EXT4_EXTENTS_FL : 0,
			.xattr_block = block_number,
		};

		snprintf(name, sizeof(name), "set%d-%u", number, file);
		ext2_ino_t ino = ondisk_image_new_inode(image, name, value.mode);

		ck_assert_int_eq(file_map_build(format, ino, 0, NULL, 0, NULL, value.root, NULL), 0);
		ck_assert_int_eq(inode_encode(format, ino, &value, area, bytes), 0);
		ondisk_image_put_inode(image, ino, bytes);
	}
	free(area);
	free(block);
	free(bytes);
}

static void ask_libext2fs(struct ondisk_image *image, const struct test_set *set, int number, unsigned int file)
{
	char name[32];
	ext2_ino_t ino;
	struct ext2_xattr_handle *handle;
	size_t count;

	snprintf(name, sizeof(name), "set%d-%u", number, file);
	ck_assert_int_eq(ext2fs_lookup(image->fs, EXT2_ROOT_INO, name, strlen(name), NULL, &ino), 0);
	ck_assert_int_eq(ext2fs_xattrs_open(image->fs, ino, &handle), 0);
	ck_assert_int_eq(ext2fs_xattrs_read(handle), 0);
	ck_assert_int_eq(ext2fs_xattrs_count(handle, &count), 0);
	ck_assert_uint_eq(count, set->count);
	for (size_t n = 0; n < set->count; n++) {
		void *value;
		size_t value_bytes;

		ck_assert_msg(ext2fs_xattr_get(handle, set->list[n].name, &value, &value_bytes) == 0, "%s: %s", name,
		              set->list[n].name);
		ck_assert_uint_eq(value_bytes, set->list[n].value_bytes);
		/* In ACLs, libext2fs has 0 for the ids that mean nothing; the kernel is asked about these. */
		if (value_bytes && set->list[n].value != full_acl)
			ck_assert_mem_eq(value, set->list[n].value, value_bytes);
		ext2fs_free_mem(&value);
	}
	ext2fs_xattrs_close(&handle);
}

static void ask_the_kernel(const char *mounted, const struct test_set *set, int number, unsigned int file)
{
	static uint8_t value[1 << 16];
	char path[128];
	size_t names_bytes = 0;

	snprintf(path, sizeof(path), "%s/set%d-%u", mounted, number, file);
	for (size_t n = 0; n < set->count; n++) {
		ssize_t got = lgetxattr(path, set->list[n].name, value, sizeof(value));

		ck_assert_msg(got == (ssize_t)set->list[n].value_bytes, "%s: %s: %s", path, set->list[n].name,
		              strerror(errno));
		if (got)
			ck_assert_mem_eq(value, set->list[n].value, got);
		names_bytes += strlen(set->list[n].name) + 1;
	}
	ck_assert_int_eq(llistxattr(path, (char *)value, sizeof(value)), names_bytes);
}

static const char *const filesystems[] = {
	"-b 1024 -I 128",
	"-b 1024 -I 256 -O ^metadata_csum",
	"-b 2048 -I 512",
	"-b 4096 -I 128 -O ^extents,^64bit,^metadata_csum",
	"-b 4096 -I 256",
	"-b 4096 -I 1024 -O metadata_csum_seed",
	"-b 4096 -I 4096",
	"-b 65536 -I 256",
	"-b 65536 -I 512 -O ^metadata_csum",
};

START_TEST(real_filesystems)
{
	struct ondisk_image image;
	struct random random = random_start(filesystems[_i]);
	struct test_set *sets = calloc(SETS, sizeof(*sets));

	fill_noise(&random);
	ondisk_image_make(&image, filesystems[_i], "64M -N 256");
	for (int n = 0; n < SETS; n++) {
		make_set(&sets[n], &image.format, &random, n);
		put_set(&image, &sets[n], n);
	}
	for (int n = 0; n < SETS; n++) {
		for (unsigned int file = 0; file < sets[n].files; file++)
			ask_libext2fs(&image, &sets[n], n, file);
	}
	ondisk_image_check(&image);

	const char *mounted = ondisk_image_mount();

	if (mounted) {
		for (int n = 0; n < SETS; n++) {
			for (unsigned int file = 0; sets[n].for_kernel && file < sets[n].files; file++)
				ask_the_kernel(mounted, &sets[n], n, file);
		}
		ondisk_image_unmount();
	}
	free(sets);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xattr");
	TCase *tests = tcase_create("xattr");

	tcase_set_timeout(tests, 60);
	tcase_add_unchecked_fixture(tests, ondisk_image_setup, ondisk_image_teardown);
	tcase_add_test(tests, places_to_the_byte);
	tcase_add_test(tests, what_fits_in_order_goes_into_the_inode);
	tcase_add_test(tests, the_fullest_inode_is_found_when_it_must_be);
	tcase_add_test(tests, values_that_get_inodes);
	tcase_add_test(tests, entries_of_values_fill_the_inode_last);
	tcase_add_test(tests, counts_up_to_64);
	tcase_add_test(tests, names_that_are_refused);
	tcase_add_test(tests, malformed_acls);
	tcase_add_test(tests, acls_on_disk);
	tcase_add_loop_test(tests, real_filesystems, 0, sizeof(filesystems) / sizeof(filesystems[0]));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
