/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload/settings.h"

#include <stdlib.h>
#include <string.h>

bool settings_may_journal(const char *name)
{
	return strcmp(name, "fuse2fs") == 0 || strcmp(name, "debugfs") == 0;
}

int settings_export(bool journal, bool is_verbose)
{
	return setenv(SETTINGS_VARIABLE,
	              journal && is_verbose ? "journal,verbose" :
	              journal               ? "journal" :
	              is_verbose            ? "verbose" :
	                                      "",
	              1);
}
