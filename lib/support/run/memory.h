/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory that a program may take. */
#pragma once

#include <stdint.h>

/*
 * Returns how many bytes can be allocated without swapping: the kernel's MemAvailable, or what the limits of our
 * control groups (both versions) leave, if that is less. It is an estimate of this moment; 0: unknown.
 */
uint64_t memory_available(void);
