/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2populate's command line: mke2fs(8)'s options, and its own. */
#pragma once

#include "against_option.h"
#include "layer_cache_option.h"
#include "command/mke2fs_options.h"
#include "populate/build/options.h"
#include "source/kind/run_files.h"

/* The command does this with the cache of layers, and makes no image. */
struct layer_cache_command {
	bool lists, checks;
	const char *dropped, *unpinned; /* a digest, or "all"; NULL: nothing is dropped, or unpinned */
};

struct command {
	struct populate_options options;
	enum progress_style progress;
	bool quiet;
	bool verbose;    /* print what mke2fs says of the filesystem */
	bool json;       /* the report */
	bool force;      /* -F: do not ask */
	bool type_given; /* or implied */
	bool memory_given;
	bool metadata_limit_given;
	struct against against;
	bool zeros_given, layout_given, like_given;
	const char *reflink_given;         /* NULL: it is not */
	bool size_like;                    /* of the first source that is an image */
	bool lists_inputs;                 /* --list-inputs: no image is made */
	struct run_files files;            /* what is read and written */
	bool is_examination;               /* --doctor: no image is made */
	char size_text[MKE2FS_SIZE_BYTES]; /* a size that is not as the user gave it */
	bool is_mke2fs;                    /* invoked as mke2fs: only -d differs from it */
	const char *type;                  /* from the name it is invoked by: "ext3" for mkfs.ext3; NULL: none */
	struct argument_list sources, casefolded;
	struct argument_list mke2fs; /* what is passed on */
	char *extended;              /* all -E, owned */
	struct exclude *exclude;     /* owned; NULL: nothing is left out */
	struct exclude *verity;      /* owned; what fs-verity is to protect; NULL: nothing */
	struct owner_map owners;
	struct layer_cache_option layer_cache;
	struct layer_cache_command layers;
	struct problem problem; /* of the option that was just read */
};

/* Called by one of mke2fs's names? */
static inline bool is_stand_in(const struct command *command)
{
	return command->is_mke2fs || command->type;
}

/* True if the command line has anything that is not mke2fs's own: -d or a long option. Ignores wrong options. */
bool command_is_ours(int argument_count, char **arguments);

/* Reads the command line and SOURCE_DATE_EPOCH; wrong usage ends the program. arguments must outlive command. */
void command_parse(int argument_count, char **arguments, struct command *command);

void command_free(struct command *command);
