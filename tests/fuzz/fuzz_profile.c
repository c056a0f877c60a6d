/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of ageing. */
#include "fuzz.h"

#include "simulate/ageing/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct fuzz_path path = fuzz_file("profile", bytes, count);
	struct problem problem = { 0 };
	struct profile profile;
	uint64_t random = 1;
	errcode_t error = profile_read(path.text, &profile, &problem);

	fuzz_check_problem(error, &problem);
	if (error)
		return 0;
	FUZZ_CHECK(profile_choose_size(&profile, &random) <= UINT64_C(1) << 44);
	FUZZ_CHECK(profile_mean_size(&profile) > 0);
	FUZZ_CHECK(profile_choose(&profile.depths, &random) < profile.depths.count);
	return 0;
}
