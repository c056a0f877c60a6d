/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much memory a program may take. */
#pragma once

#include <stdint.h>

/*
 * Bytes that can be had without pushing others out: what the kernel calls available, or what the limits of the control
 * groups that we are in (both versions) leave, if that is less. An estimate of this moment; 0: nothing says.
 */
uint64_t memory_available(void);
