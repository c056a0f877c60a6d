/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What could not be read: counted, and the first of it named, whichever worker met it. One thread at a time. */
#pragma once

#include "analyze/report/report.h"

void damage_add(struct damage_list *list, uint32_t ino, uint64_t block, const char *what);
void damage_merge(struct damage_list *to, const struct damage_list *from);
