/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives of tar from text, so that what is mutated is what they say, not their checksums, lengths and padding:
 *
 *   tar                 the first line; "tar.gz": what comes of it is packed
 *   0NAME               a member: tar's letter for its type, and its name
 *   >TARGET             of a link
 *   +KEY=VALUE          a record of its extended header; its length is counted
 *   =OFFSET TEXT        these bytes of its header instead
 *   |TEXT               a line of its contents; those of types x and g are extended headers as they are
 *
 * Any other input stays as it is, but for the checksums of tar's headers, which are made right.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The archive that an input means, as the caller frees it. */
uint8_t *tar_of_text(const uint8_t *bytes, size_t count, size_t *archive_bytes);
