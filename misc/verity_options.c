/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verity_options.h"

#include <string.h>

static void take_block_size(struct tree_verity *form, const struct taken_option *option)
{
	uint8_t bits = VERITY_LEAST_BLOCK_BITS;

	while (bits < VERITY_MOST_BLOCK_BITS && UINT64_C(1) << bits < option->value)
		bits++;
	if (UINT64_C(1) << bits != option->value)
		usage_error("--verity-block-size: %s is not a power of two", option->argument);
	form->block_bits = bits;
}

static void take_salt(struct tree_verity *form, const struct taken_option *option)
{
	size_t bytes;

	if (!tree_verity_read_digits(option->argument, form->salt, sizeof(form->salt), &bytes))
		usage_error("--verity-salt: %s is not 0 to %u bytes in hexadecimal digits", option->argument,
		            VERITY_MOST_SALT_BYTES);
	form->salt_bytes = (uint8_t)bytes;
}

void verity_option_take(struct verity_rules *rules, const struct taken_option *option)
{
	static const uint8_t algorithms[] = { VERITY_SHA256, VERITY_SHA512 };
	const char *name = option->row->name;

	if (!strcmp(name, "verity-hash-alg"))
		rules->form.algorithm = algorithms[option->value];
	else if (!strcmp(name, "verity-block-size"))
		take_block_size(&rules->form, option);
	else
		take_salt(&rules->form, option);
}

void verity_options_check(struct verity_rules *rules)
{
	const struct tree_verity *form = &rules->form;

	if (!rules->patterns && (form->algorithm || form->block_bits || form->salt_bytes || rules->signatures))
		usage_error("--verity-%s: it needs --verity=PATTERN, which says what is protected",
		            form->algorithm  ? "hash-alg" :
		            form->block_bits ? "block-size" :
		            form->salt_bytes ? "salt" :
		                               "signature");
	if (!form->algorithm)
		rules->form.algorithm = VERITY_SHA256;
}
