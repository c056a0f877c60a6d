/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/kind/folder_sum.h"

#include "tree/name_table.h"

#define NOBODY 65534 /* as Linux shows whom it cannot name, unless it is told to take another one */

/* Any two different numbers: they make two hashes of one. */
#define LOW_SEED UINT64_C(0x8bb84b93962eacc9)
#define HIGH_SEED UINT64_C(0x2d358dccaa6c78a5)

struct description {
	uint64_t type, owner, device, bytes, mtime, ctime, nanoseconds;
};

uint64_t folder_sum_key(uint64_t parent_key, const char *name, size_t name_bytes)
{
	return name_hash_wide(parent_key ^ LOW_SEED, name, name_bytes);
}

void folder_sum_add(struct folder_sum *sum, uint64_t key, const char *name, size_t name_bytes,
                    const struct stat *status, bool has_outputs)
{
	bool is_directory = S_ISDIR(status->st_mode);
	struct description description = {
		.type = status->st_mode,
		.owner = (uint64_t)status->st_uid << 32 | status->st_gid,
		/* A directory's size depends on the names that it once had. */
		.bytes = is_directory ? 0 : (uint64_t)status->st_size,
		.device = S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode) ? status->st_rdev : 0,
	};

	if (!has_outputs) {
		description.mtime = (uint64_t)status->st_mtim.tv_sec;
		description.ctime = (uint64_t)status->st_ctim.tv_sec;
		description.nanoseconds = (uint64_t)status->st_mtim.tv_nsec << 32 | (uint64_t)status->st_ctim.tv_nsec;
	}
	uint64_t low = name_hash_wide(key ^ LOW_SEED, name, name_bytes);
	uint64_t high = name_hash_wide(key ^ HIGH_SEED, name, name_bytes);

	sum->low += name_hash_wide(low, (const char *)&description, sizeof(description));
	sum->high += name_hash_wide(high, (const char *)&description, sizeof(description));
	sum->names += name_bytes > 0;
	sum->bytes += S_ISREG(status->st_mode) ? (uint64_t)status->st_size : 0;
	sum->of_nobody += status->st_uid == NOBODY || status->st_gid == NOBODY;
}

void folder_sum_join(struct folder_sum *sum, const struct folder_sum *more)
{
	sum->names += more->names;
	sum->bytes += more->bytes;
	sum->of_nobody += more->of_nobody;
	sum->low += more->low;
	sum->high += more->high;
}
