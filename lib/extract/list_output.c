/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists a tree: as text, in the form in which tar(1) lists an archive with tv, and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "extract/tree_output.h"
#include "support/text/json.h"
#include "support/utf8.h"
#include "tree/details.h"
#include "tree/file_flags.h"

/* Owner and size share a column, as in tar(1). It begins with this width, and becomes wider if it has to. */
#define LEAST_COLUMN 19

struct list {
	const struct extraction *extraction;
	struct output_sink *sink;
	FILE *stream;
	struct json json;
	int column;
};

static errcode_t list_open(struct extraction *extraction, struct output_sink *sink, void **state)
{
	struct list *list = calloc(1, sizeof(*list));

	*state = list;
	if (!list)
		return ENOMEM;
	list->extraction = extraction;
	list->sink = sink;
	list->column = LEAST_COLUMN;
	list->stream = output_sink_stream(sink);
	list->json = (struct json){ .stream = list->stream };
	return list->stream ? 0 : ENOMEM;
}

static void list_close(void *state)
{
	struct list *list = state;

	if (!list)
		return;
	if (list->stream)
		fclose(list->stream);
	free(list);
}

static errcode_t list_end(void *state)
{
	struct list *list = state;

	return fflush(list->stream) ? list->sink->error : 0;
}

/* --- For people --------------------------------------------------------------------------------------------------- */

static char type_letter(const struct output_node *output)
{
	static const struct {
		mode_t type;
		char letter;
	} letters[] = { { S_IFDIR, 'd' }, { S_IFLNK, 'l' }, { S_IFCHR, 'c' },
		        { S_IFBLK, 'b' }, { S_IFIFO, 'p' }, { S_IFSOCK, 's' } };

	if (output->link_to != output->number)
		return 'h';
	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if ((output->node->mode & S_IFMT) == letters[i].type)
			return letters[i].letter;
	return '-';
}

/* Prints "-rwxr-sr-t", in ls(1)'s form. */
static void print_mode(const struct output_node *output, FILE *stream)
{
	static const struct {
		unsigned int bit;
		char with_execution, alone;
	} specials[] = { { S_ISUID, 's', 'S' }, { S_ISGID, 's', 'S' }, { S_ISVTX, 't', 'T' } };
	unsigned int mode = output->node->mode;

	putc(type_letter(output), stream);
	for (unsigned int who = 0; who < 3; who++) {
		unsigned int bits = mode >> (6 - 3 * who);
		bool executes = bits & 1;

		putc(bits & 4 ? 'r' : '-', stream);
		putc(bits & 2 ? 'w' : '-', stream);
		if (mode & specials[who].bit)
			putc(executes ? specials[who].with_execution : specials[who].alone, stream);
		else
			putc(executes ? 'x' : '-', stream);
	}
}

/* "0/0      4096" */
static void print_owner_and_size(struct list *list, const struct output_node *output)
{
	const struct tree_node *node = output->node;
	char owner[32], size[32] = "0";

	int owner_bytes = snprintf(owner, sizeof(owner), "%" PRIu32 "/%" PRIu32, node->uid, node->gid);
	int size_bytes = 1;

	if (S_ISREG(node->mode) && output->link_to == output->number)
		size_bytes = snprintf(size, sizeof(size), "%" PRIu64, node->size_bytes);
	else if (S_ISCHR(node->mode) || S_ISBLK(node->mode))
		size_bytes =
			snprintf(size, sizeof(size), "%" PRIu32 ",%" PRIu32, node->device.major, node->device.minor);
	if (owner_bytes + 1 + size_bytes > list->column)
		list->column = owner_bytes + 1 + size_bytes;
	fprintf(list->stream, " %s %*s", owner, list->column - owner_bytes - 1, size);
}

static void print_time(const struct tree_node *node, FILE *stream)
{
	time_t seconds = (time_t)node->mtime_seconds;
	struct tm parts;
	char text[64];

	if (localtime_r(&seconds, &parts) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts))
		fprintf(stream, " %s ", text);
	else
		fprintf(stream, " %" PRId64 " ", node->mtime_seconds);
}

static errcode_t list_node(void *state, const struct output_node *output, struct problem *problem)
{
	struct list *list = state;
	const struct tree *tree = list->extraction->tree;
	const struct tree_node *node = output->node;
	SCOPE_FREE char *path = extraction_path(tree, output->number);
	SCOPE_FREE char *link = NULL;

	(void)problem;
	if (output->link_to != output->number)
		link = extraction_path(tree, output->link_to);
	if (!path || (output->link_to != output->number && !link))
		return ENOMEM;
	print_mode(output, list->stream);
	print_owner_and_size(list, output);
	print_time(node, list->stream);
	utf8_print(path, list->stream);
	if (S_ISDIR(node->mode))
		putc('/', list->stream);
	if (link) {
		fputs(" link to ", list->stream);
		utf8_print(link, list->stream);
	} else if (S_ISLNK(node->mode)) {
		fputs(" -> ", list->stream);
		utf8_print(node->target, list->stream);
	}
	if (!link && tree_detail(tree, node)->verity)
		fputs(" (fs-verity)", list->stream);
	putc('\n', list->stream);
	return list->sink->error;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static errcode_t json_begin(struct extraction *extraction, struct output_sink *sink, void **state)
{
	errcode_t error = list_open(extraction, sink, state);
	struct list *list = *state;

	if (error)
		return error;
	json_open_object(&list->json, NULL);
	json_string(&list->json, "image", extraction->options->source);
	json_open_array(&list->json, "files");
	return 0;
}

static const char *type_name(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFCHR:
		return "character device";
	case S_IFBLK:
		return "block device";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "file";
	}
}

/* Writes the members that depend on the type. */
static void write_kind(struct json *json, const struct tree_node *node)
{
	if (S_ISREG(node->mode))
		json_members(json, JSON_COUNT("size", node->size_bytes),
		             JSON_COUNT("data_bytes", selection_data_bytes(node)));
	if (S_ISLNK(node->mode))
		json_bytes(json, "target", node->target, node->size_bytes);
	if (S_ISCHR(node->mode) || S_ISBLK(node->mode))
		json_members(json, JSON_COUNT("major", node->device.major), JSON_COUNT("minor", node->device.minor));
}

static void write_xattrs(struct json *json, const struct tree_xattr_set *set)
{
	if (!set->count)
		return;
	json_open_array(json, "xattrs");
	for (uint32_t i = 0; i < set->count; i++) {
		json_row(json, NULL, JSON_TEXT("name", set->list[i].name),
		         JSON_COUNT("bytes", set->list[i].value_bytes));
	}
	json_close_array(json);
}

static void write_verity(struct json *json, const struct tree_verity *verity)
{
	char digest[TREE_VERITY_TEXT_BYTES];

	if (!verity)
		return;
	tree_verity_text(verity->algorithm, verity->digest, digest);
	json_flat_object(json, "verity", JSON_TEXT("digest", digest),
	                 JSON_COUNT("block_bytes", UINT64_C(1) << verity->block_bits),
	                 JSON_COUNT("salt_bytes", verity->salt_bytes),
	                 JSON_COUNT("signature_bytes", verity->signature_bytes));
}

static errcode_t json_node(void *state, const struct output_node *output, struct problem *problem)
{
	struct list *list = state;
	const struct tree *tree = list->extraction->tree;
	const struct tree_node *node = output->node;
	struct json *json = &list->json;
	SCOPE_FREE char *path = extraction_path(tree, output->number);
	SCOPE_FREE char *link = extraction_path(tree, output->link_to);
	SCOPE_FREE char *flags = file_flags_text(node->has_flags ? node->flags : 0);
	char mode[8];

	(void)problem;
	if (!path || !link || !flags)
		return ENOMEM;
	snprintf(mode, sizeof(mode), "%04o", node->mode & 07777u);
	json_open_row(json, NULL);
	json_members(json, JSON_TEXT("path", path), JSON_TEXT("type", type_name(node->mode)), JSON_TEXT("mode", mode),
	             JSON_COUNT("uid", node->uid), JSON_COUNT("gid", node->gid), JSON_COUNT("links", node->links),
	             JSON_NUMBER("mtime", (double)node->mtime_seconds, 0),
	             JSON_COUNT("mtime_nanoseconds", node->mtime_nanoseconds));
	if (output->link_to != output->number)
		json_string(json, "link_to", link);
	else
		write_kind(json, node);
	if (*flags)
		json_string(json, "flags", flags);
	write_verity(json, tree_detail(tree, node)->verity);
	write_xattrs(json, &tree->xattr_sets[node->xattrs]);
	json_close_object(json);
	return list->sink->error;
}

static errcode_t json_finish(void *state)
{
	struct list *list = state;

	json_close_array(&list->json);
	json_close_object(&list->json);
	errcode_t error = json_end(&list->json);

	return list->sink->error ? list->sink->error : error;
}

const struct tree_output list_output = {
	.name = "a list",
	.begin = list_open,
	.node = list_node,
	.end = list_end,
	.close = list_close,
};

const struct tree_output json_list_output = {
	.name = "a list",
	.begin = json_begin,
	.node = json_node,
	.end = json_finish,
	.close = list_close,
};
