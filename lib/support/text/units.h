/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers with units: reads them as mke2fs(8) does, and writes them for people. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

/*
 * Reads a number (123, 64K, 20G, 1.5GiB, 10MB) followed by at most one of s (512-byte sectors); K, M, G, T, P or KiB,
 * MiB, ... (powers of 1024); KB, MB, ... (powers of 1000). The letter before iB or B may be small. With a letter the
 * number may have a fraction; what it names is rounded down to whole bytes. A number without a suffix is multiplied by
 * unit_bytes (mke2fs: the block size, or 1024 for a size). EINVAL on anything else, ERANGE when it does not fit 64
 * bits.
 */
MUST_CHECK errcode_t units_parse_bytes(const char *text, uint64_t unit_bytes, uint64_t *bytes);

/* Reads a decimal number in [minimum, maximum] with nothing after it. EINVAL or ERANGE. */
MUST_CHECK errcode_t units_parse_number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number);

/* The plural's ending: "s" for any number but 1. */
static inline const char *units_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

struct units_text {
	char text[32];
};

/* "512 B", "1.5 KiB", "20.0 GiB". */
struct units_text units_bytes(uint64_t bytes);
