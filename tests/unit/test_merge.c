/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/merge.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "seeded_random.h"
#include "text_tree.h"
#include "unit.h"

/* A layer: a letter for how it says what is gone, then its tree. */
#define NONE "n"
#define OCI "o"
#define OVERLAY "v"

#define MOST_LAYERS 5

static enum whiteout_form form_of(const char *layer)
{
	return *layer == *OCI ? WHITEOUTS_OCI : *layer == *OVERLAY ? WHITEOUTS_OVERLAYFS : WHITEOUTS_NONE;
}

static errcode_t merge(const char *const *texts, uint32_t count, bool keeps_whiteouts, struct tree **ret,
                       struct problem *problem)
{
	static const char *const names[MOST_LAYERS] = { "A", "B", "C", "D", "E" };
	struct merge_layer layers[MOST_LAYERS];

	for (uint32_t i = 0; i < count; i++)
		layers[i] = (struct merge_layer){ .tree = text_tree(names[i], texts[i] + 1),
			                          .whiteouts = form_of(texts[i]) };
	errcode_t error =
		tree_merge(layers, count, &(const struct merge_options){ .keeping = keeps_whiteouts }, ret, problem);

	for (uint32_t i = 0; i < count; i++)
		ck_assert_ptr_null(layers[i].tree);
	return error;
}

static void expect_merged(const char *const *texts, uint32_t count, bool keeps_whiteouts, const char *expected)
{
	struct problem problem = { 0 };
	struct tree *tree;

	ck_assert_int_eq(merge(texts, count, keeps_whiteouts, &tree, &problem), 0);
	SCOPE_FREE char *text = tree_text(tree);

	if (strcmp(text, expected)) {
		for (uint32_t i = 0; i < count; i++)
			printf("# layer %u: %s\n", i, texts[i]);
		fflush(stdout);
	}
	text_tree_expect(tree, expected);
	tree_destroy(tree);
}

static void expect_failure(const char *const *texts, uint32_t count, errcode_t expected, const char *words)
{
	struct problem problem = { 0 };
	struct tree *tree = (struct tree *)1;

	ck_assert_int_eq(merge(texts, count, false, &tree, &problem), expected);
	ck_assert_ptr_null(tree);
	SCOPE_FREE char *text = problem_text(&problem);

	ck_assert_str_eq(text, words);
	problem_clear(&problem);
}

#define LAYERS(...)                                                                                                    \
	((const char *const[]){ __VA_ARGS__ }), sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

START_TEST(one_layer_is_itself)
{
	static const char text[] = "d1 .\nd2 a\nf4 c user.x=1\nf3 a/b user.x=1\ne9 a/e user.y=1\n";

	expect_merged(LAYERS("nf3 a/b user.x=1\nd2 a\ne9 a/e user.y=1\nf4 c user.x=1\nd1 ."), false, text);
}
END_TEST

START_TEST(directories_merge_and_take_the_last_metadata)
{
	expect_merged(LAYERS("nd1 .\nd2 a user.one=1\nf3 a/x\nf4 a/y\nf5 z", "nd11 .\nd12 a user.two=2\nf13 a/y\nf14 b",
	                     "nd21 .\nf22 a_"),
	              false, "d21 .\nd12 a user.two=2\nf22 a_\nf14 b\nf5 z\nf3 a/x\nf13 a/y\n");
}
END_TEST

START_TEST(anything_else_is_replaced)
{
	expect_merged(
		LAYERS("nd1 a\nd2 a/b\nf3 a/b/c\nf4 f\nf5 s\nd6 d\nd7 d/e", "nf11 a\nd12 f\nf13 f/g\nd14 s\ns15 d f"),
		false, "d0 .\nf11 a\ns15 d f\nd12 f\nd14 s\nf13 f/g\n");
	/* A file in between, even if a directory is on top again. */
	expect_merged(LAYERS("nd1 a\nf2 a/b", "nf11 a", "nd21 a\nf22 a/c"), false, "d0 .\nd21 a\nf22 a/c\n");
}
END_TEST

START_TEST(implied_directories_describe_nothing)
{
	expect_merged(LAYERS("nd1 .\nd2 a user.x=1\nf3 a/b", "ni11 .\ni12 a\nf13 a/c"), false,
	              "d1 .\nd2 a user.x=1\nf3 a/b\nf13 a/c\n");
	expect_merged(LAYERS("ni1 .\ni2 a", "nd11 .\nd12 a"), false, "d11 .\nd12 a\n");
	expect_merged(LAYERS("ni1 .\ni2 a", "ni11 .\ni12 a"), false, "i11 .\ni12 a\n");
	expect_merged(LAYERS("nd1 a\nf2 a/b", "nf11 a", "ni21 a"), false, "d0 .\ni21 a\n");
}
END_TEST

START_TEST(hard_links_stay_joined)
{
	expect_merged(LAYERS("nf1 a user.x=1\nh0 b a\nd2 d\nh0 d/c a\nh0 e a", "nf11 a\nf12 d\nf13 m\nh0 n m"), false,
	              "d0 .\nf11 a\nf1 b user.x=1\nf12 d\nh1 e b user.x=1\nf13 m\nh13 n m\n");
	expect_merged(LAYERS("nf1 a\nh0 b a\nh0 c a", "nf11 a\nf12 b"), false, "d0 .\nf11 a\nf12 b\nf1 c\n");
}
END_TEST

START_TEST(oci_whiteouts)
{
	expect_merged(LAYERS("of1 a\nf2 b\nd3 d\nf4 d/e\nf5 d/f", "oe11 .wh.a\nd12 d\ne13 d/.wh.e\ne14 .wh.none"),
	              false, "d0 .\nf2 b\nd12 d\nf5 d/f\n");
	/* They do not touch their own layer. */
	expect_merged(LAYERS("od1 d\nf2 d/e\nf3 f", "oe11 .wh.d\nd12 d\nf13 d/x\ne14 .wh.f\nf15 f"), false,
	              "d0 .\nd12 d\nf15 f\nf13 d/x\n");
	/* Nor do they go away with the layer above, or come back. */
	expect_merged(LAYERS("of1 f", "oe11 .wh.f", "of21 g"), false, "d0 .\nf21 g\n");
	expect_merged(LAYERS("of1 f", "oe11 .wh.f", "of21 f"), false, "d0 .\nf21 f\n");
	/* In the lowest layer they remove nothing; without being asked for they are files. */
	expect_merged(LAYERS("oe1 .wh.f\nf2 f\nf3 .we\nf4 .wi\nf5 .wh"), false, "d0 .\nf3 .we\nf5 .wh\nf4 .wi\nf2 f\n");
	expect_merged(LAYERS("nf1 f", "ne11 .wh.f"), false, "d0 .\ne11 .wh.f\nf1 f\n");
}
END_TEST

START_TEST(whiteouts_alone_make_no_directory)
{
	expect_merged(LAYERS("od1 x\nf2 x/c\nf3 f", "oi11 x\ne12 x/.wh.c\ne13 .wh.x"), false, "d0 .\nf3 f\n");
	expect_merged(LAYERS("of1 f", "oi11 no\ni12 no/such\ne13 no/such/.wh.f"), false, "d0 .\nf1 f\n");
	expect_merged(LAYERS("of1 f\ns2 l x", "oi11 f\ne12 f/.wh.a\ni13 l\ne14 l/.wh..wh..opq"), false,
	              "d0 .\nf1 f\ns2 l x\n");
	expect_merged(LAYERS("of1 f", "oi11 f\ne12 f/.wh.a", "oi21 f\ni22 f/d\nf23 f/d/e"), false,
	              "d0 .\ni21 f\ni22 f/d\nf23 f/d/e\n");
	expect_merged(LAYERS("vf1 f", "vi11 f\nw12 f/a"), false, "d0 .\nf1 f\n");
	/* The directory below is not hidden, nor described. */
	expect_merged(LAYERS("oi1 d\nf2 d/a\nf3 d/b", "oi11 d\ne12 d/.wh.a"), false, "d0 .\ni1 d\nf3 d/b\n");
	/* Where what lies below is not here, they need a directory. */
	expect_merged(LAYERS("oi1 d\ne2 d/.wh.a"), true, "d0 .\ni1 d\nw0 d/a\n");
	expect_merged(LAYERS("of1 d", "oi11 d\ne12 d/.wh.a"), true, "d0 .\nf1 d\n");
}
END_TEST

START_TEST(oci_opaque_directories)
{
	expect_merged(LAYERS("od1 d\nf2 d/a\nd3 d/b\nf4 d/b/c\nf5 e", "od11 d\nf12 d/f\ne13 d/.wh..wh..opq\nd14 d/b"),
	              false, "d0 .\nd11 d\nf5 e\nd14 d/b\nf12 d/f\n");
	/* An implied one still does not describe itself. */
	expect_merged(LAYERS("od1 d\nf2 d/a", "oi11 d\ne12 d/.wh..wh..opq\nf13 d/b"), false, "d0 .\nd1 d\nf13 d/b\n");
	expect_merged(LAYERS("of1 a", "oe11 .wh..wh..opq\nf12 b"), false, "d0 .\nf12 b\n");
	expect_merged(LAYERS("od1 d\nf2 d/a", "ne11 .wh..wh.plnk",
	                     "od21 .wh..wh.plnk\nf22 .wh..wh.plnk/x\ne23 .wh..wh.aufs\ne24 .wh..wh.x"),
	              false, "d0 .\ne11 .wh..wh.plnk\nd1 d\nf2 d/a\n");
}
END_TEST

START_TEST(overlayfs_whiteouts)
{
	expect_merged(LAYERS("nf1 a\nf2 b\nd3 d\nf4 d/e\nf5 x",
	                     "vw11 a\nd12 d user.overlay.opaque=y user.o=1\n"
	                     "f13 b trusted.overlay.origin=o user.overlay.metacop=y\ne14 x trusted.overlay.whiteout="),
	              false, "d0 .\nf13 b\nd12 d user.o=1\n");
	expect_merged(LAYERS("nf1 a\nd2 d\nf3 d/e", "vc11 a\nd12 d trusted.overlay.opaque=x"), false,
	              "d0 .\nc11 a\nd12 d\nf3 d/e\n");
	expect_merged(LAYERS("nf1 a", "nw11 a\nd12 d trusted.overlay.opaque=y"), false,
	              "d0 .\nw11 a\nd12 d trusted.overlay.opaque=y\n");
}
END_TEST

START_TEST(kept_whiteouts)
{
	expect_merged(LAYERS("od1 d\nf2 d/e\ne3 .wh.a\nf4 f", "oe11 .wh.d\ne12 .wh.f\nf13 f\nf14 a\ne15 .wh.g"), true,
	              "d0 .\nf14 a\nw0 d\nf13 f\nw0 g\n");
	/* What had hidden something of the layers below still does. */
	expect_merged(LAYERS("oe1 .wh.d\nf2 f\nd3 g user.x=1 zz=1\ne4 g/.wh..wh..opq", "od11 d aa=1\nd12 f\ni13 g"),
	              true,
	              "d0 .\nd11 d aa=1 trusted.overlay.opaque=y\nd12 f trusted.overlay.opaque=y\n"
	              "d3 g trusted.overlay.opaque=y user.x=1 zz=1\n");
	expect_merged(LAYERS("oe1 .wh.d\nd2 d"), true, "d0 .\nd2 d trusted.overlay.opaque=y\n");
	expect_merged(LAYERS("vd1 d user.overlay.opaque=y trusted.overlay.origin=1"), true,
	              "d0 .\nd1 d trusted.overlay.opaque=y\n");
}
END_TEST

START_TEST(what_cannot_be_merged)
{
	expect_failure(LAYERS("nf1 a", "od11 d\ne12 d/.wh."), EINVAL,
	               "B/d/.wh.: cannot merge: a whiteout of \"\", which is not a name");
	expect_failure(LAYERS("oe1 .wh..", "oe11 x"), EINVAL,
	               "A/.wh..: cannot merge: a whiteout of \".\", which is not a name");
	expect_failure(LAYERS("oe1 .wh...", "oe11 x"), EINVAL,
	               "A/.wh...: cannot merge: a whiteout of \"..\", which is not a name");
	expect_failure(LAYERS("vd1 d\nd2 d/e trusted.overlay.redirect=x"), ENOTSUP,
	               "A/d/e: cannot merge: the overlayfs xattr \"redirect\" has a meaning only where the overlay is "
	               "mounted: take the files from there");
	expect_failure(LAYERS("vf1 e user.overlay.metacopy="), ENOTSUP,
	               "A/e: cannot merge: the overlayfs xattr \"metacopy\" has a meaning only where the overlay is "
	               "mounted: take the files from there");
	/* What does not show does not matter. */
	expect_merged(LAYERS("vf1 e user.overlay.metacopy=", "nf11 e"), false, "d0 .\nf11 e\n");
}
END_TEST

/* The model: a plain list of paths that is changed layer by layer. */

#define MOST_FILES 400

struct file {
	char path[TEXT_TREE_PATH_BYTES];
	char kind; /* W: a whiteout that is kept */
	unsigned int uid;
	unsigned int links_to; /* the uid of a hard link's file, else its own */
	bool is_opaque;        /* as it goes into the layer; of the merged tree: hides something */
	bool is_closed;        /* of the merged tree: there is nothing below that could describe it */
	bool is_provisional;   /* a directory that only whiteouts imply */
	bool has_xattr;
};

struct files {
	struct file list[MOST_FILES];
	size_t count;
};

static struct file *find(struct files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->list[i].path, path))
			return &files->list[i];
	return NULL;
}

/* Everything below a directory ("": the root), and with_itself. */
static void drop(struct files *files, const char *path, bool with_itself)
{
	size_t kept = 0, bytes = strlen(path);

	for (size_t i = 0; i < files->count; i++) {
		const struct file *file = &files->list[i];
		bool is_same = !strcmp(file->path, path);
		bool is_below = !is_same && (!bytes || (!strncmp(file->path, path, bytes) && file->path[bytes] == '/'));

		if (!is_below && !(is_same && with_itself))
			files->list[kept++] = *file;
	}
	files->count = kept;
}

static void add(struct files *files, const struct file *file)
{
	ck_assert_uint_lt(files->count, MOST_FILES);
	files->list[files->count++] = *file;
}

/* The part of a path that is no marker: true if one of its directories is. */
static bool is_below_marker(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *found = strstr(path, ".wh.");

	return slash && found && found < slash;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Finds the name that a marker removes; "" and true for all of its directory. */
static bool marked(const struct file *file, enum whiteout_form form, char *removed, bool *is_opaque)
{
	const char *name = last_name(file->path);
	size_t directory_bytes = name > file->path ? (size_t)(name - file->path) : 0;

	*is_opaque = false;
	if (form == WHITEOUTS_OVERLAYFS && (file->kind == 'w' || file->kind == 'W')) {
		strcpy(removed, file->path);
		return true;
	}
	if (form != WHITEOUTS_OCI || strncmp(name, ".wh.", 4))
		return false;
	*is_opaque = !strcmp(name, ".wh..wh..opq");
	if (*is_opaque)
		sprintf(removed, "%.*s", directory_bytes ? (int)directory_bytes - 1 : 0, file->path);
	else
		sprintf(removed, "%.*s%s", (int)directory_bytes, file->path, name + 4);
	return *is_opaque || strncmp(name, ".wh..wh.", 8);
}

static void model_removals(struct files *merged, const struct files *layer, enum whiteout_form form, bool keeps)
{
	char removed[TEXT_TREE_PATH_BYTES];
	bool is_opaque;

	for (size_t i = 0; i < layer->count; i++) {
		const struct file *file = &layer->list[i];

		if (form == WHITEOUTS_OVERLAYFS && file->is_opaque)
			drop(merged, file->path, false);
		if ((form == WHITEOUTS_OCI && is_below_marker(file->path)) || !marked(file, form, removed, &is_opaque))
			continue;
		drop(merged, removed, !is_opaque);
	}
	/* Once more, since an opaque directory may have whiteouts of its own. */
	for (size_t i = 0; keeps && i < layer->count; i++) {
		const struct file *file = &layer->list[i];
		struct file whiteout = { .kind = 'W' };

		if ((form == WHITEOUTS_OCI && is_below_marker(file->path)) ||
		    !marked(file, form, removed, &is_opaque) || is_opaque)
			continue;
		strcpy(whiteout.path, removed);
		add(merged, &whiteout);
	}
}

static void model_file(struct files *merged, struct file file, bool own_opaque)
{
	struct file *old = find(merged, file.path);
	bool is_directory = file.kind == 'd' || file.kind == 'i';

	file.is_opaque = own_opaque;
	if (is_directory && old && (old->kind == 'd' || old->kind == 'i')) {
		file.is_opaque = file.is_opaque || old->is_opaque;
		file.is_closed = old->is_closed;
		if (file.kind == 'i' && old->kind == 'd')
			old->is_opaque = file.is_opaque;
		else
			*old = file;
		return;
	}
	if (is_directory && old) {
		file.is_opaque = true;
		file.is_closed = true;
		*old = file;
		return;
	}
	/* What lies below a new directory already are whiteouts of this layer. */
	if (!is_directory)
		drop(merged, file.path, true);
	add(merged, &file);
}

static bool is_in_directory(struct files *files, const char *path)
{
	char directory[TEXT_TREE_PATH_BYTES];
	const char *name = last_name(path);
	const size_t bytes = name > path ? (size_t)(name - path) - 1 : 0;

	snprintf(directory, sizeof(directory), "%.*s", (int)bytes, path);
	const struct file *found = find(files, directory);

	return found && (found->kind == 'd' || found->kind == 'i');
}

/* Whiteouts in a directory that is not made went into the tree before. */
static void model_provisional(struct files *merged, struct file file, bool own_opaque, bool keeps)
{
	struct file *old = find(merged, file.path);

	file.is_opaque = own_opaque;
	if (old && (old->kind == 'd' || old->kind == 'i')) {
		file.is_opaque = file.is_opaque || old->is_opaque;
		file.is_closed = old->is_closed;
		if (old->is_provisional)
			*old = file;
		old->is_opaque = file.is_opaque;
	} else if (old || !keeps || !is_in_directory(merged, file.path)) {
		drop(merged, file.path, false);
	} else {
		add(merged, &file);
	}
}

static bool is_provisional(const struct files *layer, const struct file *directory, enum whiteout_form form)
{
	const size_t bytes = strlen(directory->path);
	char removed[TEXT_TREE_PATH_BYTES];
	bool is_opaque, has_any = false;

	if (directory->kind != 'i' || !bytes || form == WHITEOUTS_NONE)
		return false;
	for (size_t i = 0; i < layer->count; i++) {
		const struct file *file = &layer->list[i];
		const char *name = file->path + bytes + 1;

		if (strncmp(file->path, directory->path, bytes) || file->path[bytes] != '/' || strchr(name, '/'))
			continue;
		has_any = true;
		if (!marked(file, form, removed, &is_opaque) && !(form == WHITEOUTS_OCI && !strncmp(name, ".wh.", 4)) &&
		    !is_provisional(layer, file, form))
			return false;
	}
	return has_any;
}

static bool has_opaque_marker(const struct files *layer, const char *directory)
{
	char path[TEXT_TREE_PATH_BYTES + 20];

	sprintf(path, "%s%s.wh..wh..opq", directory, *directory ? "/" : "");
	for (size_t i = 0; i < layer->count; i++)
		if (!strcmp(layer->list[i].path, path))
			return true;
	return false;
}

static void model_layer(struct files *merged, const struct files *layer, enum whiteout_form form, bool keeps)
{
	char removed[TEXT_TREE_PATH_BYTES];
	bool is_opaque;

	model_removals(merged, layer, form, keeps);
	for (size_t i = 0; i < layer->count; i++) {
		const struct file *file = &layer->list[i];
		bool is_marker = form == WHITEOUTS_OCI && !strncmp(last_name(file->path), ".wh.", 4);

		if (is_marker || (form == WHITEOUTS_OCI && is_below_marker(file->path)) ||
		    marked(file, form, removed, &is_opaque))
			continue;
		const bool own_opaque = (form == WHITEOUTS_OVERLAYFS && file->is_opaque) ||
		                        (form == WHITEOUTS_OCI && has_opaque_marker(layer, file->path));
		struct file directory = *file;

		directory.is_provisional = is_provisional(layer, file, form);
		if (directory.is_provisional)
			model_provisional(merged, directory, own_opaque, keeps);
		else
			model_file(merged, *file, own_opaque);
	}
}

static int compare_files(const void *one, const void *other)
{
	return text_tree_compare_paths(((const struct file *)one)->path, ((const struct file *)other)->path);
}

/* The text of what is a layer (as: its form) or, with as NULL, of what has been merged. */
static char *files_text(struct files *files, const char *as, bool keeps)
{
	char *text = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&text, &bytes);

	if (!as)
		qsort(files->list, files->count, sizeof(files->list[0]), compare_files);
	else
		fputs(as, stream);
	for (size_t i = 0; i < files->count; i++) {
		const struct file *file = &files->list[i], *first = file;
		bool shows_opaque = file->is_opaque && (as ? *as == *OVERLAY : keeps);

		for (size_t k = 0; k < i && first == file; k++)
			if (files->list[k].links_to == file->links_to && file->kind == 'f')
				first = &files->list[k];
		char kind = file->kind;

		if (first != file)
			kind = 'h';
		else if (kind == 'W')
			kind = 'w';
		else if (kind == 'i' && file->is_closed && keeps)
			kind = 'd';
		fprintf(stream, "%c%u %s", kind, first != file && as ? 0 : file->links_to,
		        *file->path ? file->path : ".");
		if (first != file)
			fprintf(stream, " %s", first->path);
		if (shows_opaque)
			fprintf(stream, " trusted.overlay.opaque=y");
		if (file->has_xattr && (!as || first == file))
			fprintf(stream, " user.x=%u", file->links_to % 3);
		fputc('\n', stream);
	}
	fclose(stream);
	return text;
}

/* Parents first. uid 1000 * (1 + layer) and up. */
static void random_layer(struct random *random, unsigned int layer, enum whiteout_form form, struct files *files)
{
	static const char *const names[] = { "a",     "b",     "c",     "ab",           ".w",           ".x",
		                             ".wh.a", ".wh.b", ".wh.c", ".wh..wh..opq", ".wh..wh.plnk", "z" };
	static const char kinds[] = "dddddifffhhcew";
	unsigned int entries = (unsigned int)random_below(random, 24);
	unsigned int uid = 1000 * (1 + layer);
	size_t directories[MOST_FILES] = { 0 }, directory_count = 1;

	files->count = 0;
	add(files, &(struct file){ .kind = random_below(random, 3) ? 'd' : 'i', .uid = uid, .links_to = uid });
	files->list[0].is_opaque = form == WHITEOUTS_OVERLAYFS && !random_below(random, 10);
	while (entries--) {
		const struct file *parent = &files->list[directories[random_below(random, directory_count)]];
		const char *name = names[random_below(random, sizeof(names) / sizeof(names[0]))];
		struct file file = { .kind = kinds[random_below(random, sizeof(kinds) - 1)],
			             .uid = ++uid,
			             .links_to = uid };

		if (strlen(parent->path) > TEXT_TREE_PATH_BYTES - 30)
			continue;
		sprintf(file.path, "%s%s%s", parent->path, *parent->path ? "/" : "", name);
		if (find(files, file.path))
			continue;
		file.has_xattr = !random_below(random, 3);
		if (file.kind == 'h') {
			const struct file *other = &files->list[random_below(random, files->count)];

			file.kind = 'f';
			if (other->kind == 'f') {
				file.links_to = other->links_to;
				file.has_xattr = other->has_xattr;
			}
		}
		if (file.kind == 'd' || file.kind == 'i') {
			file.is_opaque = form == WHITEOUTS_OVERLAYFS && !random_below(random, 4);
			directories[directory_count++] = files->count;
		}
		add(files, &file);
	}
}

static void free_texts(char **texts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(texts[i]);
}

START_TEST(as_the_model_says)
{
	static const char *const forms[] = { NONE, OCI, OVERLAY };
	struct random random = random_start("as_the_model_says");
	size_t names = 0;

	for (int round = 0; round < 4000; round++) {
		uint32_t count = 1 + (uint32_t)random_below(&random, MOST_LAYERS);
		bool keeps = random_below(&random, 2);
		struct files merged = { 0 }, layer;
		char *texts[MOST_LAYERS];

		for (uint32_t i = 0; i < count; i++) {
			const char *form = forms[random_below(&random, 3)];

			random_layer(&random, i, form_of(form), &layer);
			texts[i] = files_text(&layer, form, keeps);
			model_layer(&merged, &layer, form_of(form), keeps);
		}
		SCOPE_FREE char *expected = files_text(&merged, NULL, keeps);

		names += merged.count;
		expect_merged((const char *const *)texts, count, keeps, expected);
		free_texts(texts, count);
	}
	ck_assert_uint_gt(names, 40000);
}
END_TEST

static struct tree *merge_taken(struct tree *lower, enum whiteout_form lower_form, struct tree *upper,
                                enum whiteout_form upper_form, bool keeps)
{
	struct merge_layer layers[] = { { .tree = lower, .whiteouts = lower_form },
		                        { .tree = upper, .whiteouts = upper_form } };
	struct problem problem = { 0 };
	struct tree *tree;

	ck_assert_int_eq(tree_merge(layers, 2, &(const struct merge_options){ .keeping = keeps }, &tree, &problem), 0);
	return tree;
}

/* It no longer matters why a directory is implied. */
static char *plain_text(const struct tree *tree)
{
	char *text = tree_text(tree);

	for (char *line = text; *line; line = strchr(line, '\n') + 1)
		*line = *line == 'i' ? 'd' : *line;
	return text;
}

/* (a + b) + c == a + (b + c), where what b + c have removed is kept. */
START_TEST(kept_whiteouts_lose_nothing)
{
	struct random random = random_start("kept_whiteouts_lose_nothing");

	for (int round = 0; round < 2000; round++) {
		enum whiteout_form form = random_below(&random, 2) ? WHITEOUTS_OCI : WHITEOUTS_OVERLAYFS;
		struct tree *trees[2][3];
		struct files layer;
		char *texts[3];

		for (unsigned int i = 0; i < 3; i++) {
			random_layer(&random, i, form, &layer);
			/*
			 * A device 0/0 of an OCI layer would become a whiteout; an implied directory of which the other
			 * layer leaves only whiteouts, one that only whiteouts imply.
			 */
			for (size_t k = 0; k < layer.count; k++) {
				struct file *file = &layer.list[k];

				if (file->kind == 'w' && form == WHITEOUTS_OCI)
					file->kind = 'c';
				if (file->kind == 'i' && *file->path && !is_provisional(&layer, file, form))
					file->kind = 'd';
			}
			texts[i] = files_text(&layer, form == WHITEOUTS_OCI ? OCI : OVERLAY, false);
			trees[0][i] = text_tree("t", texts[i] + 1);
			trees[1][i] = text_tree("t", texts[i] + 1);
		}
		struct tree *lower = merge_taken(trees[0][0], form, trees[0][1], form, false);
		struct tree *left = merge_taken(lower, WHITEOUTS_NONE, trees[0][2], form, false);
		struct tree *upper = merge_taken(trees[1][1], form, trees[1][2], form, true);
		struct tree *right = merge_taken(trees[1][0], form, upper, WHITEOUTS_OVERLAYFS, false);
		SCOPE_FREE char *expected = plain_text(left), *text = plain_text(right);

		ck_assert_msg(!strcmp(text, expected), "of:\n%s--\n%s--\n%sshould be:\n%sis:\n%s", texts[0], texts[1],
		              texts[2], expected, text);
		free_texts(texts, 3);
		tree_destroy(left);
		tree_destroy(right);
	}
}
END_TEST

START_TEST(origins_follow_their_nodes)
{
	struct problem problem = { 0 };
	struct tree *tree;

	ck_assert_int_eq(
		merge(LAYERS("nd1 a\nf2 a/x\nf3 a/y", "nd11 a\nf12 a/y\nf13 a/z", "ne21 b"), false, &tree, &problem),
		0);
	static const char *const paths[] = { "C", "B/a", "C/b", "A/a/x", "B/a/y", "B/a/z" };

	ck_assert_uint_eq(tree->origin_count, 3);
	ck_assert_uint_eq(tree->node_count, 6);
	for (uint32_t i = 0; i < tree->node_count; i++) {
		SCOPE_FREE char *path = tree_path(tree, i);

		ck_assert_str_eq(path, paths[i]);
	}
	tree_destroy(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("merge");
	TCase *cases = tcase_create("merge");

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, one_layer_is_itself);
	tcase_add_test(cases, directories_merge_and_take_the_last_metadata);
	tcase_add_test(cases, anything_else_is_replaced);
	tcase_add_test(cases, implied_directories_describe_nothing);
	tcase_add_test(cases, hard_links_stay_joined);
	tcase_add_test(cases, oci_whiteouts);
	tcase_add_test(cases, whiteouts_alone_make_no_directory);
	tcase_add_test(cases, oci_opaque_directories);
	tcase_add_test(cases, overlayfs_whiteouts);
	tcase_add_test(cases, kept_whiteouts);
	tcase_add_test(cases, what_cannot_be_merged);
	tcase_add_test(cases, as_the_model_says);
	tcase_add_test(cases, kept_whiteouts_lose_nothing);
	tcase_add_test(cases, origins_follow_their_nodes);
	return run_suite(suite);
}
