/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images of disks that are packed with gzip, zstd or xz, and qcow2: a raw image, or a problem. */
#include "fuzz.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/disk/raw_image.h"

/* A bomb is a matter of limits, not of parsing. */
#define MOST_UNPACKED (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	const struct rlimit limit = { MOST_UNPACKED, RLIM_INFINITY };
	struct fuzz_path path = fuzz_file("disk", bytes, count);
	struct problem problem = { 0 };
	enum raw_image_packing packing = raw_image_packing_of(path.text);
	int raw;

	if (packing == RAW_IMAGE_NOT_PACKED)
		return 0;
	setenv("TMPDIR", fuzz_folder(), 1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	errcode_t error = raw_image_unpack(path.text, packing, NULL, &raw, &problem);
	struct stat status;

	fuzz_check_problem(error, &problem);
	FUZZ_CHECK((raw >= 0) == !error);
	if (!error) {
		FUZZ_CHECK(fstat(raw, &status) == 0 && S_ISREG(status.st_mode) && !status.st_nlink);
		close(raw);
	}
	return 0;
}
