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
#include <sys/wait.h>
#include <unistd.h>

#include "doctor_probes.h"
#include "source/host/host_xattrs.h"
#include "support/cleanup.h"
#include "support/run/control_group.h"
#include "support/run/memory.h"
#include "support/text/units.h"

/* An archive's unpacked bytes get a quarter of it. */
#define LITTLE_MEMORY (UINT64_C(512) << 20)

/* A thread has up to four descriptors, and up to 64 readers one or two. */
#define DESCRIPTORS_PER_THREAD 4
#define OTHER_DESCRIPTORS 256

/* --- Processors and memory -------------------------------------------------------------------------------------- */

/* In percent of one processor. */
static uint64_t read_quota(const char *directory, bool is_first_version)
{
	SCOPE_FREE char *quota_path = NULL, *period_path = NULL;
	uint64_t quota, period;

	if (asprintf(&quota_path, "%s/%s", directory, is_first_version ? "cpu.cfs_quota_us" : "cpu.max") < 0 ||
	    asprintf(&period_path, "%s/cpu.cfs_period_us", directory) < 0)
		return UINT64_MAX;
	SCOPE_FCLOSE FILE *file = fopen(quota_path, "re"), *period_file = fopen(period_path, "re");
	/* Without a limit the first number is "max", or -1. */
	bool is_known = file && fscanf(file, "%" SCNu64, &quota) == 1 && quota <= INT64_MAX &&
	                fscanf(is_first_version && period_file ? period_file : file, "%" SCNu64, &period) == 1 &&
	                period;

	return is_known ? quota * 100 / period : UINT64_MAX;
}

static void probe_processors(struct findings *findings)
{
	cpu_set_t set;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	long allowed = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : online;
	uint64_t percent = control_group_least("cpu", read_quota);

	if (allowed < online)
		finding_add(findings, "processors", FINDING_SLOW,
		            "As many threads work as are online. Give --threads=N with those that are allowed.",
		            "%ld online, %ld allowed", online, allowed);
	else if (online == 1)
		finding_add(findings, "processors", FINDING_SLOW,
		            "Threads do not help with one processor: --threads=0 is as fast.", "1 online");
	else
		finding_add_ok(findings, "processors", "%ld online, %ld allowed", online, allowed);
	if (percent == UINT64_MAX)
		finding_add_ok(findings, "processor_quota", "none");
	else if (percent < (uint64_t)online * 100)
		finding_add(findings, "processor_quota", FINDING_SLOW,
		            "The control group allows less than the processors that are online. Give --threads=N.",
		            "%" PRIu64 ".%02" PRIu64 " processors", percent / 100, percent % 100);
	else
		finding_add_ok(findings, "processor_quota", "%" PRIu64 ".%02" PRIu64 " processors", percent / 100,
		               percent % 100);
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
	pid_t child = fork();
	int status;

	if (child < 0)
		return errno;
	if (!child)
		_exit(unshare(CLONE_NEWUSER) < 0 ? errno : 0);
	if (waitpid(child, &status, 0) < 0)
		return errno;
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
	probe_processors(findings);
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
