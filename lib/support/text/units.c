/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Accepts only digits: strtoull() would take "-1", " 1" and "+1". */
static errcode_t read_digits(const char *text, const char **end, uint64_t *number)
{
	uint64_t value = 0;
	bool fits = true;

	if (*text < '0' || *text > '9')
		return EINVAL;
	for (; *text >= '0' && *text <= '9'; text++) {
		fits = fits && !__builtin_mul_overflow(value, 10u, &value);
		fits = fits && !__builtin_add_overflow(value, (unsigned int)(*text - '0'), &value);
	}
	*end = text;
	*number = value;
	return fits ? 0 : ERANGE;
}

/*
 * The number of bytes that a suffix means: K is 1024, as mke2fs(8) has it, KiB as well, and KB is 1000, as GNU's tools
 * have it. 0: not a suffix.
 */
static uint64_t suffix_bytes(const char *suffix)
{
	static const char prefixes[] = "kKmMgGtTpP";
	const char *found = *suffix ? strchr(prefixes, *suffix) : NULL;
	unsigned int power = found ? (unsigned int)(found - prefixes) / 2 + 1 : 0;
	uint64_t bytes = 1;

	if (strcmp(suffix, "s") == 0)
		return 512;
	if (!found)
		return 0;
	if (!suffix[1] || strcmp(suffix + 1, "iB") == 0)
		return UINT64_C(1) << 10 * power;
	if (strcmp(suffix + 1, "B") != 0)
		return 0;
	while (power--)
		bytes *= 1000;
	return bytes;
}

/*
 * The whole units in a decimal fraction of unit_bytes, rounded down. From the last digit to the first each step is
 * rounded down, which gives the same as one at the end, and nothing overflows.
 */
static uint64_t fraction_bytes(const char *digits, const char *end, uint64_t unit_bytes)
{
	uint64_t bytes = 0;

	while (end-- > digits)
		bytes = ((unsigned int)(*end - '0') * unit_bytes + bytes) / 10;
	return bytes;
}

errcode_t units_parse_bytes(const char *text, uint64_t unit_bytes, uint64_t *bytes)
{
	const char *end, *fraction = NULL;
	uint64_t number, unused, product;
	errcode_t error = read_digits(text, &end, &number);

	if (error == EINVAL)
		return EINVAL;
	if (*end == '.') {
		fraction = end + 1;
		if (read_digits(fraction, &end, &unused) == EINVAL || !*end || *end == 's')
			return EINVAL;
	}
	const char *const fraction_end = end;

	if (*end)
		unit_bytes = suffix_bytes(end);
	if (*end && !unit_bytes)
		return EINVAL;
	if (error || __builtin_mul_overflow(number, unit_bytes, &product) ||
	    (fraction && __builtin_add_overflow(product, fraction_bytes(fraction, fraction_end, unit_bytes), &product)))
		return ERANGE;
	*bytes = product;
	return 0;
}

errcode_t units_parse_number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number)
{
	const char *end;
	uint64_t value;
	errcode_t error = read_digits(text, &end, &value);

	if (error == EINVAL || *end)
		return EINVAL;
	if (error || value < minimum || value > maximum)
		return ERANGE;
	*number = value;
	return 0;
}

struct units_text units_bytes(uint64_t bytes)
{
	static const char prefixes[] = "KMGTPE";
	struct units_text size;
	unsigned int power = 0;

	if (bytes < 1024) {
		snprintf(size.text, sizeof(size.text), "%u B", (unsigned int)bytes);
		return size;
	}
	for (;;) {
		uint64_t unit = UINT64_C(1) << (10 * (power + 1));
		/*
		 * The fraction in 1024ths (bytes * 10 need not fit 64 bits), rounded to tenths before the unit is
		 * chosen, so that 1023.96 KiB is "1.0 MiB" and not "1024.0 KiB".
		 */
		uint64_t fraction = bytes % unit / (unit / 1024);
		uint64_t tenths = bytes / unit * 10 + (fraction * 20 / 1024 + 1) / 2;

		if (tenths < 10240 || !prefixes[power + 1]) {
			snprintf(size.text, sizeof(size.text), "%u.%u %ciB", (unsigned int)(tenths / 10),
			         (unsigned int)(tenths % 10), prefixes[power]);
			return size;
		}
		power++;
	}
}
