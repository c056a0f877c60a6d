/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first program of a virtual machine whose root filesystem is a container image: does what a container's runtime
 * does with the image's configuration, and powers the machine off when the program has ended. doc/RECIPES.md shows its
 * use.
 *
 * It lies in a folder of the image, with config.json, as e2populate --oci-config=FILE writes it. The kernel's command
 * line:
 *
 *   init=/FOLDER/init  -- WORD...  instead of the configuration's Cmd
 *   HOSTNAME=NAME                  of the machine (default: what the kernel was given, or "microvm")
 *   NAMESERVER=ADDRESS[,ADDRESS]   for resolv.conf (default: what the kernel's ip= has learnt)
 *   OVERLAY=DEVICE|tmpfs           the root filesystem stays as it is: changes go to this ext4 filesystem, or to memory
 *                                  (the folder needs two empty folders for that, "overlay" and "root")
 *   EXIT_PORT=NUMBER               of qemu's isa-debug-exit: qemu ends with status 2 * N + 1 (x86 alone)
 *
 * The program's exit status N (128 and its number after a signal) is a line of the console, "microvm: exit status N",
 * and, where that can be written, the file "status" of the folder. 126 and 127 are as a shell's: it could not be
 * started, or is not there.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <sys/io.h>
#endif

/* Other programs get this time to end by themselves after the program has ended. */
#define LAST_MILLISECONDS 2000

#define STATUS_CANNOT_START 126
#define STATUS_NOT_FOUND 127

static _Noreturn void power_off(const struct machine *machine, int status)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", status);
	if (machine->folder)
		(void)!write_file(machine->folder, "status", text);
	printf("microvm: exit status %d\n", status);
	fflush(stdout);
	sync();
	/* With OVERLAY the disk below it has to be clean, too. The order matters: an overlay writes to it. */
	(void)!mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL);
	if (machine->overlay)
		(void)!mount(NULL, machine->overlay, NULL, MS_REMOUNT | MS_RDONLY, NULL);
#if defined(__x86_64__) || defined(__i386__)
	if (machine->exit_port && !iopl(3))
		outl((unsigned int)status, machine->exit_port);
#endif
	/* Firecracker ends when its machine is reset, and says so on the command line that it recommends. */
	reboot(machine->is_reset ? RB_AUTOBOOT : RB_POWER_OFF);
	_exit(status);
}

/* Reaps what has ended. True: the program has, and *status is its. */
static bool reap(pid_t program, int *status)
{
	bool has_ended = false;
	int one;

	for (pid_t child; (child = waitpid(-1, &one, WNOHANG)) > 0;) {
		if (child != program)
			continue;
		has_ended = true;
		*status = WIFSIGNALED(one) ? 128 + WTERMSIG(one) : WEXITSTATUS(one);
	}
	return has_ended;
}

/* Passes signals on, and waits for the program. The kernel makes SIGINT of Ctrl-Alt-Del, by which hosts ask for an end.
 */
static int wait_for(pid_t program, const sigset_t *all, int stop_signal)
{
	siginfo_t information;
	int status = 0;

	for (;;) {
		int number = sigwaitinfo(all, &information);

		if (number == SIGCHLD && reap(program, &status))
			return status;
		if (number == SIGINT || number == SIGPWR)
			kill(program, stop_signal);
		else if (number > 0 && number != SIGCHLD)
			kill(program, number);
	}
}

/* Ends all other programs. */
static void end_others(void)
{
	const struct timespec step = { .tv_nsec = 10000000 };
	int status;

	kill(-1, SIGTERM);
	for (int waited = 0; waited < LAST_MILLISECONDS && waitpid(-1, &status, WNOHANG) >= 0; waited += 10)
		nanosleep(&step, NULL);
	kill(-1, SIGKILL);
	while (waitpid(-1, &status, 0) > 0)
		;
}

/* In the child. Without its user, the program must not run at all. */
static _Noreturn void start_program(const struct start *start)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	(void)!ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	/* A program that opens /dev/stdout opens the console again. */
	(void)!fchown(STDOUT_FILENO, start->user.uid, (gid_t)-1);
	if (setgroups(start->user.group_count, start->user.groups) || setgid(start->user.gid) ||
	    setuid(start->user.uid)) {
		complain("cannot become user %u: %s", start->user.uid, strerror(errno));
		_exit(STATUS_CANNOT_START);
	}
	if (chdir(start->directory)) {
		complain("%s: cannot enter: %s", start->directory, strerror(errno));
		_exit(STATUS_CANNOT_START);
	}
	environ = start->environment;
	execvp(start->arguments[0], start->arguments);
	const int error = errno;

	complain("%s: cannot start: %s", start->arguments[0], strerror(error));
	_exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_START);
}

int main(int argument_count, char **arguments)
{
	struct machine machine = { 0 };
	struct start start = { 0 };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (getpid() != 1) {
		complain("this is for the first program of a machine");
		return STATUS_CANNOT_START;
	}
	(void)!reboot(RB_DISABLE_CAD);
	if (!machine_prepare(&machine, arguments[0]) ||
	    !start_read(&start, &machine, argument_count - 1, arguments + 1))
		power_off(&machine, STATUS_CANNOT_START);
	pid_t program = fork();

	if (program == 0)
		start_program(&start);
	if (program < 0) {
		complain("cannot fork: %s", strerror(errno));
		power_off(&machine, STATUS_CANNOT_START);
	}
	int status = wait_for(program, &all, start.stop_signal);

	end_others();
	power_off(&machine, status);
}
