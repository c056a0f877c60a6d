/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text_mutator.h"

#include <string.h>

#include "fuzz.h"

#define MOST_LINE_BYTES 4096

struct line {
	size_t at, count; /* with its end */
};

static struct line choose_line(const uint8_t *bytes, size_t count, uint32_t *state)
{
	size_t at = next_number(state, (uint32_t)count), end = at;

	while (at && bytes[at - 1] != '\n')
		at--;
	while (end < count && bytes[end] != '\n')
		end++;
	return (struct line){ at, end - at + (end < count) };
}

/* Other bytes in the place of some; the new count, which stays where there is no room. */
static size_t replace(uint8_t *bytes, size_t count, size_t most, struct line old, const void *text, size_t text_bytes)
{
	if (count - old.count + text_bytes > most)
		return count;
	memmove(bytes + old.at + text_bytes, bytes + old.at + old.count, count - old.at - old.count);
	memcpy(bytes + old.at, text, text_bytes);
	return count - old.count + text_bytes;
}

/* A line, once more or instead of another one; or none. */
static size_t move_line(uint8_t *bytes, size_t count, size_t most, uint32_t *state)
{
	static uint8_t copy[MOST_LINE_BYTES];
	struct line from = choose_line(bytes, count, state), to = choose_line(bytes, count, state);
	uint32_t way = next_number(state, 3);

	if (from.count > sizeof(copy))
		return count;
	memcpy(copy, bytes + from.at, from.count);
	to.count = way ? 0 : to.count;
	return replace(bytes, count, most, way == 1 ? from : to, copy, way == 1 ? 0 : from.count);
}

static size_t change_line(uint8_t *bytes, size_t count, size_t most, uint32_t *state)
{
	static uint8_t copy[MOST_LINE_BYTES];
	struct line line = choose_line(bytes, count, state);

	if (line.count < 3 || line.count > sizeof(copy) / 2)
		return count;
	/* Its first letter and its end stay. */
	line.at++;
	line.count -= 2;
	memcpy(copy, bytes + line.at, line.count);
	return replace(bytes, count, most, line, copy, LLVMFuzzerMutate(copy, line.count, sizeof(copy)));
}

/* A component before others in a line's path. */
static size_t insert_name(uint8_t *bytes, size_t count, size_t most, uint32_t *state)
{
	static const char *const names[] = { "../", "./", "/", "directory/", ".wh.", ".wh..wh." };
	static const uint8_t longest[300] = { [0 ... 299] = 'n' };
	uint32_t number = next_number(state, sizeof(names) / sizeof(*names) + 1);
	struct line line = choose_line(bytes, count, state);

	if (line.count < 2)
		return count;
	const uint8_t *from = bytes + line.at + next_number(state, (uint32_t)line.count);
	const uint8_t *slash = memchr(from, '/', (size_t)(bytes + line.at + line.count - from));
	const uint8_t *equals = memchr(bytes + line.at, '=', line.count);

	/* After a slash, the key of a record, or a member's type. */
	line.at = (size_t)((slash ? slash : equals ? equals : bytes + line.at) - bytes) + 1;
	line.count = 0;
	if (number == sizeof(names) / sizeof(*names))
		return replace(bytes, count, most, line, longest, 200 + next_number(state, 100));
	return replace(bytes, count, most, line, names[number], strlen(names[number]));
}

/* The value after one of JSON's colons. */
static size_t change_value(uint8_t *bytes, size_t count, size_t most, uint32_t *state)
{
	static const char *const values[] = { "null",
		                              "1",
		                              "-1",
		                              "\"\"",
		                              "\"a\"",
		                              "[]",
		                              "{}",
		                              "[1]",
		                              "[{}]",
		                              "1.5",
		                              "true",
		                              "[[]]",
		                              "9223372036854775807" };
	const char *value = values[next_number(state, sizeof(values) / sizeof(*values))];
	size_t start = next_number(state, (uint32_t)count), depth = 0;
	const uint8_t *colon = memchr(bytes + start, ':', count - start);

	if (!colon)
		return count;
	struct line old = { .at = (size_t)(colon - bytes) + 1 };

	for (size_t at = old.at; at < count; at++, old.count++) {
		if (!depth && memchr(",]}\n", bytes[at], 4))
			break;
		depth += bytes[at] == '[' || bytes[at] == '{';
		depth -= bytes[at] == ']' || bytes[at] == '}';
	}
	return replace(bytes, count, most, old, value, strlen(value));
}

size_t mutate_text(uint8_t *bytes, size_t count, size_t most, unsigned int seed)
{
	uint32_t state = seed | 1; /* never 0, where it would stay */

	next_number(&state, 2);
	if (count < 4)
		return LLVMFuzzerMutate(bytes, count, most);
	switch (next_number(&state, 6)) {
	case 0:
		return move_line(bytes, count, most, &state);
	case 1:
		return change_line(bytes, count, most, &state);
	case 2:
		return insert_name(bytes, count, most, &state);
	case 3:
		if (memchr(bytes, '{', count))
			return change_value(bytes, count, most, &state);
	}
	return LLVMFuzzerMutate(bytes, count, most);
}
