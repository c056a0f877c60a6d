// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/overview/overview_machine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "support/cleanup.h"

/* Not all architectures say it. */
static void print_model(FILE *stream)
{
	SCOPE_FCLOSE FILE *information = fopen("/proc/cpuinfo", "re");
	SCOPE_FREE char *line = NULL;
	size_t capacity = 0;

	while (information && getline(&line, &capacity, information) > 0) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, "model name", strlen("model name")) != 0 || !colon)
			continue;
		fprintf(stream, " (%.*s)", (int)strcspn(colon + 2, "\n"), colon + 2);
		return;
	}
}

void overview_machine_print(FILE *stream, unsigned int online_processors)
{
	time_t now = time(NULL);
	struct utsname system;
	struct tm date;
	double load[1];

	if (gmtime_r(&now, &date))
		fprintf(stream, "%04d-%02d-%02d, ", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
	fprintf(stream, "%u processor%s", online_processors, online_processors == 1 ? "" : "s");
	print_model(stream);
	if (uname(&system) == 0)
		fprintf(stream, ", %s %s %s", system.sysname, system.release, system.machine);
	if (getloadavg(load, 1) == 1)
		fprintf(stream, "; load at the beginning %.1f", load[0]);
	if (sched_getscheduler(0) == SCHED_FIFO || sched_getscheduler(0) == SCHED_RR)
		fputs("; run with real-time priority, so the load had little of the processors", stream);
	fputs(".\n", stream);
}
