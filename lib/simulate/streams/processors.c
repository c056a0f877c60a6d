/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/streams/processors.h"

#include <errno.h>
#include <stdlib.h>

#include "simulate/streams/lock_pressure.h"

#define NOWHERE UINT32_MAX
#define NOBODY UINT32_MAX

struct stream_place {
	uint32_t group; /* the group whose lock it holds, or NOWHERE */
	uint64_t turn;  /* its latest turn */
};

struct processors {
	struct contention contention;
	unsigned int others; /* processors without the present stream's */
	uint64_t turn;
	uint32_t stream;      /* the present stream, or NOBODY */
	uint32_t taken_group; /* allocated from in this turn, or NOWHERE */
	uint32_t *ring;       /* the streams of the last turns, one for each other processor, or NOBODY */
	unsigned int oldest;  /* index of the oldest turn in the ring */
	struct stream_place *places;
	uint32_t *holders;      /* by group */
	unsigned int lock_busy; /* see lock_pressure.h */
};

static bool is_busy(void *context, uint32_t group)
{
	const struct processors *processors = context;

	return processors->holders[group] != 0;
}

static void has_locked(void *context, uint32_t group)
{
	struct processors *processors = context;

	lock_pressure_count(&processors->lock_busy, processors->holders[group]);
}

static bool is_contended(void *context)
{
	const struct processors *processors = context;

	return lock_pressure_is_high(processors->lock_busy);
}

/* The kernel takes the lock again to mark the group's bitmap. */
static void has_taken(void *context, uint32_t group)
{
	struct processors *processors = context;

	processors->taken_group = group;
	has_locked(context, group);
}

errcode_t processors_create(unsigned int count, unsigned int streams, uint32_t groups, struct processors **ret)
{
	struct processors *processors = calloc(1, sizeof(*processors));

	if (!processors)
		return ENOMEM;
	*processors = (struct processors){
		.contention = {
			.is_busy = is_busy,
			.has_taken = has_taken,
			.context = processors,
			.has_locked = has_locked,
			.is_contended = is_contended,
		},
		.others = count - 1,
		.stream = NOBODY,
		.ring = calloc(count, sizeof(*processors->ring)),
		.places = calloc(streams, sizeof(*processors->places)),
		.holders = calloc(groups, sizeof(*processors->holders)),
	};
	if (!processors->ring || !processors->places || !processors->holders) {
		processors_destroy(processors);
		return ENOMEM;
	}
	for (unsigned int slot = 0; slot < count; slot++)
		processors->ring[slot] = NOBODY;
	for (unsigned int stream = 0; stream < streams; stream++)
		processors->places[stream].group = NOWHERE;
	*ret = processors;
	return 0;
}

void processors_destroy(struct processors *processors)
{
	if (!processors)
		return;
	free(processors->ring);
	free(processors->places);
	free(processors->holders);
	free(processors);
}

const struct contention *processors_contention(const struct processors *processors)
{
	return &processors->contention;
}

static void let_go(struct processors *processors, uint32_t stream)
{
	uint32_t *group = &processors->places[stream].group;

	if (*group != NOWHERE)
		processors->holders[*group]--;
	*group = NOWHERE;
}

/* The stream of the last turn replaces the oldest one, which ends its hold if it has had no turn since. */
static void end_turn(struct processors *processors)
{
	uint32_t *slot = &processors->ring[processors->oldest];

	if (*slot != NOBODY && processors->places[*slot].turn + processors->others == processors->turn)
		let_go(processors, *slot);
	*slot = processors->stream;
	processors->oldest = processors->oldest + 1 < processors->others ? processors->oldest + 1 : 0;
	if (processors->stream == NOBODY)
		return;
	processors->places[processors->stream] =
		(struct stream_place){ .group = processors->taken_group, .turn = processors->turn };
	if (processors->taken_group != NOWHERE)
		processors->holders[processors->taken_group]++;
}

void processors_turn(struct processors *processors, unsigned int stream)
{
	if (processors->others) {
		end_turn(processors);
		/* A stream does not contend with itself. */
		let_go(processors, stream);
	}
	processors->turn++;
	processors->stream = stream;
	processors->taken_group = NOWHERE;
}
