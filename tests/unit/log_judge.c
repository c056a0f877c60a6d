/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log_judge.h"

#include <string.h>

#include "unit.h"

errcode_t log_try(struct log_image *image, struct journal_overlay **overlay, struct problem *problem)
{
	*overlay = NULL;
	*problem = (struct problem){ 0 };
	log_image_finish(image);
	errcode_t error = journal_overlay_read(&image->source, overlay, problem);

	ck_assert_int_eq(error, problem->error);
	return error;
}

struct journal_overlay *log_read(struct log_image *image)
{
	struct journal_overlay *overlay;
	struct problem problem;
	errcode_t error = log_try(image, &overlay, &problem);

	ck_assert_msg(!error, "%s", problem.reason ? problem.reason : "an error without a reason");
	return overlay;
}

void log_expect_refusal(struct log_image *image, errcode_t expected, const char *words)
{
	struct journal_overlay *overlay;
	struct problem problem;
	errcode_t error = log_try(image, &overlay, &problem);
	SCOPE_FREE char *text = error ? problem_text(&problem) : NULL;

	ck_assert_msg(error == expected, "%ld instead of %ld: %s", (long)error, (long)expected, text ? text : "read");
	ck_assert_msg(strstr(text, words) != NULL, "\"%s\" is not in: %s", words, text);
	ck_assert_ptr_nonnull(strstr(text, "image: cannot read the journal: "));
	ck_assert_ptr_null(overlay);
	problem_clear(&problem);
}

static void expect_contents(const struct journal_overlay *overlay, const struct log_image *image,
                            const struct log_tag *tag)
{
	uint8_t bytes[3 * LOG_BLOCK_BYTES], expected[LOG_BLOCK_BYTES];
	struct journal_overlay_block found;

	ck_assert_msg(journal_overlay_find(overlay, tag->block, &found), "block %llu is not there",
	              (unsigned long long)tag->block);
	ck_assert_uint_eq(found.is_escaped, tag->has_magic);
	memset(expected, tag->fill, sizeof(expected));
	if (tag->has_magic)
		memcpy(expected, "\xc0\x3b\x39\x98", 4);
	ck_assert_int_eq(journal_overlay_apply(overlay, &image->source, tag->block - 1, 3, bytes), 0);
	ck_assert_mem_eq(bytes + LOG_BLOCK_BYTES, expected, sizeof(expected));
}

void log_expect_blocks(struct log_image *image, const struct log_tag *tags, size_t count)
{
	struct journal_overlay *overlay = log_read(image);

	ck_assert_uint_eq(journal_overlay_count(overlay), count);
	for (size_t index = 0; index < count; index++)
		expect_contents(overlay, image, &tags[index]);
	for (size_t index = 1; index < count; index++)
		ck_assert_uint_lt(journal_overlay_get(overlay, index - 1).block,
		                  journal_overlay_get(overlay, index).block);
	journal_overlay_free(overlay);
}
