/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What could not be read: counted, and the first of it named, whichever worker met it. */
#pragma once

#include "analyze/report/report.h"

/* Zero-initialise; one thread at a time. */
struct damage_list {
	uint64_t count;
	unsigned int kept;
	struct report_damage first[REPORT_MAX_DAMAGE]; /* the lowest by inode, block and text */
};

void damage_add(struct damage_list *list, uint32_t ino, uint64_t block, const char *what);
void damage_merge(struct damage_list *to, const struct damage_list *from);
