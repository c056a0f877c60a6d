/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ext2mb_run_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "support/io/whole_io.h"
#include "support/run/program.h"

/* The kernel's limit for scripts that are interpreters of scripts. */
#define MOST_INTERPRETERS 4
#define SCRIPT_LINE_BYTES 256

typedef ElfW(Ehdr) elf_header;
typedef ElfW(Phdr) elf_segment;

static const char cannot_help[] = "cannot be run with libext2mb";

errcode_t program_locate(const char *name, char **path, struct problem *problem)
{
	static const char action[] = "cannot run";

	if (!strchr(name, '/')) {
		errcode_t error = program_find(name, path);

		return error == ENOENT ?
		               problem_set_reason(problem, error, name, action, "there is no such program on PATH") :
		       error ? problem_set(problem, error, name, action) :
		               0;
	}
	struct stat status;

	if (stat(name, &status) != 0 || access(name, X_OK) != 0)
		return problem_set(problem, errno, name, action);
	if (!S_ISREG(status.st_mode))
		return problem_set_reason(problem, EACCES, name, action, "it is not a file");
	*path = strdup(name);
	return *path ? 0 : problem_set(problem, ENOMEM, name, action);
}

const char *program_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* In secure execution (ld.so(8)) the linker takes no library from a folder that the caller chose. */
static bool gains_rights(int descriptor, const struct stat *status)
{
	if (((status->st_mode & S_ISUID) && status->st_uid != getuid()) ||
	    ((status->st_mode & S_ISGID) && status->st_gid != getgid()))
		return true;
	return getuid() && fgetxattr(descriptor, "security.capability", NULL, 0) > 0;
}

static bool read_at(int descriptor, void *bytes, size_t count, uint64_t offset)
{
	return pread(descriptor, bytes, count, (off_t)offset) == (ssize_t)count;
}

/* Are both for the same machine, so that one linker loads both? */
static bool is_alike(const elf_header *program, const elf_header *own)
{
	return program->e_ident[EI_CLASS] == own->e_ident[EI_CLASS] &&
	       program->e_ident[EI_DATA] == own->e_ident[EI_DATA] && program->e_machine == own->e_machine;
}

static bool has_linker(int descriptor, const elf_header *header)
{
	for (unsigned int index = 0; index < header->e_phnum; index++) {
		elf_segment segment;

		if (!read_at(descriptor, &segment, sizeof(segment),
		             header->e_phoff + (uint64_t)index * header->e_phentsize))
			return false;
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static errcode_t check_elf(const char *path, int descriptor, const elf_header *header, struct problem *problem)
{
	SCOPE_CLOSE int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	elf_header own;

	if (self < 0 || !read_at(self, &own, sizeof(own), 0))
		return problem_set(problem, self < 0 ? errno : EIO, "/proc/self/exe", "cannot read");
	if (!is_alike(header, &own))
		return problem_set_reason(problem, ENOEXEC, path, cannot_help, "it is for another kind of machine");
	if (!has_linker(descriptor, header))
		return problem_set_reason(problem, ENOEXEC, path, cannot_help, "it is linked statically");
	return 0;
}

/* line is the text after "#!". Returns false if it has no name. */
static bool interpreter_of(char *line, char **interpreter)
{
	line[strcspn(line, "\n")] = '\0';
	line += strspn(line, " \t");
	line[strcspn(line, " \t")] = '\0';
	*interpreter = line;
	return *line;
}

static errcode_t check_file(const char *path, unsigned int interpreters, struct problem *problem)
{
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	union {
		elf_header header;
		char text[SCRIPT_LINE_BYTES + 1];
	} start = { .text = "" };
	struct stat status;
	char *interpreter;

	/* A program that cannot be read may still be executable. */
	if (descriptor < 0 && errno == EACCES)
		return 0;
	if (descriptor < 0 || fstat(descriptor, &status) != 0)
		return problem_set(problem, errno, path, "cannot run");
	if (gains_rights(descriptor, &status))
		return problem_set_reason(
			problem, EPERM, path, cannot_help,
			"it is setuid, setgid or has capabilities, so the linker takes no library from us");
	ssize_t bytes = pread(descriptor, start.text, SCRIPT_LINE_BYTES, 0);

	if (bytes >= (ssize_t)sizeof(start.header) && memcmp(start.text, ELFMAG, SELFMAG) == 0)
		return check_elf(path, descriptor, &start.header, problem);
	if (bytes > 2 && memcmp(start.text, "#!", 2) == 0 && interpreters &&
	    interpreter_of(start.text + 2, &interpreter))
		return check_file(interpreter, interpreters - 1, problem);
	return 0;
}

errcode_t program_check(const char *path, struct problem *problem)
{
	return check_file(path, MOST_INTERPRETERS, problem);
}
