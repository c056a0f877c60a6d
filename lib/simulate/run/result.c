// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/run/result.h"

#include <assert.h>
#include <string.h>

void result_add(struct result *result, const char *section, enum result_kind kind, const struct named_value *values)
{
	for (; values->key; values++) {
		assert(result->count < RESULT_MAX_VALUES && !result_find(result, section, values->key));
		result->values[result->count++] = (struct result_value){
			section, values->key, values->label, kind, values->value, values->decimals,
		};
	}
}

static int by_value(const void *left, const void *right)
{
	const double *one = left, *other = right;

	return (*one > *other) - (*one < *other);
}

void result_median(const struct result *results, size_t count, struct result *median)
{
	double values[RESULT_MAX_REPEATS];

	assert(count >= 1 && count <= RESULT_MAX_REPEATS);
	*median = results[0];
	for (unsigned int index = 0; index < median->count; index++) {
		if (median->values[index].kind != RESULT_MEASURED)
			continue;
		for (size_t run = 0; run < count; run++)
			values[run] = results[run].values[index].value;
		qsort(values, count, sizeof(*values), by_value);
		median->values[index].value = (values[(count - 1) / 2] + values[count / 2]) / 2;
	}
}

static bool is_same(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

const struct result_value *result_find(const struct result *result, const char *section, const char *key)
{
	for (unsigned int index = 0; index < result->count; index++) {
		const struct result_value *value = &result->values[index];

		if (is_same(value->section, section) && is_same(value->key, key))
			return value;
	}
	return NULL;
}

const char *result_kind_name(enum result_kind kind)
{
	static const char *const names[] = { "layout", "counted", "measured", "fitted", "modelled" };

	return names[kind];
}

const char *result_format(const struct result_value *value, char text[RESULT_TEXT_BYTES])
{
	snprintf(text, RESULT_TEXT_BYTES, "%.*f", (int)value->decimals, value->value);
	return text;
}
