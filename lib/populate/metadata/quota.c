// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/metadata/quota.h"

#include <string.h>
#include <sys/quota.h>

#include "populate/format/child.h"

#define PROJECT_QUOTA 2

/* Of the format that ext4 uses (vfsv1): blocks of 1 KiB; an owner's entry may need one of each of the tree's levels. */
#define OWNER_BYTES (5 * 1024)
#define OWNER_SLOTS 4096u

unsigned int quota_types(const struct ext2_super_block *super)
{
	unsigned int types = 0;

	if (!ext2fs_has_feature_quota((struct ext2_super_block *)(uintptr_t)super))
		return 0;
	types |= super->s_usr_quota_inum ? 1u << USRQUOTA : 0;
	types |= super->s_grp_quota_inum ? 1u << GRPQUOTA : 0;
	types |= super->s_prj_quota_inum ? 1u << PROJECT_QUOTA : 0;
	return types;
}

/* How many owners there are, from above: every slot of a small hash table stands for those that met there. */
uint64_t quota_most_owners(const struct build *build)
{
	const struct tree *tree = build->tree;
	uint8_t seen[3][OWNER_SLOTS] = { { 0 } };
	uint64_t owners = 0, changes = 0;

	for (uint32_t node = 0; node < tree->node_count; node++) {
		uint32_t ids[3] = { tree->nodes[node].uid, tree->nodes[node].gid, build_project(build, node).id };

		for (int type = 0; type < 3; type++) {
			uint8_t *slot = &seen[type][ids[type] * 2654435761u % OWNER_SLOTS];

			owners += !*slot;
			*slot = 1;
			changes++;
		}
	}
	/* A full table says nothing: then every name may have an owner of its own. */
	return owners > OWNER_SLOTS / 2 ? changes : owners;
}

uint64_t quota_most_blocks(uint64_t owners, const struct ondisk_format *format)
{
	return (owners * OWNER_BYTES + 65536) >> format->block_bits;
}

static errcode_t run_tune2fs(const struct populate_options *options, const struct output *output,
                             const char *option, const char *value, struct problem *problem)
{
	/* -f: with mmp it would wait for 11 s whether another host has mounted the image. */
	const char *arguments[] = { "tune2fs", "-f", option, value, output_filesystem(output), NULL };
	const struct child child = {
		.program = "tune2fs",
		.arguments = (char *const *)arguments,
		.path = output->work_path,
		.image_path = options->image,
		.has_epoch = options->has_epoch,
		.epoch = populate_clock(options),
	};

	return child_run(&child, "tune2fs failed", problem);
}

errcode_t quota_rebuild(const struct populate_options *options, const struct output *output, unsigned int types,
                        struct problem *problem)
{
	static const char *const names[QUOTA_TYPES] = { "usrquota", "grpquota", "prjquota" };
	char list[64] = "";

	if (!types)
		return 0;
	for (int type = 0; type < QUOTA_TYPES; type++) {
		if (!(types & 1u << type))
			continue;
		if (*list)
			strcat(list, ",");
		strcat(list, names[type]);
	}
	errcode_t error = run_tune2fs(options, output, "-O", "^quota", problem);

	return error ? error : run_tune2fs(options, output, "-Q", list, problem);
}
