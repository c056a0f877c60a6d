// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/workloads/workloads.h"

#include <string.h>

static const struct workload *const workloads[] = {
	&fallocate2_workload,
	&append_workload,
	&normalize_workload,
	&truncate_workload,
	&creat_clo_workload,
	&unlink_workload,
	NULL,
};

const struct workload *workload_get(unsigned int index)
{
	return index < sizeof(workloads) / sizeof(*workloads) ? workloads[index] : NULL;
}

const struct workload *workload_find(const char *name)
{
	for (unsigned int index = 0; workloads[index]; index++)
		if (strcmp(workloads[index]->name, name) == 0)
			return workloads[index];
	return NULL;
}
