/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images of disks that are packed, qcow2 and Android sparse ones: a raw image, or a problem. */
#include "fuzz.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/raw_image.h"

/* A bomb is a matter of limits, not of parsing. */
#define MOST_UNPACKED (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	const struct rlimit limit = { MOST_UNPACKED, RLIM_INFINITY };
	struct fuzz_path path = fuzz_file("disk", bytes, count);
	struct problem problem = { 0 };
	struct raw_image image;
	struct stat status;
	uint8_t head[DISK_FORM_BYTES];
	char what[RAW_IMAGE_FORM_BYTES];

	(void)!raw_image_head(path.text, head);
	if (!raw_image_form(path.text, what))
		return 0;
	setenv("TMPDIR", fuzz_folder(), 1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	errcode_t error = raw_image_open(path.text, NULL, NULL, &image, &problem);

	fuzz_check_problem(error, &problem);
	FUZZ_CHECK(error || (image.descriptor >= 0 && image.path));
	if (!error)
		FUZZ_CHECK(fstat(image.descriptor, &status) == 0 && S_ISREG(status.st_mode) && !status.st_nlink);
	raw_image_close(&image);
	return 0;
}
