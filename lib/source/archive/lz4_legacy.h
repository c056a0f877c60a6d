/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the end of a stream of lz4's legacy format, which the kernel's initramfs has. It is blocks, each after its size
 * in four bytes, and nothing says that no further one follows: the first bytes of a gzip stream are a possible size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lz4_legacy {
	bool is_followed;     /* the stream is one, and nothing else has been seen */
	bool is_over;         /* what comes next is no part of it */
	uint32_t block_bytes; /* of a block that have not come yet */
};

/* From the first bytes of the stream. */
struct lz4_legacy lz4_legacy_begin(const uint8_t *bytes, size_t count);

/*
 * How many of the next bytes belong to the stream. Fewer than there are, and it is not over: more have to be at hand to
 * tell, together with these. is_last: there are no more.
 */
size_t lz4_legacy_part(struct lz4_legacy *stream, const uint8_t *bytes, size_t count, bool is_last);
