/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/compare/contention.h"

void contention_simulate(struct ext2mb *mb, const struct contention *contention)
{
	mb->contention = contention;
}
