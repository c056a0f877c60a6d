/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "against_option.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/forms/form_delta.h"
#include "command/tool.h"
#include "output/output.h"
#include "support/io/same_file.h"

/* The average of casync's and desync's chunks. */
#define USUAL_CHUNK_BYTES (UINT64_C(64) << 10)

void against_check(struct against *against)
{
	if (!against->old && against->chunk_bytes)
		usage_error("--against-chunk works only with --against");
	if (!against->old && against->ranges)
		usage_error("--against-ranges works only with --against");
	if (against->chunk_bytes & (against->chunk_bytes - 1))
		usage_error("--against-chunk: %" PRIu64 " is not a power of two", against->chunk_bytes);
	if (against->ranges && strcmp(against->ranges, "-") == 0)
		usage_error("--against-ranges cannot write to standard output, where the report goes: name a file (./- "
		            "for one called -)");
	if (!against->chunk_bytes)
		against->chunk_bytes = USUAL_CHUNK_BYTES;
}

errcode_t against_name_ranges(const struct against *against, struct run_files *files)
{
	return against->ranges ? run_files_write(files, "against-ranges", against->ranges) : 0;
}

errcode_t against_write_ranges(const struct against *against, const char *image, const struct delta *delta,
                               struct problem *problem)
{
	static const char action[] = "cannot write the ranges";
	struct delta copy = *delta;
	struct stat status;

	if (!against->ranges)
		return 0;
	bool exists = stat(against->ranges, &status) == 0;

	if (exists && S_ISBLK(status.st_mode))
		return problem_set_reason(problem, EINVAL, against->ranges, action, "it is a device");
	if (exists && (is_same_file(image, &status) || is_same_file(against->old, &status)))
		return problem_set_reason(problem, EINVAL, against->ranges, action, "it is one of the images");
	return text_file_write(against->ranges, form_delta_ranges, &copy, action, problem);
}
