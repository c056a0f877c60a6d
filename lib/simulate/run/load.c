/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/run/load.h"

#include <stdio.h>
#include <unistd.h>

#include "support/cleanup.h"
#include "support/seconds.h"

/* The share of all processors that a quiet machine uses otherwise. */
#define LITTLE 0.1

/* Words of the first line of /proc/stat. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, WORDS };

static double busy_seconds(void)
{
	unsigned long long ticks[WORDS] = { 0 }, busy = 0;
	SCOPE_FCLOSE FILE *file = fopen("/proc/stat", "re");

	if (!file ||
	    fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[USER], &ticks[NICE], &ticks[SYSTEM],
	           &ticks[IDLE], &ticks[IOWAIT], &ticks[IRQ], &ticks[SOFTIRQ], &ticks[STEAL]) != WORDS)
		return -1;
	for (int word = 0; word < WORDS; word++)
		if (word != IDLE && word != IOWAIT)
			busy += ticks[word];
	return (double)busy / (double)sysconf(_SC_CLK_TCK);
}

struct load load_begin(void)
{
	return (struct load){
		.seconds = seconds_of(CLOCK_MONOTONIC),
		.processor_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID),
		.busy_seconds = busy_seconds(),
	};
}

double load_others(const struct load *begin)
{
	const struct load end = load_begin();
	double seconds = end.seconds - begin->seconds;

	if (begin->busy_seconds < 0 || end.busy_seconds < 0 || seconds < LOAD_LEAST_SECONDS)
		return -1;
	double others =
		(end.busy_seconds - begin->busy_seconds - (end.processor_seconds - begin->processor_seconds)) / seconds;

	return others > 0 ? others : 0;
}

bool load_disturbs(double others, unsigned int threads, unsigned int online)
{
	unsigned int wanted = threads ? threads : 1;
	unsigned int left = wanted < online ? online - wanted : 0;

	return others > left + LITTLE * online;
}
