/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "doctor_probes.h"
#include "source/host/host_xattrs.h"
#include "support/cleanup.h"
#include "support/run/children.h"
#include "support/run/memory.h"
#include "support/run/processors.h"
#include "support/text/units.h"

/* An archive's unpacked bytes get a quarter of it. */
#define LITTLE_MEMORY (UINT64_C(512) << 20)

/* A thread has up to four descriptors, and up to 64 readers one or two. */
#define DESCRIPTORS_PER_THREAD 4
#define OTHER_DESCRIPTORS 256

/* --- Processors and memory -------------------------------------------------------------------------------------- */

static void probe_processors(struct findings *findings, unsigned int threads)
{
	struct processors processors;

	processors_count(&processors);
	unsigned int usable = processors_usable(&processors);
	uint64_t percent = processors.quota_percent;

	finding_add_ok(findings, "processors", "%u online, %u allowed", processors.online, processors.allowed);
	if (percent == UINT64_MAX)
		finding_add_ok(findings, "processor_quota", "none");
	else
		finding_add_ok(findings, "processor_quota", "%" PRIu64 ".%02" PRIu64 " processors", percent / 100,
		               percent % 100);
	if (usable == 1)
		finding_add(findings, "threads", FINDING_SLOW,
		            "Threads do not help with one processor: --threads=0 is as fast.",
		            "%u, of which 1 runs at once", threads);
	else if (threads > usable)
		finding_add(findings, "threads", FINDING_SLOW,
		            "Affinity and control groups allow fewer: leave --threads out.",
		            "%u, of which %u run at once", threads, usable);
	else
		finding_add_ok(findings, "threads", "%u, of which %u run at once", threads,
		               usable < threads ? usable : threads);
}

static void probe_memory(struct findings *findings)
{
	uint64_t bytes = memory_available();

	if (!bytes)
		finding_add(findings, "memory", FINDING_LACKS,
		            "Archives cannot be read without --memory=SIZE and --limit=metadata=SIZE.", "unknown");
	else if (bytes < LITTLE_MEMORY)
		finding_add(findings, "memory", FINDING_SLOW,
		            "What archives unpack to goes to temporary files. --threads=N with a smaller N takes less.",
		            "%s available", units_bytes(bytes).text);
	else
		finding_add_ok(findings, "memory", "%s available", units_bytes(bytes).text);
}

static void probe_limits(struct findings *findings, unsigned int threads)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		uint64_t needed = (uint64_t)threads * DESCRIPTORS_PER_THREAD + OTHER_DESCRIPTORS;

		if (limit.rlim_max < needed)
			finding_add(findings, "open_files", FINDING_LACKS,
			            "This may be too few for so many threads: raise it with ulimit -Hn, or give "
			            "--threads=N.",
			            "%" PRIu64, (uint64_t)limit.rlim_max);
		else
			finding_add_ok(findings, "open_files", "%" PRIu64, (uint64_t)limit.rlim_max);
	}
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0) {
		if (limit.rlim_cur == RLIM_INFINITY)
			finding_add_ok(findings, "file_size", "unlimited");
		else
			finding_add(findings, "file_size", FINDING_LACKS,
			            "A larger image fails: raise it with ulimit -f.", "%s",
			            units_bytes(limit.rlim_cur).text);
	}
}

/* --- The kernel --------------------------------------------------------------------------------------------------- */

static void probe_kernel(struct findings *findings)
{
	struct host_xattrs xattrs;
	struct utsname name;
	struct statfs status;
	bool has_proc = statfs("/proc", &status) == 0 && status.f_type == PROC_SUPER_MAGIC;

	if (uname(&name) == 0)
		finding_add_ok(findings, "kernel", "%s %s", name.release, name.machine);
	if (has_proc)
		finding_add_ok(findings, "proc", "mounted");
	else
		finding_add(findings, "proc", FINDING_LACKS,
		            "Images are made under a temporary name, and the memory available is unknown: mount /proc.",
		            "not mounted");
	if (host_xattrs_init(&xattrs))
		return;
	if (!xattrs.lacks_at_calls)
		finding_add_ok(findings, "getxattrat", "yes");
	else if (has_proc)
		finding_add(findings, "getxattrat", FINDING_SLOW,
		            "Extended attributes are read through /proc, with more system calls. Linux 6.13 has it, "
		            "without "
		            "LD_PRELOAD and filters of system calls.",
		            "no");
	else
		finding_add(findings, "getxattrat", FINDING_LACKS,
		            "Extended attributes of symbolic links, devices and the like cannot be read: mount /proc.",
		            "no");
	host_xattrs_destroy(&xattrs);
}

/* Does the effective set of capabilities have it? */
static bool has_capability(unsigned int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &header, data) == 0 &&
	       data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

static void probe_capability(struct findings *findings, const char *key, unsigned int capability, const char *name,
                             const char *advice)
{
	if (has_capability(capability))
		finding_add_ok(findings, key, "yes");
	else
		finding_add(findings, key, FINDING_LACKS, advice, "no: they need %s", name);
}

/* Without CAP_SYS_ADMIN trusted.* is not even listed, so no call tells what is left out. */
static void probe_rights(struct findings *findings)
{
	finding_add_ok(findings, "user", "%u", (unsigned int)geteuid());
	probe_capability(findings, "trusted_xattrs", CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
	                 "Attributes trusted.* of directories, as those of overlayfs, are left out. Archives have them "
	                 "for any user.");
	probe_capability(findings, "all_files", CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	                 "A directory as SOURCE may only have files that this user can read. --owner-map and "
	                 "--root-owned set owners.");
}

static errcode_t try_user_namespace(void)
{
	pid_t child = children_fork();
	int status;

	if (!child)
		_exit(unshare(CLONE_NEWUSER) < 0 ? errno : 0);
	errcode_t error = child < 0 ? errno : children_wait(child, &status);

	if (error)
		return error;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/* The kernel may make a device for this; it keeps it for the next one that asks. */
static errcode_t try_loop_device(void)
{
	SCOPE_CLOSE int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (control < 0 || ioctl(control, LOOP_CTL_GET_FREE) < 0)
		return errno;
	return has_capability(CAP_SYS_ADMIN) ? 0 : EPERM;
}

static errcode_t try_fuse(void)
{
	SCOPE_CLOSE int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	return device < 0 ? errno : 0;
}

void doctor_probe_host(struct findings *findings, unsigned int threads)
{
	probe_processors(findings, threads);
	probe_memory(findings);
	probe_limits(findings, threads);
	probe_kernel(findings);
	probe_rights(findings);
	finding_add_error(findings, "user_namespaces", try_user_namespace(), FINDING_LACKS,
	                  "Files of rootless containers cannot be read with podman unshare.");
	finding_add_error(
		findings, "loop_mounts", try_loop_device(), FINDING_LACKS,
		"mount -o loop does not work here. Making images needs no mount, and fuse2fs(1) can show them.");
	finding_add_error(findings, "fuse", try_fuse(), FINDING_LACKS,
	                  "fuse2fs(1) does not work here. Making images does not need it.");
}
