// SPDX-License-Identifier: GPL-2.0-or-later
#include "e2frag_page.h"

#include <errno.h>
#include <sys/stat.h>

#include "populate/output/text_file.h"
#include "support/run/interrupt.h"

struct page {
	const struct report *before, *after;
	const struct form_parts *parts;
};

static errcode_t write_form(void *context, FILE *stream)
{
	const struct page *page = context;

	return form_html(page->before, page->after, page->parts, stream);
}

static bool is_shown(const struct report *report, const struct stat *page)
{
	struct stat status;

	return report && stat(report->filesystem.device, &status) == 0 && status.st_dev == page->st_dev &&
	       status.st_ino == page->st_ino;
}

errcode_t page_write(const char *path, const struct report *before, const struct report *after,
                     const struct form_parts *parts, struct problem *problem)
{
	struct page page = { before, after, parts };
	struct stat status;
	bool exists = stat(path, &status) == 0;

	if (exists && S_ISBLK(status.st_mode))
		return problem_set_reason(problem, EINVAL, path, "cannot write the page", "it is a device");
	if (exists && (is_shown(before, &status) || is_shown(after, &status)))
		return problem_set_reason(problem, EINVAL, path, "cannot write the page", "it is the image itself");
	/* While there is a temporary file; a pipe can be waited for as long as one likes. */
	if (!exists || S_ISREG(status.st_mode))
		interrupt_install();
	errcode_t error = text_file_write(path, write_form, &page, "cannot write the page", problem);

	interrupt_uninstall();
	if (error)
		interrupt_explain(path, problem);
	return error;
}
