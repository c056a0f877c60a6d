/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Repeats the events of a trace: each request for blocks goes to the allocator, and its blocks take the place of the
 * kernel's, so that frees free them. Or, as traced, blocks are the kernel's.
 *
 * The allocator may return more of the requested blocks at once than the kernel: the kernel's next requests find them
 * allocated. Blocks that the kernel never allocated are freed in the end.
 */
#pragma once

#include "simulate/replay/replay_files.h"
#include "simulate/replay/trace_event.h"

#define REPLAY_WORKERS 1024

enum replay_streams {
	REPLAY_BY_PROCESSOR, /* who shares a locality group: files of one processor, as in Linux */
	REPLAY_BY_PROCESS,
	REPLAY_AS_ONE,
};

struct replay_counts {
	uint64_t requests;      /* requests for blocks of files */
	uint64_t asked_blocks;  /* blocks of all requests */
	uint64_t in_one;        /* requests whose blocks became one extent */
	uint64_t extents;       /* extents of all requests */
	uint64_t other;         /* requests for blocks of maps, xattrs and directories */
	uint64_t refused;       /* requests that the kernel refused */
	uint64_t failed_blocks; /* blocks that the policy could not allocate, but the kernel could */
	uint64_t commits;
	uint64_t groups_scanned; /* by the kernel */
};

/* Zero-initialise all but the caller's members. */
struct replayer {
	/* Set by the caller: */
	struct image *image;
	bool is_traced;        /* blocks go where the kernel had them */
	bool inodes_by_policy; /* else they have the kernel's numbers, and are not allocated */
	enum replay_streams streams;

	struct replay_files files;
	struct replay_counts counts;
	struct ext2mb_worker *workers[REPLAY_WORKERS]; /* by stream, opened when needed */
	struct traced_blocks pending;                  /* freed by the kernel, and not known to be committed */
	double pending_since;
	bool has_journal;
};

MUST_CHECK errcode_t replayer_open(struct replayer *replayer);

/* ENOMEM, errors of reading the image. */
MUST_CHECK errcode_t replayer_run_event(struct replayer *replayer, const struct trace_event *event);

/* Called after the last event: frees all blocks that no file has. The files stay. */
MUST_CHECK errcode_t replayer_finish(struct replayer *replayer);

/* Called after a failed replayer_open(), too. */
void replayer_close(struct replayer *replayer);
