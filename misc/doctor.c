/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/tool.h"
#include "doctor_probes.h"
#include "support/io/whole_io.h"

int doctor_run(const struct command *command)
{
	const char *cache = command->options.layer_cache.path;
	const char *source = command->sources.count ? command->sources.list[0] : NULL;
	struct findings findings = { 0 };
	errcode_t error = 0;

	doctor_probe_host(&findings, command->options.threads);
	doctor_probe_programs(&findings);
	doctor_probe_own_folders(&findings, cache);
	for (size_t i = 0; i < command->sources.count; i++)
		doctor_probe_source(&findings, command->sources.list[i]);
	if (command->options.image)
		doctor_probe_image(&findings, command->options.image, cache ? cache : source);
	if (command->json)
		error = findings_print_json(&findings);
	else
		findings_print(&findings);
	if (!error)
		error = flush_output(stdout);
	int status = findings_fail(&findings) ? EXIT_FAILURE : EXIT_SUCCESS;

	findings_clear(&findings);
	return error ? print_output_failure(error) : status;
}
