/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --strip-components of the tools that read sources. */
#pragma once

#include "command/command_line.h"

#define STRIP_COMPONENTS_ROW(member)                                                                                   \
	{                                                                                                              \
		.name = "strip-components", .argument = "N", .kind = ARGUMENT_NUMBER, .minimum = 0, .maximum = 1000,   \
		FIELD(member),                                                                                         \
		.help = "names in archives and manifests lose their first N components, as with tar;\n"                \
			"the directory that then has no name is the root"                                              \
	}
