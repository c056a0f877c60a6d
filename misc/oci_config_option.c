/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oci_config_option.h"

#include <stdlib.h>
#include <string.h>

#include "command/tool.h"
#include "output/output.h"
#include "support/io/same_file.h"

void oci_config_check(const struct populate_options *options)
{
	const char *path = options->oci_config;
	const char *const others[] = { options->image, options->against, options->stable_from,
		                       options->dm_verity.target, options->dm_verity.root_hash_path };
	struct problem problem = { 0 };

	if (!path)
		return;
	if (!*path || strcmp(path, "-") == 0)
		usage_error("--oci-config: name a file (./- for one called -)");
	if (options->size_only)
		usage_error("--oci-config: --size-only writes nothing");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i] && would_be_same_file(path, others[i]))
			usage_error("--oci-config: %s is another file of this run", path);
	if (text_file_examine(path, &problem)) {
		print_problem(&problem);
		exit(EXIT_FAILURE);
	}
}

static errcode_t print_text(void *context, FILE *stream)
{
	fputs(context, stream);
	return 0;
}

errcode_t oci_config_write(const struct populate_options *options, const struct populate_report *report,
                           struct problem *problem)
{
	if (!options->oci_config)
		return 0;
	return text_file_write(options->oci_config, print_text, report->configuration.text,
	                       "cannot write the image's configuration", problem);
}
