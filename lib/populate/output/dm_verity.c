/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/output/dm_verity.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/base16.h>
#include <string.h>
#include <sys/stat.h>
#include <uuid/uuid.h>

#include "support/io/same_file.h"
#include "support/io/whole_io.h"

/* veritysetup's data block size, which is also the largest for which all of Linux's machines have pages. */
#define USUAL_BLOCK_BYTES 4096u

static const struct {
	const struct nettle_hash *hash;
	const char *name; /* the kernel's */
} algorithms[] = {
	[DM_VERITY_SHA256] = { &nettle_sha256, "sha256" },
	[DM_VERITY_SHA512] = { &nettle_sha512, "sha512" },
};

static bool is_wanted(const struct workplace *work)
{
	return work->options->dm_verity.target != NULL;
}

static bool is_appended(const struct workplace *work)
{
	return work->options->dm_verity.is_appended;
}

static unsigned int bits_of(uint32_t bytes)
{
	return (unsigned int)__builtin_ctz(bytes);
}

static uint32_t hash_block_bytes(const struct populate_options *options)
{
	return options->dm_verity.hash_block_bytes ? options->dm_verity.hash_block_bytes : USUAL_BLOCK_BYTES;
}

/* --- The files ---------------------------------------------------------------------------------------------------- */

static errcode_t refuse_same(const char *path, const char *other, const char *reason, struct problem *problem)
{
	return would_be_same_file(path, other) ?
	               problem_set_reason(problem, EINVAL, path, "cannot create", "%s", reason) :
	               0;
}

/* A device is overwritten before an older image has been read; what a file holds is replaced in the end. */
static errcode_t refuse_old(const struct output *output, const char *old, const char *action, struct problem *problem)
{
	if (!old || !output->is_device || !is_same_storage(output->path, old))
		return 0;
	return problem_set_reason(problem, EINVAL, old, action,
	                          "it is what the hash tree is to be written to (--dm-verity=%s); give a copy of it",
	                          output->path);
}

static errcode_t examine_root_hash(const struct populate_options *options, struct problem *problem)
{
	const char *path = options->dm_verity.root_hash_path;
	struct stat status;

	if (!path)
		return 0;
	if (stat(path, &status) == 0 && S_ISBLK(status.st_mode))
		return problem_set_reason(problem, EINVAL, path, "cannot write the root hash", "it is a device");
	errcode_t error = refuse_same(path, options->image, "the root hash would take the image's place", problem);

	return error || options->size_only ? error : text_file_examine(path, problem);
}

static errcode_t examine_target(struct dm_verity *verity, const struct populate_options *options,
                                struct problem *problem)
{
	struct output *output = &verity->output;

	output->path = options->dm_verity.target;
	output->advice = options->size_only ? NULL : "remove it, or take another name";
	errcode_t error = output_examine(output, problem);

	verity->most_bytes = output->is_device ? output->existing_bytes : 0;
	if (!error)
		error = refuse_old(output, options->against, "cannot compare with it", problem);
	if (!error)
		error = refuse_old(output, options->stable_from, "cannot keep its layout", problem);
	if (error || output->is_device || options->size_only)
		return error;
	error = output_examine_folder(output->path);
	return error ? problem_set(problem, error, output->path, "cannot create") : 0;
}

/*
 * Returns the smallest blocks that a filesystem of this size may get. They are not known before mke2fs has made it, and
 * dm-verity's data blocks are never larger. Without -b mke2fs.conf gives blocks of 1 KiB below 512 MiB, and we ask for
 * 4 KiB from 8 MiB on (populate/size/default_blocks.h).
 */
static uint32_t least_block_bytes(const struct populate_options *options, uint64_t bytes)
{
	bool asks = options->own_defaults && !options->usage_given && !options->stable_from;
	unsigned long given = 0;
	char *end = NULL;

	if (!options->block_size_given)
		return bytes < (asks ? UINT64_C(8) : UINT64_C(512)) << 20 ? 1024 : USUAL_BLOCK_BYTES;
	for (char *const *option = options->mke2fs; *option; option++)
		if (strncmp(*option, "-b", 2) == 0)
			given = strtoul(*option + 2, &end, 10);
	return end && !*end && given >= 1024 && given < USUAL_BLOCK_BYTES ? (uint32_t)given :
	       end && !*end && given >= USUAL_BLOCK_BYTES                 ? USUAL_BLOCK_BYTES :
	                                                                    1024;
}

/* Returns where the hashes end if they follow this many bytes of data. */
static errcode_t appended_end(const struct populate_options *options, uint64_t data_bytes, uint64_t *end)
{
	const uint32_t given = options->dm_verity.data_block_bytes, hash_bytes = hash_block_bytes(options);
	const struct hash_tree_form form = {
		.hash = algorithms[options->dm_verity.algorithm].hash,
		.data_block_bits = bits_of(given ? given : least_block_bytes(options, data_bytes)),
		.hash_block_bits = bits_of(hash_bytes),
	};
	struct hash_tree tree;
	errcode_t error = hash_tree_init(&tree, &form, data_bytes);

	*end = error ? 0 : dm_verity_tree_offset(data_bytes, hash_bytes) + hash_tree_bytes(&tree);
	return error;
}

/* A filesystem that fills an existing file or device leaves room for its hashes. */
static errcode_t leave_room(struct dm_verity *verity, const struct populate_options *options, struct output *image)
{
	uint64_t end;

	if (image->is_device)
		verity->most_bytes = image->existing_bytes;
	if (options->size || !image->existing_bytes)
		return 0;
	errcode_t error = appended_end(options, image->existing_bytes, &end);
	uint64_t needed = end - image->existing_bytes + USUAL_BLOCK_BYTES;

	if (!error && needed < image->existing_bytes)
		image->existing_bytes = (image->existing_bytes - needed) / USUAL_BLOCK_BYTES * USUAL_BLOCK_BYTES;
	return error;
}

errcode_t dm_verity_examine(struct dm_verity *verity, const struct workplace *work, struct output *image)
{
	const struct populate_options *options = work->options;
	const char *target = options->dm_verity.target, *root_hash = options->dm_verity.root_hash_path;

	if (!is_wanted(work))
		return 0;
	errcode_t error = examine_root_hash(options, work->problem);

	if (!error && is_appended(work))
		return workplace_result(work, leave_room(verity, options, image), "cannot plan its hash tree");
	if (!error)
		error = refuse_same(target, options->image,
		                    "it is the image; --dm-verity=append puts the hash tree after the filesystem",
		                    work->problem);
	if (!error && root_hash)
		error = refuse_same(root_hash, target, "the root hash would take the hash tree's place", work->problem);
	return error ? error : examine_target(verity, options, work->problem);
}

static const char *target_path(const struct workplace *work)
{
	return is_appended(work) ? work->options->image : work->options->dm_verity.target;
}

/* --- The layout --------------------------------------------------------------------------------------------------- */

/* -U may also tell mke2fs how to choose a UUID; then ours is as good. */
static struct tree_identity derive_identity(const struct populate_options *options, const struct identity *identity)
{
	char text[IDENTITY_TEXT_BYTES];
	uuid_t uuid;

	if (!options->uuid || uuid_parse(options->uuid, uuid))
		return identity_of_tree(identity->uuid);
	uuid_unparse_lower(uuid, text);
	return identity_of_tree(text);
}

static void choose_identity(struct dm_verity_value *value, const struct populate_options *options,
                            const struct identity *identity)
{
	const struct dm_verity_options *own = &options->dm_verity;
	const struct tree_identity derived = derive_identity(options, identity);

	value->salt_bytes = own->has_salt ? own->salt_bytes : sizeof(derived.salt);
	memcpy(value->salt, own->has_salt ? own->salt : derived.salt, value->salt_bytes);
	memcpy(value->uuid, own->has_uuid ? own->uuid : derived.uuid, sizeof(value->uuid));
}

static errcode_t check_data_blocks(const struct filesystem_room *room, const struct workplace *work)
{
	const uint32_t given = work->options->dm_verity.data_block_bytes;

	if (given <= room->format.block_bytes)
		return 0;
	return problem_set_reason(work->problem, EINVAL, work->options->image, "cannot make its hash tree",
	                          "Linux mounts no filesystem whose blocks are smaller than those of its device; "
	                          "--dm-verity-data-block-size must be at most %" PRIu32,
	                          room->format.block_bytes);
}

static void encode_digits(char *digits, const uint8_t *bytes, size_t count)
{
	base16_encode_update(digits, count, bytes);
	digits[2 * count] = '\0';
}

static void fill_report(const struct dm_verity *verity, uint64_t end_bytes, struct populate_report *report)
{
	const struct dm_verity_value *value = &verity->value;
	struct populate_dm_verity *own = &report->dm_verity;

	own->algorithm = value->algorithm;
	own->data_block_bytes = value->data_block_bytes;
	own->hash_block_bytes = value->hash_block_bytes;
	own->data_blocks = value->data_blocks;
	own->offset_bytes = verity->offset_bytes;
	own->bytes = end_bytes - verity->offset_bytes;
	encode_digits(own->salt, value->salt, value->salt_bytes);
	uuid_unparse_lower(value->uuid, own->uuid);
}

errcode_t dm_verity_lay_out(struct dm_verity *verity, const struct identity *identity,
                            const struct filesystem_room *room, const struct workplace *work,
                            struct populate_report *report)
{
	const struct populate_options *options = work->options;
	struct dm_verity_value *value = &verity->value;
	const uint64_t data_bytes = room->blocks << room->format.block_bits;
	const uint32_t usual =
		room->format.block_bytes < USUAL_BLOCK_BYTES ? room->format.block_bytes : USUAL_BLOCK_BYTES;

	if (!is_wanted(work))
		return 0;
	errcode_t error = check_data_blocks(room, work);

	if (error)
		return error;
	value->algorithm = algorithms[options->dm_verity.algorithm].name;
	value->data_block_bytes = options->dm_verity.data_block_bytes ? options->dm_verity.data_block_bytes : usual;
	value->hash_block_bytes = hash_block_bytes(options);
	value->data_blocks = data_bytes / value->data_block_bytes;
	choose_identity(value, options, identity);
	const struct hash_tree_form form = {
		.hash = algorithms[options->dm_verity.algorithm].hash,
		.data_block_bits = bits_of(value->data_block_bytes),
		.hash_block_bits = bits_of(value->hash_block_bytes),
		.salt = value->salt,
		.salt_bytes = value->salt_bytes,
	};

	error = dm_verity_tree_init(&verity->tree, &form, data_bytes);
	verity->offset_bytes = is_appended(work) ? data_bytes : 0;
	verity->tree.hashes.offset_bytes = dm_verity_tree_offset(verity->offset_bytes, value->hash_block_bytes);
	const uint64_t end_bytes = verity->tree.hashes.offset_bytes + hash_tree_bytes(&verity->tree.tree);

	if (!error && verity->most_bytes && end_bytes > verity->most_bytes)
		return problem_set_reason(
			work->problem, EXT2MB_ET_NO_SPACE, target_path(work), "the hash tree does not fit",
			"with it %" PRIu64 " bytes are needed, and there are %" PRIu64 "%s", end_bytes,
			verity->most_bytes, is_appended(work) ? "; use a smaller SIZE" : "");
	fill_report(verity, end_bytes, report);
	return workplace_result(work, error, "cannot plan its hash tree");
}

/* --- Writing ------------------------------------------------------------------------------------------------------ */

/* Gives the file its final length, so that no unwritten part lies beyond its end. */
static errcode_t prepare_file(const struct dm_verity *verity, int descriptor, bool is_ours)
{
	const uint64_t end = verity->tree.hashes.offset_bytes + hash_tree_bytes(&verity->tree.tree);
	static const uint8_t zeros[DM_VERITY_SUPERBLOCK_BYTES];
	struct stat status;

	if (fstat(descriptor, &status) < 0)
		return errno;
	/* A device must have no superblock until the tree is complete. */
	if (!S_ISREG(status.st_mode))
		return is_ours ? whole_write(descriptor, zeros, sizeof(zeros), 0) : 0;
	if (is_ours ? (uint64_t)status.st_size == end : (uint64_t)status.st_size >= end)
		return 0;
	return ftruncate(descriptor, (off_t)end) < 0 ? errno : 0;
}

errcode_t dm_verity_begin(struct dm_verity *verity, struct image_file *image, const struct workplace *work)
{
	struct dm_verity_tree *tree = &verity->tree;
	struct stat status;
	errcode_t error = 0;

	if (!is_wanted(work))
		return 0;
	if (!is_appended(work) && !verity->is_open)
		error = output_open(&verity->output, work->problem);
	if (error)
		return error;
	verity->is_open = true;
	tree->hashes.descriptor = is_appended(work) ? image->image.descriptor : verity->output.descriptor;
	tree->hashes.path = target_path(work);
	tree->data = (struct file_part){ image->image.descriptor, image->image.offset_bytes, work->options->image };
	tree->has_holes = fstat(tree->data.descriptor, &status) == 0 && S_ISREG(status.st_mode);
	error = prepare_file(verity, tree->hashes.descriptor, !is_appended(work));
	leaf_hashes_free(&verity->leaves);
	verity->leaves = leaf_hashes_create(&tree->tree, tree->hashes.descriptor, tree->hashes.offset_bytes);
	tree->leaves = &verity->leaves;
	image->sink.leaves = &verity->leaves;
	return error ? problem_set(work->problem, error, tree->hashes.path, "cannot make the hash tree") : 0;
}

static errcode_t write_superblock(const struct dm_verity *verity)
{
	const size_t bytes = (size_t)(verity->tree.hashes.offset_bytes - verity->offset_bytes);
	SCOPE_FREE uint8_t *super = calloc(1, bytes);

	if (!super)
		return ENOMEM;
	dm_verity_encode(&verity->value, super);
	return whole_write(verity->tree.hashes.descriptor, super, bytes, verity->offset_bytes);
}

errcode_t dm_verity_write(struct dm_verity *verity, const struct workplace *work, struct populate_report *report)
{
	const struct dm_verity_tree *tree = &verity->tree;
	uint8_t root[HASH_TREE_MOST_DIGEST_BYTES];

	if (!is_wanted(work))
		return 0;
	progress_stage(work->options->progress, "hash", verity->value.data_blocks * verity->value.data_block_bytes, 0);
	errcode_t error = dm_verity_tree_write(tree, work->pool, work->options->progress, root, work->problem);

	if (error)
		return error;
	error = write_superblock(verity);
	if (error)
		return problem_set(work->problem, error, tree->hashes.path, "cannot write");
	encode_digits(verity->root_digits, root, tree->tree.hash->digest_size);
	memcpy(report->dm_verity.root_hash, verity->root_digits, sizeof(verity->root_digits));
	return 0;
}

static errcode_t write_root_hash(void *context, FILE *stream)
{
	const struct dm_verity *verity = context;

	/* There is no newline at the end: veritysetup writes none. */
	return fprintf(stream, "%s", verity->root_digits) < 0 ? EIO : 0;
}

/*
 * Carries out each step for all files before the next step. The image comes last: once it has its name, so do the
 * others.
 */
static errcode_t finish_all(struct output *const *outputs, size_t count, struct problem *problem)
{
	errcode_t (*const steps[])(struct output *, struct problem *) = { output_settle, output_link, output_name };
	errcode_t error = 0;

	for (size_t step = 0; step < sizeof(steps) / sizeof(*steps); step++)
		for (size_t i = 0; !error && i < count; i++)
			error = steps[step](outputs[i], problem);
	return error;
}

errcode_t dm_verity_finish(struct dm_verity *verity, struct output *image, const struct workplace *work)
{
	const char *root_hash = work->options->dm_verity.root_hash_path;
	struct output text = { .descriptor = -1 }, *outputs[3];
	errcode_t error = 0;
	size_t count = 0;

	if (root_hash)
		error = text_file_open(root_hash, write_root_hash, verity, &text, work->problem);
	if (error)
		problem_set(work->problem, error, root_hash, "cannot write the root hash");
	if (text.descriptor >= 0)
		outputs[count++] = &text;
	if (is_wanted(work) && !is_appended(work))
		outputs[count++] = &verity->output;
	outputs[count++] = image;
	if (!error)
		error = finish_all(outputs, count, work->problem);
	output_close(&text);
	return error;
}

void dm_verity_release(struct dm_verity *verity)
{
	output_close(&verity->output);
	leaf_hashes_free(&verity->leaves);
}
