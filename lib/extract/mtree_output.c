/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mtree(5), with the keywords that source/mtree reads: each line has the whole path and all keywords, so that any part
 * of the file can be read alone. Digests are SHA-256, which the threads that read contents compute.
 */
#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <stdio.h>

#include "extract/tree_output.h"
#include "tree/details.h"
#include "tree/file_flags.h"
#include "tree/verity.h"

struct mtree {
	const struct tree *tree;
	struct output_sink *sink;
	FILE *stream;
};

static errcode_t mtree_begin(struct extraction *extraction, struct output_sink *sink, void **state)
{
	struct mtree *mtree = calloc(1, sizeof(*mtree));

	*state = mtree;
	if (!mtree)
		return ENOMEM;
	mtree->tree = extraction->tree;
	mtree->sink = sink;
	mtree->stream = output_sink_stream(sink);
	if (!mtree->stream)
		return ENOMEM;
	fputs("#mtree\n", mtree->stream);
	return 0;
}

/*
 * Prints text in vis(3)'s form, with octal digits for each byte that is not a plain character. Some readers take * ? [
 * for patterns, so these are encoded, too.
 */
static void print_encoded(const char *text, size_t bytes, FILE *stream)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte > ' ' && byte < 0x7f && !strchr("\\#=*?[", byte))
			putc(byte, stream);
		else
			fprintf(stream, "\\%03o", byte);
	}
}

static const char *type_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "link";
	case S_IFCHR:
		return "char";
	case S_IFBLK:
		return "block";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "file";
	}
}

static errcode_t print_base64(const void *bytes, size_t count, FILE *stream)
{
	SCOPE_FREE char *text = malloc(BASE64_ENCODE_RAW_LENGTH(count) + 1);

	if (!text)
		return ENOMEM;
	base64_encode_raw(text, count, bytes);
	fwrite(text, 1, BASE64_ENCODE_RAW_LENGTH(count), stream);
	return 0;
}

static errcode_t print_xattr(const struct tree_xattr *xattr, FILE *stream)
{
	fputs(" xattr.", stream);
	print_encoded(xattr->name, strlen(xattr->name), stream);
	fputc('=', stream);
	return print_base64(xattr->value, xattr->value_bytes, stream);
}

static void print_digest(const struct loaded_file *file, FILE *stream)
{
	fputs(" sha256digest=", stream);
	for (size_t i = 0; i < sizeof(file->digest); i++)
		fprintf(stream, "%02x", file->digest[i]);
}

static void print_kind(const struct mtree *mtree, const struct output_node *output)
{
	const struct tree_node *node = output->node;
	FILE *stream = mtree->stream;

	if (S_ISREG(node->mode))
		fprintf(stream, " size=%" PRIu64, node->size_bytes);
	if (output->file)
		print_digest(output->file, stream);
	if (S_ISLNK(node->mode)) {
		fputs(" link=", stream);
		print_encoded(node->target, node->size_bytes, stream);
	}
	if (S_ISCHR(node->mode) || S_ISBLK(node->mode))
		fprintf(stream, " device=linux,%" PRIu32 ",%" PRIu32, node->device.major, node->device.minor);
}

static void print_flags(const struct tree_node *node, FILE *stream)
{
	SCOPE_FREE char *flags = file_flags_text(node->flags);

	if (flags && *flags)
		fprintf(stream, " flags=%s", flags);
}

static errcode_t print_verity(const struct tree_verity *verity, FILE *stream)
{
	char digest[TREE_VERITY_TEXT_BYTES];

	if (!verity)
		return 0;
	tree_verity_text(verity->algorithm, verity->digest, digest);
	fprintf(stream, " fsverity=%s fsverity.block=%u", digest, 1u << verity->block_bits);
	if (verity->salt_bytes)
		fputs(" fsverity.salt=", stream);
	for (unsigned int byte = 0; byte < verity->salt_bytes; byte++)
		fprintf(stream, "%02x", verity->salt[byte]);
	if (!verity->signature_bytes)
		return 0;
	fputs(" fsverity.signature=", stream);
	return print_base64(verity->signature, verity->signature_bytes, stream);
}

static errcode_t mtree_node(void *state, const struct output_node *output, struct problem *problem)
{
	struct mtree *mtree = state;
	const struct tree_node *node = output->node;
	const struct tree_xattr_set *set = &mtree->tree->xattr_sets[node->xattrs];
	SCOPE_FREE char *path = extraction_path(mtree->tree, output->number);
	errcode_t error = path ? 0 : ENOMEM;

	(void)problem;
	if (error)
		return error;
	if (output->number != TREE_ROOT)
		fputs("./", mtree->stream);
	print_encoded(path, strlen(path), mtree->stream);
	fprintf(mtree->stream, " type=%s mode=%04o uid=%" PRIu32 " gid=%" PRIu32 " nlink=%" PRIu32, type_of(node->mode),
	        node->mode & 07777u, node->uid, node->gid, node->links);
	/* As in the tree, the nanoseconds are added to the seconds. */
	fprintf(mtree->stream, " time=%" PRId64 ".%09" PRIu32, node->mtime_seconds, node->mtime_nanoseconds);
	print_kind(mtree, output);
	print_flags(node, mtree->stream);
	error = print_verity(tree_detail(mtree->tree, node)->verity, mtree->stream);
	for (uint32_t i = 0; !error && i < set->count; i++)
		error = print_xattr(&set->list[i], mtree->stream);
	fputc('\n', mtree->stream);
	return error ? error : mtree->sink->error;
}

static errcode_t mtree_end(void *state)
{
	struct mtree *mtree = state;

	return fflush(mtree->stream) ? mtree->sink->error : 0;
}

static void mtree_close(void *state)
{
	struct mtree *mtree = state;

	if (!mtree)
		return;
	if (mtree->stream)
		fclose(mtree->stream);
	free(mtree);
}

static uint64_t mtree_lacks(const struct tree *tree, const struct tree_node *node)
{
	uint64_t lacks = node->has_lost_acl || node->has_lost_xattr ? LOSS_BIT(LOSS_XATTR_UNKNOWN) : 0;

	if (tree_detail(tree, node)->project)
		lacks |= LOSS_BIT(LOSS_PROJECT);
	return lacks;
}

const struct tree_output mtree_output = {
	.name = "mtree",
	.has_digests = true,
	.lacks = mtree_lacks,
	.begin = mtree_begin,
	.node = mtree_node,
	.end = mtree_end,
	.close = mtree_close,
};
