/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/build/identity.h"

#include <endian.h>
#include <nettle/sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <uuid/uuid.h>

#include "support/crc32c.h"

/* The name space of our own UUIDs (RFC 4122, version 5). It was drawn once and must never change. */
static const uuid_t name_space = { 0x5c, 0x1e, 0x70, 0x9d, 0x2b, 0x4a, 0x4f, 0x6e,
	                           0x9a, 0x83, 0xd7, 0x3c, 0x64, 0xe0, 0x18, 0xb5 };

/* A digest of 64 bits is long enough against accidents, and it is no secret. */
struct digest {
	uint32_t low, high;
};

static void add_bytes(struct digest *digest, const void *bytes, size_t count)
{
	digest->low = crc32c(digest->low, bytes, count);
	/* The two halves see different streams: a CRC of the same bytes with another seed would add nothing. */
	uint32_t step = htole32(digest->low ^ (uint32_t)count);

	digest->high = crc32c(digest->high * 0x9e3779b1u, &step, sizeof(step));
}

/* Adds the same bytes on every machine. */
static void add_number(struct digest *digest, uint64_t number)
{
	uint64_t bytes = htole64(number);

	add_bytes(digest, &bytes, sizeof(bytes));
}

static void add_detail(struct digest *digest, const struct tree_detail *detail, const struct populate_options *options)
{
	const struct tree_time *times[] = { &detail->atime, &detail->ctime, &detail->crtime };

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		const struct tree_time time = populate_time(options, *times[i]);

		add_number(digest, times[i]->is_known);
		add_number(digest, (uint64_t)time.seconds);
		add_number(digest, time.nanoseconds);
	}
}

static void add_verity(struct digest *digest, uint32_t node, const struct tree_verity *verity)
{
	if (!verity)
		return;
	add_number(digest, node);
	add_number(digest, (uint64_t)verity->algorithm << 16 | verity->block_bits << 8 | verity->salt_bytes);
	add_bytes(digest, verity->salt, sizeof(verity->salt));
	add_bytes(digest, verity->signature ? verity->signature : "", verity->signature_bytes);
}

static void add_node(struct digest *digest, const struct tree_node *node, const struct populate_options *options)
{
	/* The time counts as it is stored: sources rebuilt for the same epoch give the same digest. */
	const struct tree_time mtime =
		populate_time(options, (struct tree_time){ node->mtime_seconds, node->mtime_nanoseconds, true });
	uint64_t fields[] = {
		node->mode,   node->uid,     node->gid,    (uint64_t)mtime.seconds, mtime.nanoseconds, node->size_bytes,
		node->parent, node->link_to, node->xattrs,
	};

	for (size_t field = 0; field < sizeof(fields) / sizeof(*fields); field++)
		fields[field] = htole64(fields[field]);
	/* The name counts with its terminating NUL, so that neighbouring names do not run together. */
	add_bytes(digest, node->name, node->name_bytes + 1u);
	add_bytes(digest, fields, sizeof(fields));
	if (S_ISLNK(node->mode))
		add_bytes(digest, node->target, node->size_bytes);
	if (S_ISCHR(node->mode) || S_ISBLK(node->mode)) {
		const uint32_t device[] = { htole32(node->device.major), htole32(node->device.minor) };

		add_bytes(digest, device, sizeof(device));
	}
}

static void derive(const struct digest *digest, const char *purpose, char text[IDENTITY_TEXT_BYTES])
{
	char name[64];
	uuid_t uuid;
	int length = snprintf(name, sizeof(name), "%s %08x%08x", purpose, digest->high, digest->low);

	uuid_generate_sha1(uuid, name_space, name, (size_t)length);
	uuid_unparse_lower(uuid, text);
}

/* The digest covers the tree's names and metadata, the options for mke2fs and the epoch; contents are not read. */
static struct digest digest_of(const struct tree *tree, const struct populate_options *options)
{
	struct digest digest = { .low = ~0u, .high = ~0u };

	add_number(&digest, (uint64_t)options->epoch);
	for (char *const *option = options->mke2fs; option && *option; option++)
		add_bytes(&digest, *option, strlen(*option) + 1);
	if (options->extended)
		add_bytes(&digest, options->extended, strlen(options->extended) + 1);
	for (char *const *path = options->casefolded; path && *path; path++)
		add_bytes(&digest, *path, strlen(*path) + 1);
	for (uint32_t node = 0; node < tree->node_count; node++)
		add_node(&digest, &tree->nodes[node], options);
	for (uint32_t node = 0; tree->details && node < tree->node_count; node++)
		add_verity(&digest, node, tree_detail(tree, &tree->nodes[node])->verity);
	for (uint32_t node = 0; options->all_times && node < tree->node_count; node++)
		add_detail(&digest, tree_detail(tree, &tree->nodes[node]), options);
	return digest;
}

static void draw(char text[IDENTITY_TEXT_BYTES])
{
	uuid_t uuid;

	uuid_generate(uuid);
	uuid_unparse_lower(uuid, text);
}

void identity_choose(const struct tree *tree, const struct populate_options *options, struct identity *identity)
{
	if (!options->has_epoch) {
		draw(identity->uuid);
		draw(identity->hash_seed);
		return;
	}
	const struct digest digest = digest_of(tree, options);

	derive(&digest, "uuid", identity->uuid);
	derive(&digest, "hash seed", identity->hash_seed);
}

struct tree_identity identity_of_tree(const char *filesystem_uuid)
{
	static const char purpose[] = "dm-verity salt ", uuid_purpose[] = "dm-verity UUID ";
	struct tree_identity identity;
	struct sha256_ctx state;
	char name[sizeof(uuid_purpose) + IDENTITY_TEXT_BYTES];
	int length = snprintf(name, sizeof(name), "%s%s", uuid_purpose, filesystem_uuid);

	sha256_init(&state);
	sha256_update(&state, sizeof(purpose) - 1, (const uint8_t *)purpose);
	sha256_update(&state, strlen(filesystem_uuid), (const uint8_t *)filesystem_uuid);
	sha256_digest(&state, sizeof(identity.salt), identity.salt);
	uuid_generate_sha1(identity.uuid, name_space, name, (size_t)length);
	return identity;
}
