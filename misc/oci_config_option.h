/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --oci-config: how a container is started from the image that is the source, in a file beside what is made of it. */
#pragma once

#include "populate/build/options.h"
#include "populate/build/report.h"

/* Ends the program if the file cannot be written, as far as that is known, or is another file of this run. */
void oci_config_check(const struct populate_options *options);

/* Writes the file, if it is wanted; it gets its name once it is whole. Errors of writing. */
MUST_CHECK errcode_t oci_config_write(const struct populate_options *options, const struct populate_report *report,
                                      struct problem *problem);
