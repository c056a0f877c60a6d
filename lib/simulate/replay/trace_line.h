/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line of text about one event, as /sys/kernel/tracing/trace, trace-cmd report and perf script print it: processor,
 * process and time, the event's name, and fields that are pairs of a name and a value. The text before the timestamp
 * differs between these programs and their options; formats of events differ between kernels. So fields are found by
 * their names, and unused ones may be anything. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_line {
	uint64_t processor, process; /* 0: unknown */
	double seconds;
	const char *name; /* "ext4_free_blocks", of name_bytes */
	size_t name_bytes;
	const char *fields; /* the text after the name and its colon, to the end of the line */
};

enum trace_line_kind {
	TRACE_LINE_EVENT,
	TRACE_LINE_LOST,    /* events were lost here */
	TRACE_LINE_COMMENT, /* blank, a heading or a remark of the program */
	TRACE_LINE_OTHER,   /* not understood */
};

/* text ends with a NUL byte, without a newline. *lost: for TRACE_LINE_LOST the number of lost events, at least 1. */
enum trace_line_kind trace_line_parse(const char *text, struct trace_line *line, uint64_t *lost);

bool trace_line_is(const struct trace_line *line, const char *name);

/* Reads the number after a field's name, decimal or octal; false: there is none, or it is above most. */
bool trace_line_number(const struct trace_line *line, const char *field, uint64_t most, uint64_t *value);
bool trace_line_octal(const struct trace_line *line, const char *field, uint32_t *value);

/* Reads the device: "dev 7,0" as 7 << 32 | 0. */
bool trace_line_device(const struct trace_line *line, uint64_t *device);

/* The same of a text that is a device, "7:0" or "7,0". */
bool trace_device_parse(const char *text, uint64_t *device);

/* Does the field's value, words with | between them or a number, have the word or the bit? False if there is no such
 * field. */
bool trace_line_flag(const struct trace_line *line, const char *field, const char *word, uint64_t bit);
