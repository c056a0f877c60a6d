// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/metadata/quota.h"

#include <stdio.h>
#include <sys/quota.h>

#include "populate/format/child.h"
#include "populate/format/filesystem.h"

static errcode_t run_tune2fs(const struct build *build, const struct output *output, const char *option,
                             const char *value)
{
	/* -f: with mmp it would wait for 11 s whether another host has mounted the image. */
	const char *arguments[] = { "tune2fs", "-f", option, value, output_filesystem(output), NULL };
	const struct child child = {
		.arguments = arguments,
		.path = output->work_path,
		.image_path = build->options->image,
		.has_epoch = build->options->has_epoch,
		.epoch = populate_clock(build->options),
	};

	return child_run(&child, "tune2fs failed", build->problem);
}

errcode_t quota_rebuild(const struct build *build, const struct output *output)
{
	unsigned int types = build->quota_types;
	char list[64];

	if (!types)
		return 0;
	snprintf(list, sizeof(list), "%s%s%s", types & 1u << USRQUOTA ? "usrquota," : "",
	         types & 1u << GRPQUOTA ? "grpquota," : "", types & 1u << PRJQUOTA ? "prjquota" : "");
	errcode_t error = run_tune2fs(build, output, "-O", "^quota");

	return error ? error : run_tune2fs(build, output, "-Q", list);
}
