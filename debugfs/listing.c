/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "listing.h"

#include <inttypes.h>

/* A left-aligned last column is not padded. */
static int width_of(const struct column *column)
{
	return column[1].name || column->width > 0 ? column->width : 0;
}

static const char *separator_after(const struct column *column)
{
	return column[1].name ? "  " : "\n";
}

void listing_begin(struct listing *listing, bool is_json, const struct column *columns)
{
	*listing = (struct listing){ .json = { .stream = stdout }, .is_json = is_json, .columns = columns };
	if (is_json) {
		json_open_array(&listing->json, NULL);
		return;
	}
	for (const struct column *column = columns; column->name; column++)
		printf("%*s%s", width_of(column), column->name, separator_after(column));
}

void listing_row(struct listing *listing, const struct cell *cells)
{
	if (listing->is_json)
		json_open_row(&listing->json, NULL);
	for (const struct column *column = listing->columns; column->name; column++, cells++) {
		if (!listing->is_json && cells->text)
			printf("%*s%s", width_of(column), cells->text, separator_after(column));
		else if (!listing->is_json)
			printf("%*" PRIu64 "%s", width_of(column), cells->number, separator_after(column));
		else if (cells->text)
			json_string(&listing->json, column->name, cells->text);
		else
			json_unsigned(&listing->json, column->name, cells->number);
	}
	if (listing->is_json)
		json_close_object(&listing->json);
}

errcode_t listing_end(struct listing *listing)
{
	if (!listing->is_json)
		return 0;
	json_close_array(&listing->json);
	return json_end(&listing->json);
}

errcode_t listing_kernel_form(bool is_json, enum kernel_form form, struct ext2mb *mb)
{
	struct json json = { .stream = stdout };

	if (!is_json)
		return kernel_form_print(form, mb, stdout);
	errcode_t error = kernel_form_write(form, mb, &json, NULL);
	return error ? error : json_end(&json);
}
