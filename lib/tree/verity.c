/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/verity.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	uint8_t algorithm;
	const struct nettle_hash *hash;
} algorithms[] = {
	{ "sha256", VERITY_SHA256, &nettle_sha256 },
	{ "sha512", VERITY_SHA512, &nettle_sha512 },
};

#define ALGORITHMS (sizeof(algorithms) / sizeof(*algorithms))

static size_t number_of(uint8_t algorithm)
{
	size_t number = 0;

	while (number < ALGORITHMS - 1 && algorithms[number].algorithm != algorithm)
		number++;
	return number;
}

const struct nettle_hash *tree_verity_hash(uint8_t algorithm)
{
	return algorithms[number_of(algorithm)].hash;
}

const char *tree_verity_algorithm_name(uint8_t algorithm)
{
	return algorithms[number_of(algorithm)].name;
}

uint8_t tree_verity_algorithm(const char *name, size_t bytes)
{
	for (size_t number = 0; number < ALGORITHMS; number++)
		if (strlen(algorithms[number].name) == bytes && !memcmp(algorithms[number].name, name, bytes))
			return algorithms[number].algorithm;
	return 0;
}

void tree_verity_text(uint8_t algorithm, const uint8_t *digest, char text[TREE_VERITY_TEXT_BYTES])
{
	char *end = text + sprintf(text, "%s:", tree_verity_algorithm_name(algorithm));

	for (unsigned int byte = 0; byte < verity_digest_bytes(algorithm); byte++)
		end += sprintf(end, "%02x", digest[byte]);
}

static int digit(char character)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *found = character ? strchr(digits, character) : NULL;

	return found ? (int)((found - digits) % 16) : -1;
}

bool tree_verity_read_digits(const char *text, uint8_t *bytes, size_t most_bytes, size_t *count)
{
	for (*count = 0; *text; text += 2) {
		int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

		if (low < 0 || *count == most_bytes)
			return false;
		bytes[(*count)++] = (uint8_t)(high << 4 | low);
	}
	return true;
}
