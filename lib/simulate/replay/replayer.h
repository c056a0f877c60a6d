/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does once more what a trace says that was done: each request for blocks goes to the allocator, and what it gives
 * takes the place of what the kernel gave, so that freeing frees that. Or, as traced, blocks go where the kernel had
 * them.
 *
 * The allocator may give more at once than the kernel, of what was asked for: the kernel's next requests find it there.
 * What the kernel never came to is given back in the end.
 */
#pragma once

#include "simulate/replay/replay_files.h"
#include "simulate/replay/trace_event.h"

#define REPLAY_WORKERS 1024

enum replay_streams {
	REPLAY_BY_PROCESSOR, /* who shares a locality group: as in Linux, what one processor does */
	REPLAY_BY_PROCESS,
	REPLAY_AS_ONE,
};

struct replay_counts {
	uint64_t requests;      /* for blocks of files */
	uint64_t asked_blocks;  /* of them all */
	uint64_t in_one;        /* requests whose blocks became one extent */
	uint64_t extents;       /* that the blocks of all requests became */
	uint64_t other;         /* requests for blocks of maps, attributes and directories */
	uint64_t refused;       /* the kernel had nothing to give */
	uint64_t failed_blocks; /* the policy had nothing to give, where the kernel had */
	uint64_t commits;
	uint64_t groups_scanned; /* by the kernel */
};

/* Zero-initialise but for what the caller sets. */
struct replayer {
	/* Set by the caller: */
	struct image *image;
	bool is_traced;        /* blocks go where the kernel had them */
	bool inodes_by_policy; /* else they have the kernel's numbers, and are not taken from the allocator */
	enum replay_streams streams;

	struct replay_files files;
	struct replay_counts counts;
	struct ext2mb_worker *workers[REPLAY_WORKERS]; /* by stream, as they are needed */
	struct traced_blocks pending;                  /* freed by the kernel, and not committed as far as is known */
	double pending_since;
	bool has_journal;
};

MUST_CHECK errcode_t replayer_open(struct replayer *replayer);

/* ENOMEM, errors of reading the image. */
MUST_CHECK errcode_t replayer_run_event(struct replayer *replayer, const struct trace_event *event);

/* After the last event: everything is given back that no file has. The files stay. */
MUST_CHECK errcode_t replayer_finish(struct replayer *replayer);

/* After replayer_open() has failed, too. */
void replayer_close(struct replayer *replayer);
