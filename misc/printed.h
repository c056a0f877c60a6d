/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How --help and --version end every tool. */
#ifndef MISC_PRINTED_H
#define MISC_PRINTED_H

/* Exits with success if all that was printed is written; else says why not, and exits with failure. */
void exit_after_printing(const char *tool) __attribute__((noreturn));

#endif
