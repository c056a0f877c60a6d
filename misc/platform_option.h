/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --platform: which of the images that an index lists is a source. */
#pragma once

#include "command/command_line.h"

/* Ends the program as wrong usage unless the argument is OS/ARCH[/VARIANT]. */
void check_platform(struct command *command, const struct taken_option *option);

#define PLATFORM_ROW(member)                                                                                           \
	{                                                                                                              \
		.name = "platform", .argument = "OS/ARCH[/VARIANT]", .kind = ARGUMENT_TEXT,                            \
		.words = "linux/amd64|linux/arm64|linux/arm/v7|linux/riscv64|linux/s390x|linux/ppc64le",               \
		FIELD(member), .set = check_platform,                                                                  \
		.help = "which of a container image's platforms is taken (where it has several: linux on\n"            \
			"this host's processor)"                                                                       \
	}
