/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The projects that files belong to (feature project), as host directories say. Archives and manifests know none, only
 * whether what is made in a directory will be in its project.
 * mke2fs -d leaves them out: after it all files are project 0's.
 */
#ifndef POPULATE_PROJECTS_H
#define POPULATE_PROJECTS_H

#include "populate/build.h"

struct project {
	uint32_t id;
	bool is_inherited; /* a directory: by what is made in it */
};

/*
 * Makes build->projects, once, if the image has the feature. In parallel; errors of file_getattr(2), ENOMEM,
 * EINTR. What a kernel before 6.17, or the filesystem, does not say (of symbolic links, devices and so on) has the
 * project of its directory where that one is inherited, as if it were made there, else 0.
 */
MUST_CHECK errcode_t projects_read(struct build *build, struct problem *problem);
void projects_free(struct build *build);

/* 0 where nothing is known. */
static inline struct project project_of(const struct build *build, uint32_t node)
{
	return build->projects ? build->projects[node] : (struct project){ 0 };
}

#endif
