/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Platforms of container images by Go's names, which OCI uses: linux/amd64, linux/arm/v7. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "support/problem.h"

#define PLATFORM_WORD_BYTES 32

struct platform {
	char system[PLATFORM_WORD_BYTES], architecture[PLATFORM_WORD_BYTES];
	char variant[PLATFORM_WORD_BYTES]; /* "": any */
};

/* Reads "OS/ARCH" or "OS/ARCH/VARIANT". EINVAL. */
MUST_CHECK errcode_t platform_parse(const char *text, struct platform *platform);

/* linux on this host's processor. */
struct platform platform_of_host(void);

/*
 * Does a JSON object with os, architecture and perhaps variant, of a descriptor or a configuration, say this platform?
 * arm64 without a variant is v8, the only one that there is.
 */
bool platform_fits(const struct platform *platform, const json_object *object);

/* Writes "linux/arm/v7" of such an object; each part is cut at 160 bytes. */
void platform_print(const json_object *object, FILE *stream);

/*
 * Refuses an image whose configuration says another platform than `wanted`, as --platform has it; NULL: any will do,
 * and the configuration is not looked at. EINVAL. path: of the configuration.
 */
MUST_CHECK errcode_t platform_check(const char *wanted, const json_object *configuration, const char *path,
                                    struct problem *problem);
