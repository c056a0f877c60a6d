/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/run/result.h"

#include <assert.h>
#include <string.h>

void result_add(struct result *result, const char *section, enum result_kind kind, const struct named_value *values)
{
	for (; values->key; values++) {
		assert(result->count < RESULT_MAX_VALUES && !result_find(result, section, values->key));
		result->values[result->count++] = (struct result_value){
			.section = section,
			.key = values->key,
			.label = values->label,
			.kind = kind,
			.value = values->value,
			.decimals = values->decimals,
		};
	}
}

static int by_value(const void *left, const void *right)
{
	const double *one = left, *other = right;

	return (*one > *other) - (*one < *other);
}

/* Interpolates between two values, as R and NumPy do. */
static double quantile(const double *sorted, size_t count, double part)
{
	double place = part * (double)(count - 1);
	size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;

	return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
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
		median->values[index].value = quantile(values, count, 0.5);
		median->values[index].lower = quantile(values, count, 0.25);
		median->values[index].upper = quantile(values, count, 0.75);
		median->values[index].runs = (unsigned int)count;
	}
}

static bool is_same(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

void result_move_first(struct result *result, unsigned int count)
{
	struct result_value *values = result->values;
	unsigned int before = result->count - count;

	for (unsigned int moved = 0; moved < count; moved++) {
		const struct result_value value = values[before + moved];

		memmove(values + moved + 1, values + moved, before * sizeof(*values));
		values[moved] = value;
	}
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

bool result_is_measured(const struct result *result)
{
	for (unsigned int index = 0; index < result->count; index++)
		if (result->values[index].kind == RESULT_MEASURED)
			return true;
	return false;
}

const char *result_kind_name(enum result_kind kind)
{
	static const char *const names[] = { "layout", "counted", "measured", "fitted", "modelled" };

	return names[kind];
}

const char *result_format(const struct result_value *value, char text[RESULT_TEXT_BYTES])
{
	int decimals = (int)value->decimals;

	if (value->kind == RESULT_MEASURED && value->value < 0)
		snprintf(text, RESULT_TEXT_BYTES, "-");
	else if (value->runs > 1)
		snprintf(text, RESULT_TEXT_BYTES, "%.*f (%.*f-%.*f)", decimals, value->value, decimals, value->lower,
		         decimals, value->upper);
	else
		snprintf(text, RESULT_TEXT_BYTES, "%.*f", decimals, value->value);
	return text;
}
