/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "platform_option.h"

#include "source/layers/platform.h"

void check_platform(struct command *command, const struct taken_option *option)
{
	struct platform platform;

	(void)command;
	if (platform_parse(option->argument, &platform))
		usage_error("--platform: %s is no OS/ARCH[/VARIANT], as linux/arm64 is", option->argument);
}
