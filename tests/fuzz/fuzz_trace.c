/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of the kernel's events: lines of tracefs, trace-cmd, perf and our own. */
#include "fuzz.h"

#include "simulate/replay/trace.h"

static errcode_t take(void *context, const struct trace_event *event, struct problem *problem)
{
	uint64_t *events = context;

	(void)problem;
	FUZZ_CHECK(event->kind <= TRACE_COMMIT);
	FUZZ_CHECK(event->kind != TRACE_ALLOCATE || event->asked >= event->count);
	++*events;
	return 0;
}

/* The first byte says whether a device is asked for, and how large clusters are. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	uint64_t device = UINT64_C(7) << 32, events = 0;
	struct trace_counts counts = { 0 };
	struct problem problem = { 0 };

	if (!count)
		return 0;
	const struct trace_options options = {
		.device = bytes[0] & 1 ? &device : NULL,
		.cluster_blocks = bytes[0] & 2 ? 16 : 1,
	};
	struct fuzz_path path = fuzz_file("trace", bytes + 1, count - 1);
	errcode_t error = trace_read(path.text, &options, take, &events, NULL, &counts, &problem);

	fuzz_check_problem(error, &problem);
	FUZZ_CHECK(error || counts.events == events);
	return 0;
}
