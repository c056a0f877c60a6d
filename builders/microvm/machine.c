/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* It can be written whatever the root filesystem is; /run may be the image's. */
#define OWN_FOLDER "/dev/.microvm"
#define HARMLESS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static const struct place {
	const char *path, *type, *options;
	unsigned long flags;
	bool if_empty; /* the image may have files there that programs need */
} places[] = {
	{ "/proc", "proc", NULL, HARMLESS, false },
	{ "/sys", "sysfs", NULL, HARMLESS, false },
	{ "/dev", "devtmpfs", "mode=755", MS_NOSUID, false },
	{ "/dev/pts", "devpts", "gid=5,mode=620,ptmxmode=666", MS_NOSUID | MS_NOEXEC, false },
	{ "/dev/shm", "tmpfs", "mode=1777", HARMLESS, false },
	{ "/tmp", "tmpfs", "mode=1777", MS_NOSUID | MS_NODEV, true },
	{ "/run", "tmpfs", "mode=755", MS_NOSUID | MS_NODEV, true },
};

void complain(const char *format, ...)
{
	va_list arguments;

	fputs("microvm: ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}

char *text_of(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0) {
		complain("no memory");
		exit(1);
	}
	va_end(arguments);
	return text;
}

bool write_file(const char *folder, const char *name, const char *text)
{
	char *path = text_of("%s/%s", folder, name);
	int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool is_written = descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text);
	const int error = errno;

	if (descriptor >= 0)
		close(descriptor);
	free(path);
	errno = error;
	return is_written;
}

void make_folders(const char *path)
{
	char *part = text_of("%s/", path);

	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)!mkdir(part, 0755);
		*slash = '/';
	}
	free(part);
}

static bool is_mount_point(const char *path)
{
	char *above = text_of("%s/..", path);
	struct stat own, outer;
	bool is_other = !stat(path, &own) && !stat(above, &outer) && own.st_dev != outer.st_dev;

	free(above);
	return is_other;
}

static bool is_empty(const char *path)
{
	DIR *directory = opendir(path);
	bool is_nothing = true;

	for (const struct dirent *entry; directory && (entry = readdir(directory));)
		is_nothing = is_nothing && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."));
	if (directory)
		closedir(directory);
	return is_nothing;
}

static void mount_place(const struct place *place)
{
	if (is_mount_point(place->path) || (place->if_empty && !is_empty(place->path)))
		return;
	make_folders(place->path);
	if (mount(place->type, place->path, place->type, place->flags, place->options) && errno != EBUSY)
		complain("%s: cannot mount %s: %s", place->path, place->type, strerror(errno));
}

/* Programs of containers expect these, which devtmpfs lacks. */
static void link_descriptors(void)
{
	(void)!symlink("/proc/self/fd", "/dev/fd");
	(void)!symlink("/proc/self/fd/0", "/dev/stdin");
	(void)!symlink("/proc/self/fd/1", "/dev/stdout");
	(void)!symlink("/proc/self/fd/2", "/dev/stderr");
}

/* Container images have no /dev/console, without which the kernel starts its first program with no files open. */
static void open_console(void)
{
	int console = fcntl(STDOUT_FILENO, F_GETFD) < 0 ? open("/dev/console", O_RDWR | O_NOCTTY) : -1;

	if (console < 0)
		return;
	for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
		if (descriptor != console)
			dup2(console, descriptor);
	if (console > STDERR_FILENO)
		close(console);
}

/* Some kernels mount the overlay only after their module has come; whatever starts the init has to load that. */
static bool lay_over(struct machine *machine, const char *device)
{
	bool is_memory = !strcmp(device, "tmpfs");
	char *disk = text_of("%s/overlay", machine->folder), *root = text_of("%s/root", machine->folder);
	char *options = text_of("lowerdir=/,upperdir=%s/upper,workdir=%s/work", disk, disk);
	char *upper = text_of("%s/upper", disk), *work = text_of("%s/work", disk), *moved = text_of("%s%s", root, disk);

	if (mount(device, disk, is_memory ? "tmpfs" : "ext4", 0, NULL)) {
		complain("%s: cannot mount on %s: %s", device, disk, strerror(errno));
		return false;
	}
	make_folders(upper);
	make_folders(work);
	if (mount("overlay", root, "overlay", 0, options) || mount(disk, moved, NULL, MS_MOVE, NULL) || chdir(root) ||
	    mount(root, "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/")) {
		complain("%s: cannot lay it over the root filesystem: %s", device, strerror(errno));
		return false;
	}
	machine->overlay = disk;
	free(root);
	free(options);
	free(upper);
	free(work);
	free(moved);
	return true;
}

/* A file of the image that says something stays, unless the command line says something else. */
static void provide(const char *name, const char *text, bool is_told)
{
	char *path = text_of("/etc/%s", name), *own = text_of(OWN_FOLDER "/%s", name);
	struct stat status;
	bool is_there = !stat(path, &status);

	if ((is_told || !is_there || !status.st_size) && !write_file("/etc", name, text)) {
		make_folders(OWN_FOLDER);
		if (!is_there || !write_file(OWN_FOLDER, name, text) || mount(own, path, NULL, MS_BIND, NULL))
			complain("%s: cannot write: %s", path, strerror(errno));
	}
	free(path);
	free(own);
}

/* The kernel writes what it has learnt by ip= as resolv.conf has it. */
static void provide_nameservers(void)
{
	const char *servers = getenv("NAMESERVER");
	const bool servers_told = servers;
	FILE *learnt = servers ? NULL : fopen("/proc/net/pnp", "re");
	char *text = strdup(""), line[256];

	while (learnt && fgets(line, sizeof(line), learnt))
		if (!strncmp(line, "nameserver ", 11) || !strncmp(line, "domain ", 7))
			text = text_of("%s%s", text, line);
	if (learnt)
		fclose(learnt);
	for (size_t bytes; servers && *servers; servers += bytes + (servers[bytes] == ',')) {
		bytes = strcspn(servers, ",");
		text = text_of("%snameserver %.*s\n", text, (int)bytes, servers);
	}
	if (*text)
		provide("resolv.conf", text, servers_told);
}

static void set_names(struct machine *machine)
{
	const char *told = getenv("HOSTNAME");
	char name[256] = "";

	(void)!gethostname(name, sizeof(name) - 1);
	machine->hostname = text_of("%s", told ?: *name && strcmp(name, "(none)") ? name : "microvm");
	if (sethostname(machine->hostname, strlen(machine->hostname)))
		complain("%s: cannot be the hostname: %s", machine->hostname, strerror(errno));
	char *own = text_of("%s\n", machine->hostname);
	char *hosts = text_of("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 %s\n",
	                      machine->hostname);

	provide("hostname", own, told);
	provide("hosts", hosts, told);
	provide_nameservers();
	free(own);
	free(hosts);
}

static void start_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (descriptor < 0)
		return;
	(void)!ioctl(descriptor, SIOCSIFFLAGS, &request);
	close(descriptor);
}

/* Is there a word of the kernel's command line that begins so? */
static bool kernel_is_told(const char *begin)
{
	char line[4096] = " ";
	FILE *file = fopen("/proc/cmdline", "re");
	bool is_read = file && fgets(line + 1, sizeof(line) - 1, file);
	char *word = text_of(" %s", begin);
	bool is_told = is_read && strstr(line, word);

	if (file)
		fclose(file);
	free(word);
	return is_told;
}

bool machine_prepare(struct machine *machine, const char *program)
{
	const char *slash = strrchr(program, '/'), *overlay = getenv("OVERLAY"), *port = getenv("EXIT_PORT");

	machine->folder = slash ? strndup(program, (size_t)(slash - program)) : strdup("");
	machine->exit_port = port ? (unsigned short)strtoul(port, NULL, 0) : 0;
	if (overlay)
		mount_place(&places[2]);
	open_console();
	if (!machine->folder || (overlay && !lay_over(machine, overlay)))
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		mount_place(&places[i]);
	open_console();
	link_descriptors();
	start_loopback();
	set_names(machine);
	machine->is_reset = kernel_is_told("reboot=");
	return true;
}
