/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Growing arrays: the caller keeps a plain typed pointer, a count and a capacity. */
#pragma once

#include <stddef.h>

#include "support/problem.h"

/*
 * Makes room for at least `needed` items of item_bytes each in *items, doubling *capacity. Existing items
 * keep their values, new ones are not initialised. ENOMEM (also on overflow) leaves everything as it was.
 */
MUST_CHECK errcode_t vector_reserve(void *items, size_t *capacity, size_t needed, size_t item_bytes);

/* Adds a copy of an item at the end. ENOMEM, as above. */
MUST_CHECK errcode_t vector_add(void *items, size_t *count, size_t *capacity, const void *item, size_t item_bytes);
