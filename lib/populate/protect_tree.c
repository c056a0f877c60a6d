/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/protect_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "contents/protection.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "tree/details.h"

struct matching {
	const struct tree *tree;
	const struct exclude *patterns;
	uint8_t *matches; /* by node, for a file's first name: any of its names matches */
	uint64_t count;
};

static errcode_t match_nodes(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	struct matching *matching = context;
	const struct tree *tree = matching->tree;
	struct node_range nodes = node_task(tree, task);
	uint64_t count = 0;

	(void)worker;
	(void)problem;
	if (interrupt_pending())
		return EINTR;
	for (uint32_t node = nodes.first; node < nodes.end; node++) {
		if (!S_ISREG(tree->nodes[node].mode) || tree->nodes[node].is_encrypted)
			continue;
		SCOPE_FREE char *path = path_text("", tree_ascend, tree, node, NULL);

		if (!path)
			return ENOMEM;
		/* The path is matched without its first slash. */
		if (!exclude_covers(matching->patterns, path + 1, false))
			continue;
		__atomic_store_n(&matching->matches[tree->nodes[node].link_to], 1, __ATOMIC_RELAXED);
		count++;
	}
	__atomic_fetch_add(&matching->count, count, __ATOMIC_RELAXED);
	return 0;
}

static errcode_t read_signature(struct tree *tree, int descriptor, const char *path, struct tree_verity **verity,
                                struct problem *problem)
{
	struct tree_verity copy = **verity;
	struct stat status;

	if (fstat(descriptor, &status))
		return problem_set(problem, errno, path, "cannot examine");
	if (!S_ISREG(status.st_mode) || status.st_size <= 0 || status.st_size > VERITY_MOST_SIGNATURE_BYTES)
		return problem_set_reason(problem, EINVAL, path, "cannot use signature",
		                          "it is not a file of 1 to %u bytes", VERITY_MOST_SIGNATURE_BYTES);
	copy.signature_bytes = (uint32_t)status.st_size;
	char *signature = arena_alloc(&tree->memory, copy.signature_bytes);

	*verity = arena_alloc(&tree->memory, sizeof(copy));
	if (!signature || !*verity)
		return ENOMEM;
	errcode_t error = whole_read(descriptor, signature, copy.signature_bytes, 0);

	copy.signature = signature;
	**verity = copy;
	return error ? problem_set(problem, error, path, "cannot read") : 0;
}

/* A file's first name decides. A file without a signature stays unsigned. */
static errcode_t find_signature(struct tree *tree, uint32_t node, const char *folder, struct tree_verity **verity,
                                struct problem *problem)
{
	SCOPE_FREE char *below = path_text("", tree_ascend, tree, node, NULL), *path = NULL;

	if (!below || asprintf(&path, "%s%s.sig", folder, below) < 0) {
		path = NULL;
		return ENOMEM;
	}
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	/* No file can have a name that is too long, so this one has no signature. */
	if (descriptor < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ?
		               0 :
		               problem_set(problem, errno, path, "cannot open");
	return read_signature(tree, descriptor, path, verity, problem);
}

static errcode_t protect(struct tree *tree, uint32_t node, const struct verity_rules *rules,
                         struct tree_verity *unsigned_form, struct problem *problem)
{
	struct tree_detail detail = *tree_detail(tree, &tree->nodes[node]);
	struct tree_verity *verity = unsigned_form;
	errcode_t error = rules->signatures ? find_signature(tree, node, rules->signatures, &verity, problem) : 0;

	detail.verity = verity;
	return error ? error : tree_add_detail(tree, &detail, &tree->nodes[node].detail);
}

static errcode_t protect_matching(struct tree *tree, const struct verity_rules *rules, const uint8_t *matches,
                                  struct problem *problem)
{
	struct tree_verity *form = arena_alloc(&tree->memory, sizeof(*form));
	errcode_t error = form ? 0 : ENOMEM;

	if (form)
		*form = rules->form;
	for (uint32_t node = 0; !error && node < tree->node_count; node++)
		if (matches[node])
			error = protect(tree, node, rules, form, problem);
	/* All names of a file share one index. */
	for (uint32_t node = 0; !error && node < tree->node_count; node++)
		if (matches[tree->nodes[node].link_to])
			tree->nodes[node].detail = tree->nodes[tree->nodes[node].link_to].detail;
	return error;
}

static errcode_t check_signatures(const char *folder, struct problem *problem)
{
	struct stat status;

	if (stat(folder, &status))
		return problem_set(problem, errno, folder, "cannot read signatures");
	return S_ISDIR(status.st_mode) ? 0 : problem_set(problem, ENOTDIR, folder, "cannot read signatures");
}

errcode_t protect_tree(struct tree *tree, const struct workplace *work)
{
	const struct verity_rules *rules = &work->options->verity;
	SCOPE_FREE uint8_t *matches = rules->patterns ? calloc(tree->node_count, 1) : NULL;
	struct matching matching = { .tree = tree, .patterns = rules->patterns, .matches = matches };
	errcode_t error = 0;

	if (!rules->patterns)
		return 0;
	if (rules->signatures)
		error = check_signatures(rules->signatures, work->problem);
	if (!error)
		error = matches ? pool_run(work->pool, node_task_count(tree), match_nodes, &matching, work->problem) :
		                  ENOMEM;
	if (!error && !matching.count)
		return problem_set_reason(work->problem, EINVAL, "--verity", "cannot protect files",
		                          "no regular file of the source matches");
	if (!error)
		error = protect_matching(tree, rules, matches, work->problem);
	return error ? problem_set(work->problem, error, NULL, "cannot protect files with fs-verity") : 0;
}

bool protect_is_wanted(const struct tree *tree)
{
	for (uint32_t node = 0; tree->details && node < tree->node_count; node++)
		if (tree_detail(tree, &tree->nodes[node])->verity)
			return true;
	return false;
}

errcode_t protect_report(const struct plan *plan, struct populate_report *report)
{
	report->protected_files = calloc(plan->protection.count + 1ul, sizeof(*report->protected_files));
	if (!report->protected_files)
		return ENOMEM;
	for (uint32_t number = 0; number < plan->protection.count; number++) {
		const struct protected_file *file = &plan->protection.files[number];
		const struct verity_value value = protection_value(&plan->protection, file->node);
		struct populate_protected *shown = &report->protected_files[number];

		shown->path = path_text("", tree_ascend, plan->source->tree, file->node, NULL);
		if (!shown->path)
			return ENOMEM;
		report->protected_count++;
		shown->algorithm = value.algorithm;
		shown->block_bits = value.block_bits;
		memcpy(shown->digest, file->digest, sizeof(shown->digest));
	}
	return 0;
}
