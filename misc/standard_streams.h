/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The standard streams of every tool. */
#ifndef MISC_STANDARD_STREAMS_H
#define MISC_STANDARD_STREAMS_H

/*
 * Opens those of the descriptors 0 to 2 that the caller has closed, so that no file that is opened later gets their
 * numbers: what is printed would go into it. Reading from and writing to such a stream fails with EBADF, so output
 * is never lost without an error. Called first in main(). Ends the program where a descriptor cannot be opened.
 */
void standard_streams_open(void);

/* Exits with success if all that was printed is written; else says why not, and exits with failure. */
void exit_after_printing(const char *tool) __attribute__((noreturn));

#endif
