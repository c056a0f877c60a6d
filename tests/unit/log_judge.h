/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by tests of a journal's overlay: reads a log_image, with its superblock, and judges it. */
#pragma once

#include "log_image.h"

/* The error has a problem of its own. */
errcode_t log_try(struct log_image *image, struct journal_overlay **overlay, struct problem *problem);

/* It must be read. */
struct journal_overlay *log_read(struct log_image *image);

/* It is refused, and the message has these words in it. */
void log_expect_refusal(struct log_image *image, errcode_t expected, const char *words);

/* It has these blocks and no others, with these contents. */
void log_expect_blocks(struct log_image *image, const struct log_tag *tags, size_t count);

#define LOG_EXPECT_BLOCKS(image, ...)                                                                                  \
	log_expect_blocks(image, (const struct log_tag[]){ __VA_ARGS__ },                                              \
	                  sizeof((const struct log_tag[]){ __VA_ARGS__ }) / sizeof(struct log_tag))
