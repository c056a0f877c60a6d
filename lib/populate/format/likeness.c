/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/format/likeness.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <uuid/uuid.h>

#include "image/inode.h"
#include "support/io/whole_io.h"
#include "tree/details.h"

/* The three words of features. */
enum feature_word {
	COMPAT,
	INCOMPAT,
	RO_COMPAT,
	FEATURE_WORDS,
};

/* The features that mke2fs can set, by its names. */
static const struct feature {
	enum feature_word word;
	uint32_t bit;
	const char *name;
	const char *needs; /* mke2fs refuses it without that one; NULL: without none */
	const char *other; /* another name of it; NULL: it has none */
} features[] = {
	{ COMPAT, EXT3_FEATURE_COMPAT_HAS_JOURNAL, "has_journal", NULL, NULL },
	{ COMPAT, EXT2_FEATURE_COMPAT_EXT_ATTR, "ext_attr", NULL, NULL },
	{ COMPAT, EXT2_FEATURE_COMPAT_RESIZE_INODE, "resize_inode", "sparse_super", NULL },
	{ COMPAT, EXT2_FEATURE_COMPAT_DIR_INDEX, "dir_index", NULL, NULL },
	{ COMPAT, EXT4_FEATURE_COMPAT_SPARSE_SUPER2, "sparse_super2", NULL, NULL },
	{ COMPAT, EXT4_FEATURE_COMPAT_FAST_COMMIT, "fast_commit", "has_journal", NULL },
	{ COMPAT, EXT4_FEATURE_COMPAT_STABLE_INODES, "stable_inodes", NULL, NULL },
	{ COMPAT, EXT4_FEATURE_COMPAT_ORPHAN_FILE, "orphan_file", "has_journal", NULL },
	{ INCOMPAT, EXT2_FEATURE_INCOMPAT_FILETYPE, "filetype", NULL, NULL },
	{ INCOMPAT, EXT2_FEATURE_INCOMPAT_META_BG, "meta_bg", NULL, NULL },
	{ INCOMPAT, EXT3_FEATURE_INCOMPAT_EXTENTS, "extent", NULL, "extents" },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_64BIT, "64bit", "extent", NULL },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_MMP, "mmp", NULL, NULL },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_FLEX_BG, "flex_bg", NULL, NULL },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_EA_INODE, "ea_inode", NULL, NULL },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_CSUM_SEED, "metadata_csum_seed", "metadata_csum", NULL },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_LARGEDIR, "large_dir", NULL, NULL },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_INLINE_DATA, "inline_data", NULL, NULL },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_ENCRYPT, "encrypt", NULL, NULL },
	{ INCOMPAT, EXT4_FEATURE_INCOMPAT_CASEFOLD, "casefold", NULL, "fname_encoding" },
	{ RO_COMPAT, EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER, "sparse_super", NULL, NULL },
	{ RO_COMPAT, EXT2_FEATURE_RO_COMPAT_LARGE_FILE, "large_file", NULL, NULL },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_HUGE_FILE, "huge_file", NULL, NULL },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_GDT_CSUM, "uninit_bg", NULL, "uninit_groups" },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_DIR_NLINK, "dir_nlink", NULL, NULL },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE, "extra_isize", NULL, NULL },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_QUOTA, "quota", NULL, NULL },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_BIGALLOC, "bigalloc", "extent", NULL },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_METADATA_CSUM, "metadata_csum", NULL, NULL },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_PROJECT, "project", NULL, NULL },
	{ RO_COMPAT, EXT4_FEATURE_RO_COMPAT_VERITY, "verity", "extent", NULL },
};

#define FEATURES (sizeof(features) / sizeof(*features))

/* Mounts set and clear these by themselves. */
static const uint32_t passing[FEATURE_WORDS] = {
	[INCOMPAT] = EXT3_FEATURE_INCOMPAT_RECOVER,
	[RO_COMPAT] = EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT,
};

/* Fields of the superblock. mke2fs's option of that letter, or extended option, is the user's word for it. */
static const struct field {
	const char *name;
	size_t offset, bytes;
	char letter;
	const char *extended;
	bool is_made; /* mke2fs has been told */
} fields[] = {
#define KEPT(what, member, letter, extended, is_made)                                                                  \
	{                                                                                                              \
		what, offsetof(struct ext2_super_block, member), sizeof(((struct ext2_super_block *)NULL)->member),    \
			letter, extended, is_made                                                                      \
	}
	KEPT("label", s_volume_name, 'L', NULL, false),
	KEPT("UUID", s_uuid, 'U', NULL, true),
	KEPT("hash seed", s_hash_seed, 0, "hash_seed", true),
	KEPT("default mount options", s_default_mount_opts, 0, NULL, false),
	KEPT("mount options", s_mount_opts, 0, "mount_opts", false),
	KEPT("behaviour on errors", s_errors, 'e', NULL, false),
	KEPT("number of mounts between checks", s_max_mnt_count, 0, NULL, false),
	KEPT("time between checks", s_checkinterval, 0, NULL, false),
	KEPT("user of reserved blocks", s_def_resuid, 0, NULL, false),
	KEPT("group of reserved blocks", s_def_resgid, 0, NULL, false),
	KEPT("stride", s_raid_stride, 0, "stride", false),
	KEPT("stripe width", s_raid_stripe_width, 0, "stripe_width", false),
#undef KEPT
};

#define FIELDS (sizeof(fields) / sizeof(*fields))

static void read_features(const struct ext2_super_block *super, uint32_t words[FEATURE_WORDS])
{
	words[COMPAT] = super->s_feature_compat;
	words[INCOMPAT] = super->s_feature_incompat;
	words[RO_COMPAT] = super->s_feature_ro_compat;
}

static uint64_t wide(const struct ext2_super_block *super, uint32_t low, uint32_t high)
{
	return low | (super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_64BIT ? (uint64_t)high << 32 : 0);
}

/* --- The user's options ------------------------------------------------------------------------------------------- */

static bool is_given(const struct populate_options *options, char letter)
{
	if (letter == 'U')
		return options->uuid;
	for (char *const *option = options->mke2fs; letter && option && *option; option++)
		if ((*option)[0] == '-' && (*option)[1] == letter)
			return true;
	return false;
}

static bool is_kept(const struct field *field, const struct populate_options *options)
{
	return !is_given(options, field->letter) &&
	       !(field->extended && extended_has(options->extended, field->extended));
}

/* A type of filesystem says which features it has, and a usage type how large its blocks and inodes are, too. */
static bool are_features_kept(const struct populate_options *options)
{
	return !options->type_given && !options->usage_given;
}

static bool is_told_not(const struct populate_options *options, const struct feature *feature)
{
	return mke2fs_is_told_not(options, feature->name) ||
	       (feature->other && mke2fs_is_told_not(options, feature->other));
}

static const struct feature *find_feature(const char *name)
{
	const struct feature *feature = features;

	while (strcmp(feature->name, name))
		feature++;
	return feature;
}

/* True if the new filesystem has the source's feature, whatever the user's -O adds and takes away. */
static bool has_feature(const struct likeness *like, const struct populate_options *options,
                        const struct feature *feature)
{
	uint32_t words[FEATURE_WORDS];

	read_features(&like->super, words);
	return are_features_kept(options) && words[feature->word] & feature->bit && !mke2fs_is_told_none(options) &&
	       !is_told_not(options, feature) &&
	       !(feature->needs && is_told_not(options, find_feature(feature->needs)));
}

/* --- Options for mke2fs ------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add_option(struct mke2fs_words *words, const char *format, ...)
{
	const size_t room = sizeof(*words->options);
	va_list arguments;

	assert(words->option_count < sizeof(words->options) / room);
	va_start(arguments, format);
	vsnprintf(words->options[words->option_count++], room, format, arguments);
	va_end(arguments);
}

__attribute__((format(printf, 4, 5))) static void add_extended(struct mke2fs_words *words,
                                                               const struct populate_options *options, const char *name,
                                                               const char *format, ...)
{
	size_t used = strlen(words->extended);
	va_list arguments;

	if (extended_has(options->extended, name))
		return;
	used += (size_t)snprintf(words->extended + used, sizeof(words->extended) - used, ",%s=", name);
	va_start(arguments, format);
	vsnprintf(words->extended + used, sizeof(words->extended) - used, format, arguments);
	va_end(arguments);
}

static void add_features(const struct likeness *like, const struct populate_options *options,
                         struct mke2fs_words *words)
{
	size_t used = (size_t)snprintf(words->features, sizeof(words->features), "none");

	for (size_t i = 0; i < FEATURES; i++)
		if (has_feature(like, options, &features[i]))
			used += (size_t)snprintf(words->features + used, sizeof(words->features) - used, ",%s",
			                         features[i].name);
	assert(used < sizeof(words->features));
}

/* mke2fs counts a journal in MiB, and wants it to have 1024 blocks. */
static void add_journal(const struct likeness *like, uint32_t block_bytes, struct mke2fs_words *words)
{
	const uint64_t bytes = like->journal_blocks << (like->super.s_log_block_size + EXT2_MIN_BLOCK_LOG_SIZE);
	const uint64_t least = UINT64_C(1024) * block_bytes;

	add_option(words, "-Jsize=%" PRIu64, ((bytes > least ? bytes : least) + (1u << 20) - 1) >> 20);
}

static void add_quota_types(const struct likeness *like, const struct populate_options *options,
                            struct mke2fs_words *words)
{
	const struct ext2_super_block *super = &like->super;
	const char *types[3] = { super->s_usr_quota_inum ? "usrquota" : NULL,
		                 super->s_grp_quota_inum ? "grpquota" : NULL,
		                 super->s_prj_quota_inum ? "prjquota" : NULL };
	char list[64] = "";

	for (int type = 0; type < 3; type++)
		if (types[type])
			strcat(strcat(list, *list ? ":" : ""), types[type]);
	if (*list)
		add_extended(words, options, "quotatype", "%s", list);
}

/* Options that mke2fs takes only with a feature. */
static void add_of_features(const struct likeness *like, const struct populate_options *options, uint32_t block_bytes,
                            struct mke2fs_words *words)
{
	const struct ext2_super_block *super = &like->super;

#define HAS(name) has_feature(like, options, find_feature(name))
	if (HAS("has_journal") && block_bytes && like->journal_blocks && !is_given(options, 'J'))
		add_journal(like, block_bytes, words);
	if (HAS("flex_bg") && super->s_log_groups_per_flex && !is_given(options, 'G'))
		add_option(words, "-G%u", 1u << super->s_log_groups_per_flex);
	if (HAS("bigalloc") && block_bytes && !is_given(options, 'C'))
		add_option(words, "-C%u", 1u << (super->s_log_cluster_size + EXT2_MIN_CLUSTER_LOG_SIZE));
	if (HAS("quota"))
		add_quota_types(like, options, words);
	if (HAS("sparse_super2"))
		add_extended(words, options, "num_backup_sb", "%d",
		             !!super->s_backup_bgs[0] + !!super->s_backup_bgs[1]);
	if (HAS("mmp") && super->s_mmp_update_interval)
		add_extended(words, options, "mmp_update_interval", "%u", super->s_mmp_update_interval);
#undef HAS
}

void likeness_words(const struct likeness *like, const struct populate_options *options, uint32_t block_bytes,
                    struct mke2fs_words *words)
{
	const struct ext2_super_block *super = &like->super;

	*words = (struct mke2fs_words){ .option_count = 0 };
	if (!options->usage_given && !is_given(options, 'I'))
		add_option(words, "-I%d", EXT2_INODE_SIZE(super));
	if (are_features_kept(options))
		add_features(like, options, words);
	add_of_features(like, options, block_bytes, words);
	if (super->s_raid_stride)
		add_extended(words, options, "stride", "%u", super->s_raid_stride);
	if (super->s_raid_stripe_width)
		add_extended(words, options, "stripe_width", "%u", super->s_raid_stripe_width);
}

uint32_t likeness_block_bytes(const struct likeness *like, const struct populate_options *options)
{
	return like->is_wanted && !options->block_size_given && !options->usage_given ?
	               1u << (like->super.s_log_block_size + EXT2_MIN_BLOCK_LOG_SIZE) :
	               0;
}

/* --- The superblock ----------------------------------------------------------------------------------------------- */

/* The same part of the blocks. */
static uint64_t reserved_blocks(const struct likeness *like, const struct ext2_super_block *super)
{
	const struct ext2_super_block *source = &like->super;
	uint64_t of = wide(source, source->s_blocks_count, source->s_blocks_count_hi);
	uint64_t reserved = wide(source, source->s_r_blocks_count, source->s_r_blocks_count_hi);
	uint64_t blocks = wide(super, super->s_blocks_count, super->s_blocks_count_hi);

	/* e2fsck(8) takes more than half for damage. */
	reserved = reserved > of / 2 ? of / 2 : reserved;
	return (uint64_t)((unsigned __int128)blocks * reserved / of);
}

/* Names are hashed as in the source if both have indexed directories. */
static bool keeps_hash(const struct likeness *like, const struct ext2_super_block *super)
{
	return like->super.s_feature_compat & super->s_feature_compat & EXT2_FEATURE_COMPAT_DIR_INDEX &&
	       like->super.s_def_hash_version <= EXT2_HASH_TEA;
}

static bool keeps_encoding(const struct likeness *like, const struct populate_options *options,
                           const struct ext2_super_block *super)
{
	return like->super.s_feature_incompat & super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_CASEFOLD &&
	       like->super.s_encoding == super->s_encoding && !extended_has(options->extended, "encoding_flags");
}

void likeness_apply(const struct likeness *like, const struct populate_options *options, struct ext2_super_block *super)
{
	const struct ext2_super_block *source = &like->super;
	const uint32_t hash_flags = EXT2_FLAGS_SIGNED_HASH | EXT2_FLAGS_UNSIGNED_HASH;

	for (size_t i = 0; i < FIELDS; i++)
		if (!fields[i].is_made && is_kept(&fields[i], options))
			memcpy((char *)super + fields[i].offset, (const char *)source + fields[i].offset,
			       fields[i].bytes);
	if (!is_given(options, 'm')) {
		uint64_t reserved = reserved_blocks(like, super);

		super->s_r_blocks_count = (uint32_t)reserved;
		super->s_r_blocks_count_hi = (uint32_t)(reserved >> 32);
	}
	if (keeps_hash(like, super)) {
		super->s_def_hash_version = source->s_def_hash_version;
		if (source->s_flags & hash_flags)
			super->s_flags = (super->s_flags & ~hash_flags) | (source->s_flags & hash_flags);
	}
	if (keeps_encoding(like, options, super))
		super->s_encoding_flags = source->s_encoding_flags;
	if (super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_ENCRYPT)
		memcpy(super->s_encrypt_pw_salt, source->s_encrypt_pw_salt, sizeof(super->s_encrypt_pw_salt));
}

static bool lacks_identity(const void *uuid)
{
	return uuid_is_null(uuid);
}

void likeness_identify(const struct likeness *like, struct identity *identity)
{
	if (!lacks_identity(like->super.s_uuid))
		uuid_unparse_lower(like->super.s_uuid, identity->uuid);
	if (!lacks_identity(like->super.s_hash_seed))
		uuid_unparse_lower((const unsigned char *)like->super.s_hash_seed, identity->hash_seed);
}

/* Bits of a feature word that the image should have and has not. */
static bool lacks_features(const struct likeness *like, const struct populate_options *options,
                           const struct ext2_super_block *super)
{
	uint32_t has[FEATURE_WORDS];

	read_features(super, has);
	for (size_t i = 0; i < FEATURES; i++)
		if (has_feature(like, options, &features[i]) && !(has[features[i].word] & features[i].bit))
			return true;
	return false;
}

const char *likeness_difference(const struct likeness *like, const struct populate_options *options,
                                const struct ext2_super_block *super)
{
	const struct ext2_super_block *source = &like->super;

	for (size_t i = 0; i < FIELDS; i++) {
		const char *wanted = (const char *)source + fields[i].offset;

		if (!is_kept(&fields[i], options) || (fields[i].is_made && lacks_identity(wanted)) ||
		    (fields[i].is_made && options->stable_from))
			continue;
		if (memcmp((const char *)super + fields[i].offset, wanted, fields[i].bytes))
			return fields[i].name;
	}
	if (lacks_features(like, options, super))
		return "features";
	if (!options->usage_given && !is_given(options, 'I') && EXT2_INODE_SIZE(super) != EXT2_INODE_SIZE(source))
		return "inode size";
	if (!is_given(options, 'm') &&
	    wide(super, super->s_r_blocks_count, super->s_r_blocks_count_hi) != reserved_blocks(like, super))
		return "reserved blocks";
	if (keeps_hash(like, super) && super->s_def_hash_version != source->s_def_hash_version)
		return "hash of names";
	return NULL;
}

/* --- The source --------------------------------------------------------------------------------------------------- */

#define BOOT_BYTES 1024 /* before the superblock */

static errcode_t read_boot_block(const struct volume *volume, struct likeness *like)
{
	static const uint8_t zeros[BOOT_BYTES];
	uint8_t boot[BOOT_BYTES];
	errcode_t error = whole_read(volume->descriptor, boot, sizeof(boot), volume->offset_bytes);

	like->has_boot_code = !error && memcmp(boot, zeros, sizeof(boot));
	return error;
}

/* A fast commit's part is not counted: mke2fs adds one of its own. */
static errcode_t read_inode_sizes(const struct volume *volume, struct likeness *like)
{
	const struct ext2_super_block *super = &volume->superblock;
	SCOPE_FREE void *raw = malloc(volume->format.inode_bytes);
	struct volume_inode inode;

	if (!raw)
		return ENOMEM;
	if (super->s_feature_compat & EXT3_FEATURE_COMPAT_HAS_JOURNAL && super->s_journal_inum &&
	    !volume_inode_read(volume, super->s_journal_inum, raw, &inode))
		like->journal_blocks = inode.all.value.size_bytes >> volume->format.block_bits;
	/* Its inode is damaged. */
	if (like->journal_blocks > volume->geometry.end_block)
		like->journal_blocks = 0;
	if (super->s_feature_compat & EXT4_FEATURE_COMPAT_FAST_COMMIT && like->journal_blocks > 256)
		like->journal_blocks -= 256;
	like->has_bad_blocks = !volume_inode_read(volume, EXT2_BAD_INO, raw, &inode) && inode.all.value.blocks;
	return 0;
}

errcode_t likeness_read(const struct volume *volume, struct likeness *like)
{
	*like = (struct likeness){ .is_wanted = true, .super = volume->superblock };
	errcode_t error = read_boot_block(volume, like);

	return error ? error : read_inode_sizes(volume, like);
}

static void add_loss(struct populate_likeness *report, bool is_lost, const char *name)
{
	if (is_lost)
		report->lost[report->lost_count++] = name;
}

void likeness_report_files(const struct tree *tree, const struct ondisk_format *format,
                           struct populate_likeness *report)
{
	uint64_t files = 0;

	for (uint32_t node = 0; report->is_like && tree->details && node < tree->node_count; node++)
		files += tree_detail(tree, &tree->nodes[node])->unwritten && !tree_node_is_link(tree, node);
	report->preallocated_files = format->extents ? files : 0;
	add_loss(report, files && !format->extents, "preallocated blocks");
}

void likeness_report(const struct likeness *like, const struct populate_options *options,
                     struct populate_likeness *report)
{
	const struct ext2_super_block *super = &like->super;
	uint32_t words[FEATURE_WORDS];

	read_features(super, words);
	for (size_t i = 0; i < FEATURES; i++)
		words[features[i].word] &= ~features[i].bit;
	*report = (struct populate_likeness){ .is_like = true };
	if (!options->uuid && !options->stable_from && !lacks_identity(super->s_uuid))
		uuid_unparse_lower(super->s_uuid, report->uuid);
	add_loss(report, like->has_boot_code, "boot block");
	add_loss(report, like->has_bad_blocks, "list of bad blocks");
	add_loss(report, super->s_feature_compat & EXT3_FEATURE_COMPAT_HAS_JOURNAL && !super->s_journal_inum,
	         "external journal");
	add_loss(report,
	         words[COMPAT] || (words[INCOMPAT] & ~passing[INCOMPAT]) || (words[RO_COMPAT] & ~passing[RO_COMPAT]),
	         "features that mke2fs(8) does not set");
	add_loss(report, super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_QUOTA, "limits of quotas");
	add_loss(report, super->s_creator_os != EXT2_OS_LINUX, "creator");
	add_loss(report, super->s_rev_level == EXT2_GOOD_OLD_REV, "revision 0");
}
