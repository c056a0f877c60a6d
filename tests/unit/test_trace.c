/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of the kernel's events as tracefs, trace-cmd 3.1.6 and perf 6.1 print them, and our own text. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "support/random.h"
#include "simulate/replay/trace.h"
#include "simulate/replay/trace_events.h"
#include "simulate/replay/trace_queue.h"
#include "unit.h"

#define FIELDS "dev 7,0 ino 14 dir 13 mode 0100666"

START_TEST(places_are_read)
{
	static const struct {
		const char *text;
		uint64_t processor, process;
		double seconds;
	} cases[] = {
		/* /sys/kernel/tracing/trace */
		{ "           mkdir-2746    [001] ..... 24226.878354: ext4_allocate_inode: " FIELDS, 1, 2746,
		  24226.878354 },
		/* the same with record-tgid */
		{ "           mkdir-2746    (   2745) [001] ..... 24226.878354: ext4_allocate_inode: " FIELDS, 1, 2746,
		  24226.878354 },
		{ "          <idle>-0       (-------) [011] d.h2. 24226.878354: ext4_allocate_inode: " FIELDS, 11, 0,
		  24226.878354 },
		/* trace-cmd report, of an instance, with -t */
		{ "               sh-3104  [001] 24289.571594: ext4_allocate_inode:  " FIELDS, 1, 3104, 24289.571594 },
		{ "h13:               sh-3104  [001] 24289.571594: ext4_allocate_inode:  " FIELDS, 1, 3104,
		  24289.571594 },
		{ "               sh-3104  [001] 24289.571593630: ext4_allocate_inode:  " FIELDS, 1, 3104,
		  24289.57159363 },
		{ "     kworker/u8:5-27289 [000] 24289.571594: ext4_allocate_inode:  " FIELDS, 0, 27289, 24289.571594 },
		/* perf script */
		{ "              sh  2981 [001] 24246.361658:  ext4:ext4_allocate_inode: " FIELDS, 1, 2981,
		  24246.361658 },
		{ " kworker/u8:5-lo 27289 [000] 24246.361658:  ext4:ext4_allocate_inode: " FIELDS, 0, 27289,
		  24246.361658 },
		{ "              sh  2981/2982 [001] 24246.361658:  ext4:ext4_allocate_inode: " FIELDS, 1, 2982,
		  24246.361658 },
		{ "              sh  2981 24246.361658:  ext4:ext4_allocate_inode: " FIELDS, 0, 0, 24246.361658 },
		/* names of processes that look like something else; other clocks */
		{ "            a: b-77      [003] ..... 5.5: ext4_allocate_inode: " FIELDS, 3, 77, 5.5 },
		{ "             [1]-77      [003] ..... 5.5: ext4_allocate_inode: " FIELDS, 3, 77, 5.5 },
		{ "              sh-77      [003] ..... 123456: ext4_allocate_inode: " FIELDS, 3, 77, 123456 },
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		struct trace_line line;
		uint64_t lost, device, number;
		uint32_t mode;

		ck_assert_msg(trace_line_parse(cases[n].text, &line, &lost) == TRACE_LINE_EVENT, "%s", cases[n].text);
		ck_assert_msg(line.processor == cases[n].processor && line.process == cases[n].process &&
		                      line.seconds == cases[n].seconds,
		              "%s: %d %d %f", cases[n].text, (int)line.processor, (int)line.process, line.seconds);
		ck_assert(trace_line_is(&line, "ext4_allocate_inode") && !trace_line_is(&line, "ext4_allocate_inod"));
		ck_assert(trace_line_device(&line, &device) && device == UINT64_C(7) << 32);
		ck_assert(trace_line_number(&line, "dir", 13, &number) && number == 13);
		ck_assert(!trace_line_number(&line, "dir", 12, &number));
		ck_assert(!trace_line_number(&line, "di", 13, &number));
		ck_assert(trace_line_octal(&line, "mode", &mode) && mode == 0100666);
	}
}
END_TEST

START_TEST(other_lines_are_known)
{
	static const struct {
		const char *text;
		enum trace_line_kind kind;
		uint64_t lost;
	} cases[] = {
		{ "", TRACE_LINE_COMMENT, 0 },
		{ "# tracer: nop", TRACE_LINE_COMMENT, 0 },
		{ "# entries-in-buffer/entries-written: 757/757   #P:2", TRACE_LINE_COMMENT, 0 },
		{ "# entries-in-buffer/entries-written: 757/900   #P:2", TRACE_LINE_LOST, 143 },
		{ "cpus=2", TRACE_LINE_COMMENT, 0 },
		{ "CPU:0 [LOST 123 EVENTS]", TRACE_LINE_LOST, 123 },
		{ "CPU:11 [123 EVENTS DROPPED]", TRACE_LINE_LOST, 123 },
		{ "CPU:0 [EVENTS DROPPED]", TRACE_LINE_LOST, 1 },
		{ "  sh 2961 [000] 24246.361658: PERF_RECORD_LOST lost 12", TRACE_LINE_LOST, 12 },
		{ "CPU:0 [LOST 99999999999999999999 EVENTS]", TRACE_LINE_OTHER, 0 },
		{ "CPU:0", TRACE_LINE_OTHER, 0 },
		{ "hello", TRACE_LINE_OTHER, 0 },
		{ "sh-12 [001] ..... 5.5: ext4_free", TRACE_LINE_OTHER, 0 },
		{ "sh-12 [001] ..... x5.5: ext4_free: dev", TRACE_LINE_OTHER, 0 },
		{ "ext4_free_inode: dev 7,0 ino 3", TRACE_LINE_OTHER, 0 },
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		struct trace_line line;
		uint64_t lost;
		enum trace_line_kind kind = trace_line_parse(cases[n].text, &line, &lost);

		ck_assert_msg(kind == cases[n].kind && lost == cases[n].lost, "%s: %d, %d lost", cases[n].text, kind,
		              (int)lost);
	}
}
END_TEST

static struct trace_events *start_events(uint32_t cluster_blocks)
{
	struct trace_events *events = calloc(1, sizeof(*events));

	events->cluster_blocks = cluster_blocks;
	return events;
}

/* Gives lines of one process after the other; the last one's meaning. */
static enum trace_meaning take(struct trace_events *events, struct trace_event *event, const char *fields, int process)
{
	struct trace_line line;
	char text[1024];
	uint64_t lost;

	snprintf(text, sizeof(text), " dd-%d [001] ..... 12.5: %s", process, fields);
	ck_assert_msg(trace_line_parse(text, &line, &lost) == TRACE_LINE_EVENT, "%s", text);
	return trace_events_read(events, &line, event);
}

#define ASK "ext4_request_blocks: dev 7,0 ino 20 flags "
#define GET "ext4_allocate_blocks: dev 7,0 ino 20 flags "
#define GOAL " goal 139265 lleft 0 lright 0 pleft 0 pright 0 "

START_TEST(lines_become_events)
{
	struct trace_events *events = start_events(1);
	struct trace_event event;

	/* Without normalisation: fallocate(2), in two parts. Another process is in the middle of its own request. */
	ck_assert_int_eq(take(events, &event, "ext4_fallocate_enter: dev 7,0 ino 20 offset 0 len 20971520 mode ", 1),
	                 TRACE_MEANS_LATER);
	ck_assert_int_eq(take(events, &event, ASK "HINT_DATA|HINT_NOPREALLOC len 20480 lblk 0" GOAL, 1),
	                 TRACE_MEANS_LATER);
	ck_assert_int_eq(take(events, &event, ASK "HINT_DATA|DELALLOC_RESV len 30 lblk 7" GOAL, 2), TRACE_MEANS_LATER);
	ck_assert_int_eq(
		take(events, &event,
	             "ext4_mballoc_alloc: dev 7,0 inode 20 orig 17/0/8192@0 goal 0/-1/8192@0 result 18/0/8192@0 "
	             "blks 1 grps 5 cr CR_GOAL_LEN_FAST flags HINT_DATA|HINT_NOPREALLOC|STREAM_ALLOC tail 0 "
	             "broken 0",
	             1),
		TRACE_MEANS_LATER);
	ck_assert_int_eq(take(events, &event, GET "HINT_DATA|HINT_NOPREALLOC len 8192 block 147457 lblk 0" GOAL, 1),
	                 TRACE_MEANS_EVENT);
	ck_assert_int_eq(event.kind, TRACE_ALLOCATE);
	ck_assert(event.is_data && event.is_unwritten && !event.is_final);
	ck_assert_uint_eq(event.ino, 20);
	ck_assert_uint_eq(event.block, 147457);
	ck_assert_uint_eq(event.count, 8192);
	ck_assert_uint_eq(event.asked, 20480);
	ck_assert_uint_eq(event.start, 0);
	ck_assert_uint_eq(event.goal, 139265);
	ck_assert_uint_eq(event.whole_bytes, 20971520);
	ck_assert_uint_eq(event.groups_scanned, 5);
	ck_assert_uint_eq(event.processor, 1);
	ck_assert_uint_eq(event.process, 1);
	take(events, &event, ASK "HINT_DATA|HINT_NOPREALLOC len 12288 lblk 8192" GOAL, 1);
	take(events, &event, GET "HINT_DATA|HINT_NOPREALLOC len 12288 block 155649 lblk 8192" GOAL, 1);
	ck_assert_uint_eq(event.start, 0);
	take(events, &event, "ext4_fallocate_exit: dev 7,0 ino 20 pos 0 blocks 20480 ret 0", 1);

	/* The kernel knows that a file that was closed ends here. */
	take(events, &event, "ext4_mballoc_alloc: dev 7,0 inode 20 grps 1 cr 0 flags HINT_DATA|HINT_NOPREALLOC tail 0",
	     2);
	take(events, &event, GET "HINT_DATA|DELALLOC_RESV len 20 block 1000 lblk 7" GOAL, 2);
	ck_assert(event.is_data && !event.is_unwritten && event.is_final);
	ck_assert_uint_eq(event.asked, 30);
	ck_assert_uint_eq(event.start, 7);

	/* No flags at all: a directory or a map. Numbers, as old kernels print flags they have no names for. */
	take(events, &event, GET " len 1 block 139297 lblk 0" GOAL, 3);
	ck_assert(!event.is_data && event.asked == 1);
	take(events, &event, GET "0x20 len 1 block 139297 lblk 9" GOAL, 3);
	ck_assert(event.is_data);
	take(events, &event, GET "HINT_MERGE|0x8000 len 1 block 139297 lblk 11" GOAL, 3);
	ck_assert(!event.is_data);

	/* There was nothing to give. */
	take(events, &event, ASK "HINT_DATA len 5 lblk 0" GOAL, 4);
	take(events, &event, GET "HINT_DATA len 0 block 0 lblk 0" GOAL, 4);
	ck_assert(event.kind == TRACE_ALLOCATE && event.count == 0);

	ck_assert_int_eq(take(events, &event,
	                      "ext4_free_blocks: dev 7,0 ino 20 mode 0100644 block 139794 count 9 flags VALIDATED", 1),
	                 TRACE_MEANS_EVENT);
	ck_assert(event.kind == TRACE_FREE && event.block == 139794 && event.count == 9);
	take(events, &event, "ext4_free_inode: dev 7,0 ino 20 mode 0100644 uid 0 gid 0 blocks 0", 1);
	ck_assert(event.kind == TRACE_DELETE && event.ino == 20);
	take(events, &event, "ext4_discard_preallocations: dev 7,0 ino 20 len: 0", 1);
	ck_assert(event.kind == TRACE_CLOSE && event.ino == 20);
	take(events, &event, "jbd2_end_commit: dev 7,0 transaction 3 sync 0 head 2", 1);
	ck_assert(event.kind == TRACE_COMMIT);
	ck_assert_int_eq(take(events, &event, "ext4_sync_fs: dev 7,0 wait 0", 1), TRACE_MEANS_NOTHING);
	free(events);
}
END_TEST

#define CLOSE "ext4_discard_preallocations: dev 7,0 ino 20 len: 0"
#define DELAYED "HINT_DATA|DELALLOC_RESV"

/* An allocation of process 1 with these flags, after a search with those; then a line of process 2, and one of
 * process 1. */
static bool is_answered(const char *flags, const char *searched, const char *next, bool *is_final)
{
	struct trace_events *events = start_events(1);
	struct trace_event event;
	char text[512];

	snprintf(text, sizeof(text), ASK "%s len 3 lblk 0" GOAL, flags);
	take(events, &event, text, 1);
	snprintf(text, sizeof(text), "ext4_mballoc_alloc: dev 7,0 inode 20 grps 1 cr 0 flags %s tail 0",
	         searched ? searched : "");
	if (searched)
		take(events, &event, text, 1);
	snprintf(text, sizeof(text), GET "%s len 3 block 1000 lblk 0" GOAL, flags);
	take(events, &event, text, 1);
	uint64_t waits = events->waits;
	*is_final = event.is_final;
	take(events, &event, CLOSE, 2);
	ck_assert_uint_eq(events->answers, 0);
	take(events, &event, "ext4_da_update_reserve_space: dev 7,0 ino 20", 1);
	ck_assert_uint_eq(events->answers, 0);
	take(events, &event, next, 1);
	ck_assert(!waits || events->answers == waits);
	if (waits)
		*is_final = events->answer_is_final;
	take(events, &event, CLOSE, 1);
	ck_assert_uint_eq(events->answers, 0);
	free(events);
	return waits != 0;
}

/* A closed file gives its preallocations back as soon as it has its blocks; one that is open does not. */
START_TEST(the_next_event_tells_the_end)
{
	static const struct {
		const char *flags, *searched, *next;
		bool is_asked, is_final;
	} cases[] = {
		{ DELAYED, NULL, CLOSE, true, true }, /* from a group preallocation: no search */
		{ DELAYED, DELAYED "|HINT_GRP_ALLOC", CLOSE, true, true },
		{ DELAYED, NULL, "ext4_discard_preallocations: dev 7,0 ino 21 len: 0", true, false },
		{ DELAYED, NULL, ASK DELAYED " len 3 lblk 3" GOAL, true, false },
		{ DELAYED, NULL, "ext4_writepages_result: dev 7,0 ino 20 ret 0", true,
		  false }, /* synced, then closed */
		{ DELAYED, NULL, "ext4_sync_file_exit: dev 7,0 ino 20 ret 0", true, false },
		{ DELAYED, DELAYED "|HINT_NOPREALLOC", CLOSE, false, true }, /* the search has said so */
		{ DELAYED, DELAYED "|STREAM_ALLOC", CLOSE, false, false },   /* and that it is open */
		{ "0x420", NULL, CLOSE, true, true },
		{ "HINT_DATA", NULL, CLOSE, false, false },                 /* O_DIRECT */
		{ "HINT_DATA|HINT_NOPREALLOC", NULL, CLOSE, false, false }, /* fallocate(2) */
		{ "DELALLOC_RESV", NULL, CLOSE, false, false },             /* no data */
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		bool is_final, is_asked = is_answered(cases[n].flags, cases[n].searched, cases[n].next, &is_final);

		ck_assert_msg(is_asked == cases[n].is_asked, "case %zu", n);
		ck_assert_msg(is_final == cases[n].is_final, "case %zu", n);
	}
}
END_TEST

/* Events come out as they went in, the first one only when it is answered, at the end, or when there is no more room.
 */
START_TEST(events_wait_for_answers)
{
	struct trace_queue *queue = calloc(1, sizeof(*queue));
	struct queued_event event = { .waits = 7 };

	trace_queue_add(queue, &event);
	for (uint32_t ino = 1; ino < TRACE_QUEUE_EVENTS; ino++) {
		ck_assert(!trace_queue_next(queue, false, &event));
		trace_queue_add(queue, &(struct queued_event){ .event.ino = ino, .waits = ino == 2 ? 8 : 0 });
	}
	ck_assert(trace_queue_next(queue, false, &event));
	ck_assert(event.waits == 7 && !event.event.is_final);
	ck_assert(trace_queue_next(queue, false, &event) && event.event.ino == 1);
	ck_assert(!trace_queue_next(queue, false, &event));
	trace_queue_answer(queue, 7, true);
	ck_assert(!trace_queue_next(queue, false, &event));
	trace_queue_answer(queue, 8, true);
	ck_assert(trace_queue_next(queue, false, &event) && event.event.ino == 2 && event.event.is_final);
	for (uint32_t ino = 3; ino < TRACE_QUEUE_EVENTS; ino++)
		ck_assert(trace_queue_next(queue, false, &event) && event.event.ino == ino && !event.event.is_final);
	ck_assert(!trace_queue_next(queue, true, &event));
	trace_queue_add(queue, &(struct queued_event){ .waits = 9 });
	ck_assert(trace_queue_next(queue, true, &event));
	free(queue);
}
END_TEST

/* With bigalloc, what is allocated is counted in clusters, and what is freed in blocks. */
START_TEST(clusters_are_blocks)
{
	struct trace_events *events = start_events(16);
	struct trace_event event;

	take(events, &event, ASK "HINT_DATA|HINT_NOPREALLOC len 5 lblk 32" GOAL, 1);
	take(events, &event, GET "HINT_DATA|HINT_NOPREALLOC len 2 block 4096 lblk 32" GOAL, 1);
	ck_assert(event.count == 32 && event.asked == 80 && event.logical == 32 && event.start == 32);
	take(events, &event, ASK "HINT_DATA|HINT_NOPREALLOC len 3 lblk 64" GOAL, 1);
	take(events, &event, GET "HINT_DATA|HINT_NOPREALLOC len 3 block 8192 lblk 64" GOAL, 1);
	ck_assert(event.count == 48 && event.asked == 48 && event.logical == 64 && event.start == 32);
	ck_assert_int_eq(take(events, &event, GET "HINT_DATA len 268435456 block 4096 lblk 32" GOAL, 1),
	                 TRACE_MEANS_UNKNOWN);
	take(events, &event, "ext4_free_blocks: dev 7,0 ino 20 block 139794 count 9 flags VALIDATED|1ST_CLUSTER", 1);
	ck_assert(event.count == 9 && event.keeps_first && !event.keeps_last);
	take(events, &event, "ext4_free_blocks: dev 7,0 ino 20 block 139794 count 9 flags 0x24", 1);
	ck_assert(event.count == 9 && !event.keeps_first && event.keeps_last);
	free(events);
}
END_TEST

START_TEST(wrong_fields_are_not_understood)
{
	static const char *const cases[] = {
		"ext4_free_blocks: dev 7,0 ino 20 block 139794",
		"ext4_free_blocks: dev 7,0 ino 20 block 139794 count 99999999999",
		"ext4_free_blocks: dev 7,0 ino 20 block -1 count 1",
		"ext4_free_blocks: dev 7,0 ino 0 block 1 count 1",
		"ext4_free_blocks: dev 7,0 ino 5000000000 block 1 count 1",
		"ext4_free_inode: dev 7,0 mode 0100644",
		"ext4_allocate_inode: dev 7,0 ino 20 dir 2",
		"ext4_allocate_inode: dev 7,0 ino 20 dir 2 mode 99",
		"ext4_allocate_blocks: dev 7,0 ino 20 flags HINT_DATA len 4294967295 block 5 lblk 1" GOAL,
		"ext4_allocate_blocks: dev 7,0 ino 20 flags HINT_DATA len 1 lblk 1" GOAL,
		"ext4_request_blocks: dev 7,0 ino 20",
		"ext4_request_blocks:",
	};
	struct trace_events *events = start_events(1);

	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		struct trace_event event;

		ck_assert_msg(take(events, &event, cases[n], 1) == TRACE_MEANS_UNKNOWN, "%s", cases[n]);
	}
	free(events);
}
END_TEST

/* Until writeback of a file is over, what it allocates tells earlier allocations of the same call how long the file is.
 */
START_TEST(writeback_tells_the_length)
{
	static const struct {
		uint64_t process;
		uint32_t ino, logical, asked, file_blocks;
		bool is_in_writeback;
	} cases[] = {
		{ 1, 20, 0, 8, 24, true },  { 1, 20, 8, 4, 24, true },  { 2, 20, 12, 50, 62, true },
		{ 1, 21, 0, 90, 90, true }, { 1, 20, 2, 99, 0, false }, { 1, 20, 16, 8, 24, true },
	};
	struct trace_queue *queue = calloc(1, sizeof(*queue));
	struct queued_event event;

	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		trace_queue_add(queue, &(struct queued_event){
					       .event = { .process = cases[n].process,
		                                          .ino = cases[n].ino,
		                                          .logical = cases[n].logical,
		                                          .asked = cases[n].asked },
					       .is_in_writeback = cases[n].is_in_writeback,
				       });
		if (cases[n].is_in_writeback)
			trace_queue_extend(queue);
	}
	ck_assert(!trace_queue_next(queue, false, &event));
	trace_queue_end_writeback(queue, 1, 21);
	ck_assert(!trace_queue_next(queue, false, &event));
	trace_queue_end_writeback(queue, 1, 20);
	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		ck_assert(trace_queue_next(queue, n == 2, &event));
		ck_assert_uint_eq(event.event.file_blocks, cases[n].file_blocks);
	}
	free(queue);
}
END_TEST

/* Which allocations are writeback's, and when it is over. */
START_TEST(writeback_is_noticed)
{
	struct trace_events *events = start_events(1);
	struct trace_event event;

	take(events, &event, GET DELAYED " len 3 block 1000 lblk 0" GOAL, 1);
	ck_assert(events->is_delayed && !events->written_ino);
	take(events, &event, GET "HINT_DATA len 3 block 1003 lblk 3" GOAL, 1);
	ck_assert(!events->is_delayed);
	take(events, &event, GET "DELALLOC_RESV len 1 block 1010 lblk 0" GOAL, 1);
	ck_assert(!events->is_delayed);
	take(events, &event, "ext4_writepages_result: dev 7,0 ino 20 ret 0", 1);
	ck_assert(!events->is_delayed && events->written_ino == 20);
	take(events, &event, CLOSE, 1);
	ck_assert_uint_eq(events->written_ino, 0);
	free(events);
}
END_TEST

START_TEST(plain_text_is_read)
{
	static const char *const wrong[] = {
		"",
		"allocated ino=1",
		"free",
		"free ino=0 block=5 count=1",
		"free ino=1 block=x count=1",
		"free ino=1 block=5 count=4294967296",
		"free ino=1 block=5 count",
		"allocate ino=1 count=5",
		"allocate ino=1 lblk=4294967295 block=5 count=1",
		"allocate ino=1 block=5 count=1 what=dat",
		"create ino=1 mode=8",
		"commit time=x",
		"commit dev=7",
	};
	struct trace_event event;
	uint64_t device;

	ck_assert_int_eq(
		trace_plain_parse("allocate ino=12 lblk=3 block=9000 count=8 asked=20 start=1 goal=8999 "
	                          "what=data,unwritten,final fallocate=40960 size=99 groups=3 cpu=2 pid=77 time=1.5 "
	                          "dev=7:0 later=thing",
	                          &event, &device),
		TRACE_MEANS_EVENT);
	ck_assert(event.kind == TRACE_ALLOCATE && event.ino == 12 && event.logical == 3 && event.block == 9000);
	ck_assert(event.count == 8 && event.asked == 20 && event.start == 1 && event.goal == 8999);
	ck_assert(event.is_data && event.is_unwritten && event.is_final && event.whole_bytes == 40960);
	ck_assert_uint_eq(event.file_blocks, 99);
	ck_assert(event.groups_scanned == 3 && event.processor == 2 && event.process == 77 && event.seconds == 1.5);
	ck_assert(device == UINT64_C(7) << 32);
	ck_assert_int_eq(trace_plain_parse("create\tino=12 dir=2 mode=040755", &event, &device), TRACE_MEANS_EVENT);
	ck_assert(event.kind == TRACE_CREATE && event.parent == 2 && event.mode == 040755 && device == 0);
	ck_assert_int_eq(trace_plain_parse("commit", &event, &device), TRACE_MEANS_EVENT);
	ck_assert_int_eq(trace_plain_parse("close ino=12", &event, &device), TRACE_MEANS_EVENT);
	ck_assert_int_eq(event.kind, TRACE_CLOSE);
	for (size_t n = 0; n < sizeof(wrong) / sizeof(*wrong); n++)
		ck_assert_msg(trace_plain_parse(wrong[n], &event, &device) == TRACE_MEANS_UNKNOWN, "%s", wrong[n]);
}
END_TEST

START_TEST(devices_are_read)
{
	static const char *const wrong[] = { "", "7", "7:", ":0", "7:0:0", "7:x", "-7:0", "7:4294967296" };
	uint64_t device;

	ck_assert(trace_device_parse("254:3", &device) && device == (UINT64_C(254) << 32 | 3));
	ck_assert(trace_device_parse("254,3", &device) && device == (UINT64_C(254) << 32 | 3));
	for (size_t n = 0; n < sizeof(wrong) / sizeof(*wrong); n++)
		ck_assert_msg(!trace_device_parse(wrong[n], &device), "%s", wrong[n]);
}
END_TEST

/* Whatever is in them, lines are read within their bounds: a sanitizer is the judge. */
START_TEST(any_bytes_are_survived)
{
	static const char *const lines[] = {
		" dd-1 [001] ..... 12.5: ext4_request_blocks: dev 7,0 ino 20 flags HINT_DATA len 8 lblk 0 goal 1",
		" dd-1 [001] ..... 12.5: ext4_allocate_blocks: dev 7,0 ino 20 flags HINT_DATA|0x10 len 8 block 9 lblk "
		"0 goal 1",
		" dd  1 [001] 12.5:  ext4:ext4_free_blocks: dev 7,0 ino 20 mode 0100644 block 139794 count 9 flags V",
		" dd-1 ( 12) [001] 12.5: ext4_fallocate_enter:  dev 7,0 ino 20 offset 0 len 20971520 mode KEEP_SIZE",
		"CPU:0 [LOST 123 EVENTS]",
		"# entries-in-buffer/entries-written: 757/900   #P:2",
		"allocate ino=12 lblk=3 block=9000 count=8 asked=20 start=1 goal=8999 what=data,final dev=7:0 time=1.5",
	};
	struct trace_events *events = start_events(1);
	uint64_t random = 1;

	for (unsigned int round = 0; round < 200000; round++) {
		const char *text = lines[random_below(&random, sizeof(lines) / sizeof(*lines))];
		size_t bytes = strlen(text);
		char *copy = strdup(text);
		struct trace_line line;
		struct trace_event event;
		uint64_t lost, device;

		for (unsigned int changes = random_below(&random, 4); changes--;)
			copy[random_below(&random, (uint32_t)bytes)] =
				" \t:=,|[]()-/.x9\x80"[random_below(&random, 17)];
		copy[random_below(&random, (uint32_t)bytes + 1)] = '\0';
		/* As long as what is left, so that one byte more is seen. */
		char *cut = strdup(copy);
		if (trace_line_parse(cut, &line, &lost) == TRACE_LINE_EVENT) {
			(void)trace_events_read(events, &line, &event);
			(void)trace_line_device(&line, &device);
		}
		(void)trace_plain_parse(cut, &event, &device);
		free(cut);
		free(copy);
	}
	free(events);
}
END_TEST

/* --- Whole files --------------------------------------------------------------------------------------------- */

static errcode_t count_event(void *context, const struct trace_event *event, struct problem *problem)
{
	uint64_t *sum = context;

	(void)problem;
	*sum += event->ino;
	return 0;
}

/* Reads a text as a file; the message, if there is one, has `message` in it. */
static void read_text(const char *text, size_t bytes, const uint64_t *device, const char *message,
                      struct trace_counts *counts, uint64_t *sum)
{
	char path[] = "trace.XXXXXX";
	int file = mkstemp(path);
	struct problem problem = { 0 };

	ck_assert(file >= 0 && write(file, text, bytes) == (ssize_t)bytes);
	close(file);
	*sum = 0;
	const struct trace_options options = { .device = device, .cluster_blocks = 1 };
	errcode_t error = trace_read(path, &options, count_event, sum, NULL, counts, &problem);
	char *said = problem_text(&problem);

	ck_assert_msg(!error == !message, "%s", said);
	ck_assert_msg(!message || strstr(said, message), "%s", said);
	free(said);
	problem_clear(&problem);
	unlink(path);
}

#define LINE(device, ino) "sh-12 [001] ..... 5.5: ext4_free_inode: dev " device " ino " ino " mode 0100644\n"
#define COMMIT(device) "sh-12 [001] ..... 5.5: jbd2_end_commit: dev " device " transaction 3 sync 0 head 2\n"

START_TEST(files_are_read)
{
	static const char two[] = COMMIT("254,0") LINE("7,0", "20") COMMIT("254,0") LINE("7,1", "300") LINE("7,1", "1");
	static const char damaged[] = "# tracer\r\n" LINE("7,0", "20") "a\0b\nhello\n" LINE(
		"7,0", "x") "CPU:0 [LOST 5 "
			    "EVENTS]\nsh-1 [000] 5.5: sched_switch: x\n" LINE("7,0", "3") "sh-1 [0";
	static const char plain[] =
		"\n\ne2allocsim-trace 1\n# a remark\n\ndelete ino=4\nlost count=7\nlose\ndelete ino=5";
	struct trace_counts counts;
	uint64_t device = UINT64_C(7) << 32 | 1, other = 5, sum;

	read_text(two, sizeof(two) - 1, NULL, "choose one with --device: 7:0 (1 event), 7:1 (2 events)", &counts, &sum);
	read_text(two, sizeof(two) - 1, &device, NULL, &counts, &sum);
	ck_assert_uint_eq(sum, 301);
	ck_assert_uint_eq(counts.events, 2);
	read_text(two, sizeof(two) - 1, &other, "no events of the device 0:5, but of", &counts, &sum);
	read_text(damaged, sizeof(damaged) - 1, NULL, NULL, &counts, &sum);
	ck_assert_uint_eq(sum, 23);
	ck_assert_uint_eq(counts.lost, 5);
	ck_assert_uint_eq(counts.not_understood, 4);
	ck_assert_uint_eq(counts.first_not_understood, 3);
	read_text(plain, sizeof(plain) - 1, NULL, NULL, &counts, &sum);
	ck_assert_uint_eq(sum, 9);
	ck_assert_uint_eq(counts.lost, 7);
	ck_assert_uint_eq(counts.not_understood, 1);
	ck_assert_uint_eq(counts.first_not_understood, 8);
	read_text("", 0, NULL, "no event in it can be replayed", &counts, &sum);
	read_text("hello\n", 6, NULL, "no event in it can be replayed", &counts, &sum);
	read_text("e2allocsim-trace 2\n", 19, NULL, "the only version", &counts, &sum);

	const struct trace_options options = { .cluster_blocks = 1 };
	struct problem problem = { 0 };
	ck_assert_int_eq(trace_read("/dev/null", &options, count_event, &sum, NULL, &counts, &problem), EINVAL);
	problem_clear(&problem);
	ck_assert_int_eq(trace_read("absent", &options, count_event, &sum, NULL, &counts, &problem), ENOENT);
	problem_clear(&problem);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *cases = tcase_create("trace");

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, places_are_read);
	tcase_add_test(cases, other_lines_are_known);
	tcase_add_test(cases, lines_become_events);
	tcase_add_test(cases, the_next_event_tells_the_end);
	tcase_add_test(cases, events_wait_for_answers);
	tcase_add_test(cases, writeback_tells_the_length);
	tcase_add_test(cases, writeback_is_noticed);
	tcase_add_test(cases, clusters_are_blocks);
	tcase_add_test(cases, wrong_fields_are_not_understood);
	tcase_add_test(cases, plain_text_is_read);
	tcase_add_test(cases, devices_are_read);
	tcase_add_test(cases, any_bytes_are_survived);
	tcase_add_test(cases, files_are_read);
	return run_suite(suite);
}
