/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library to be preloaded: the host has as many processors as PROCESSORS says, and this process may use all of them.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static long count(void)
{
	const char *text = getenv("PROCESSORS");

	return text ? strtol(text, NULL, 10) : 1;
}

EXPORTED long sysconf(int name)
{
	long (*next)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");

	return name == _SC_NPROCESSORS_ONLN ? count() : next(name);
}

EXPORTED int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set)
{
	(void)process;
	memset(set, 0, bytes);
	for (long processor = 0; processor < count(); processor++)
		CPU_SET_S(processor, bytes, set);
	return 0;
}
