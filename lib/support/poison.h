/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tells AddressSanitizer which bytes of a buffer are undefined, such as those after the last one that was read: it
 * reports accesses to them as if they lay after the buffer's end. Other builds do nothing.
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

/* Called before they are written, and before memory that does not come from malloc(3) is released. */
static inline void poison_show(const void *bytes, size_t count)
{
#ifdef POISON_IS_SEEN
	__asan_unpoison_memory_region(bytes, count);
#else
	(void)bytes;
	(void)count;
#endif
}

/* Only these bytes of an area are defined, for instance one of its records. */
static inline void poison_hide_others(const void *area, size_t area_bytes, const void *bytes, size_t count)
{
	poison_hide(area, area_bytes);
	poison_show(bytes, count);
}
