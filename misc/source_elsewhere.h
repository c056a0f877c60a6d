/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of -d that lead to another host or to a registry, which no tool of ours reads. */
#pragma once

/*
 * Ends the program as wrong usage if the name is a URL, an image of a registry or a container engine, or a path on
 * another host, and no file has this name. The message has the command that fetches it.
 */
void refuse_source_elsewhere(const char *name);
