/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/against.h"

#include <errno.h>
#include <sys/stat.h>

#include "disk/place.h"
#include "support/io/same_file.h"

errcode_t against_open(const struct update_options *options, struct delta_old *old, struct problem *problem)
{
	*old = (struct delta_old){ .descriptor = -1 };
	if (!options->against)
		return 0;
	if (!options->makes_new_file && is_same_storage(options->against, options->image))
		return problem_set_reason(problem, EINVAL, options->against, "cannot compare with it",
		                          "it is what is to be changed; give a copy of it, or --new-file");
	return place_open_old(options->against,
	                      &(struct place_options){ .offset_bytes = options->offset_bytes,
	                                               .most_unpacked_bytes = options->limits.unpacked_bytes },
	                      old, problem);
}

void against_close(struct delta_old *old)
{
	delta_old_close(old);
}

errcode_t against_compare(const struct update_options *options, const char *path, struct pool *pool,
                          struct delta_old *old, struct delta *delta, struct problem *problem)
{
	struct problem opening = { 0 };
	struct volume volume;
	struct stat status;

	if (old->descriptor < 0)
		return 0;
	errcode_t error = volume_open(path, options->offset_bytes, &volume, &opening);

	problem_clear(&opening);
	if (!error) {
		bool is_file = !fstat(volume.descriptor, &status) && S_ISREG(status.st_mode);
		const struct delta_options what = { options->against_chunk_bytes, is_file && !options->offset_bytes };

		error = delta_read(&volume, old, &what, pool, delta, problem);
		volume_close(&volume);
	}
	delta_old_close(old);
	return error ? problem_set(problem, error, options->image,
	                           options->makes_new_file ?
	                                   "cannot compare it with the older image" :
	                                   "the update is done, but it cannot be compared with the older image") :
	               0;
}
