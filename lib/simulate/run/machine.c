/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/run/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/cleanup.h"
#include "support/text/units.h"

#define MOST_NANOSECONDS 1000000000u
#define LEAST_NUMBERS 5 /* of the seven */

/*
 * call and shared are fitted to the rate of one processor and to that of the most processors with the best policy,
 * handover to that of the most processors with base (kunpeng-920, amd-9654) or with a locked orphan file
 * (xeon-truncate), line to linear scans after patch 4, waiter to 29 clients, far to 3 of them; doc/results/seeds.md
 * compares the other published figures.
 */
const struct machine machine_presets[] = {
	{ "kunpeng-920", 2150, 100, 1240, 0, 605, 0, 240 },
	{ "amd-9654", 4500, 60, 950, 0, 190, 0, 55 },
	{ "xeon-truncate", 1300, 60, 1150, 0, 2050, 0, 1150 },
	{ "xeon-creat-clo", 53000, 60, 300, 2600, 14500, 36000, 300 },
	{ 0 },
};

errcode_t machine_parse(const char *text, struct machine *machine)
{
	uint32_t *const fields[] = { &machine->call,   &machine->held, &machine->handover, &machine->waiter,
		                     &machine->shared, &machine->far,  &machine->line };
	const size_t most = sizeof(fields) / sizeof(*fields);
	char *word;

	for (const struct machine *preset = machine_presets; preset->name; preset++) {
		if (strcmp(preset->name, text) == 0) {
			*machine = *preset;
			return 0;
		}
	}
	SCOPE_FREE char *copy = strdup(text);
	char *rest = copy;

	if (!copy)
		return ENOMEM;
	for (size_t field = 0; field < most && (rest || field < LEAST_NUMBERS); field++) {
		uint64_t value;

		word = strsep(&rest, ":");
		if (!word || units_parse_number(word, 0, MOST_NANOSECONDS, &value))
			return EINVAL;
		*fields[field] = (uint32_t)value;
		if (fields[field] == &machine->shared) {
			machine->far = 0;
			machine->line = machine->handover;
		}
	}
	machine->name = text;
	return rest ? EINVAL : 0;
}
