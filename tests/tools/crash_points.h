/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks as a crash leaves them, from what recorded_disk.h has recorded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../unit/seeded_random.h"

struct crash_disk {
	uint8_t *base;  /* before the first event */
	uint8_t *bytes; /* at the crash */
	uint64_t size;
	bool tears_super; /* between its sectors, too */
};

struct crash_point {
	size_t end;            /* so many events had begun */
	unsigned long commits; /* that had returned by then */
	const char *loss;      /* what became of those after the last flush */
};

/* Fills in disk->bytes for a random moment. */
struct crash_point crash_disk_make(struct crash_disk *disk, struct random *random);
