/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tells AddressSanitizer which bytes of a buffer mean nothing, such as those after the last one that was read: to look
 * at them is found as if they lay after the buffer's end. Other builds do nothing.
 */
#pragma once

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISON_IS_SEEN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON_IS_SEEN 1
#endif
#endif

#ifdef POISON_IS_SEEN
#include <sanitizer/asan_interface.h>
#endif

static inline void poison_hide(const void *bytes, size_t count)
{
#ifdef POISON_IS_SEEN
	__asan_poison_memory_region(bytes, count);
#else
	(void)bytes;
	(void)count;
#endif
}

/* Before they are written, and before memory that does not come from malloc(3) is given back. */
static inline void poison_show(const void *bytes, size_t count)
{
#ifdef POISON_IS_SEEN
	__asan_unpoison_memory_region(bytes, count);
#else
	(void)bytes;
	(void)count;
#endif
}

/* Only these of an area's bytes mean something: one of the records that lie in it, say. */
static inline void poison_hide_others(const void *area, size_t area_bytes, const void *bytes, size_t count)
{
	poison_hide(area, area_bytes);
	poison_show(bytes, count);
}
