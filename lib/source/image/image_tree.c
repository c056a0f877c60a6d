/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/image/image_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "support/bisect.h"
#include "tree/details.h"
#include "tree/exclude.h"

#define CHUNK_NODES 4096u

struct making {
	struct image_scan *scan;
	uint32_t *runs; /* numbers of the reached directories, in the order of the tree's runs */
	uint32_t run_count;
	uint32_t *stack; /* numbers of the directories that are still to be reached */
	uint32_t node_count;
	struct problem *problem;
};

static struct ascent directory_step(const void *context, uint32_t number)
{
	const struct image_directory *directories = ((const struct image_scan *)context)->directories;
	const struct image_directory *directory = &directories[number];

	if (image_is_encrypted(directories[directory->parent].inode))
		return (struct ascent){ ENCRYPTED_NAME_TEXT, sizeof(ENCRYPTED_NAME_TEXT) - 1, directory->parent };
	return (struct ascent){ directory->name, directory->name_bytes, directory->parent };
}

/* Refuses an entry of a directory; name NULL: the directory itself. */
static errcode_t refuse_action(const struct image_scan *scan, uint32_t directory, const char *name, errcode_t error,
                               const char *action, const char *reason, struct problem *problem)
{
	const char *shown = name && image_is_encrypted(scan->directories[directory].inode) ? ENCRYPTED_NAME_TEXT : name;
	SCOPE_FREE char *path = image_file_path(scan->name, directory_step, scan, directory, shown);

	return problem_set_reason(problem, error, path ? path : scan->name, action, "%s", reason);
}

static errcode_t refuse(const struct image_scan *scan, uint32_t directory, const char *name, errcode_t error,
                        const char *reason, struct problem *problem)
{
	return refuse_action(scan, directory, name, error, "cannot read", reason, problem);
}

static errcode_t refuse_damaged(const struct image_scan *scan, uint32_t directory, const char *name, uint32_t ino,
                                const char *action, struct problem *problem)
{
	const struct image_note *note = image_find_note(scan, ino);
	SCOPE_FREE char *reason = NULL;
	int made;

	if (scan->volume->readable_end < scan->volume->geometry.end_block)
		return refuse_action(scan, directory, name, EXT2_ET_SHORT_READ, action, "the image is cut off",
		                     problem);
	if (!note)
		made = asprintf(&reason, "inode %" PRIu32 " is not in use; e2fsck(8) may mend the image", ino);
	else if (note->block)
		made = asprintf(&reason, "damaged %s (inode %" PRIu32 ", block %" PRIu64 "); e2fsck(8) may mend it",
		                note->what, ino, note->block);
	else
		made = asprintf(&reason, "damaged %s (inode %" PRIu32 "); e2fsck(8) may mend it", note->what, ino);
	if (made < 0)
		reason = NULL;
	return refuse_action(scan, directory, name, EUCLEAN, action, reason ? reason : "it is damaged", problem);
}

/* Refuses an entry whose inode cannot be taken. */
static errcode_t refuse_entry(const struct image_scan *scan, uint32_t directory, const struct image_entry *entry,
                              struct problem *problem)
{
	switch (entry->inode ? entry->inode->refusal : IMAGE_DAMAGED) {
	case IMAGE_ENCRYPTED:
		return refuse(scan, directory, entry->name, EINVAL, "it is encrypted, and its key is not known here",
		              problem);
	case IMAGE_UNKNOWN_POLICY:
		return refuse(scan, directory, entry->name, ENOTSUP,
		              "what encrypts it is of a kind that is not known here: leave it out with --exclude",
		              problem);
	case IMAGE_NO_USERS:
		return refuse(scan, directory, entry->name, EUCLEAN,
		              "its inode holds a value of an extended attribute; e2fsck(8) may mend it", problem);
	case IMAGE_UNKNOWN_TYPE:
		return refuse(scan, directory, entry->name, EUCLEAN, "its inode has no type; e2fsck(8) may mend it",
		              problem);
	default:
		return refuse_damaged(scan, directory, entry->name, entry->ino, "cannot read", problem);
	}
}

/* --- Directories that are reached --------------------------------------------------------------------------------- */

/* True for an empty lost+found; the new image makes its own. If it is damaged, names may have been in it. */
static bool is_left_out(const struct image_scan *scan, uint32_t directory, const struct image_entry *entry)
{
	if (directory != ASCEND_ROOT || !entry->is_directory || strcmp(entry->name, "lost+found"))
		return false;
	const struct image_directory *found = &scan->directories[entry->inode->directory];

	return !found->count && !found->is_partial && found->inode->refusal == IMAGE_TAKEN;
}

static errcode_t is_excluded(const struct image_scan *scan, uint32_t directory, const struct image_entry *entry,
                             bool *is)
{
	*is = false;
	/* Encrypted names match no pattern, so an encrypted directory is carried whole. */
	if (!scan->options->exclude || image_is_encrypted(scan->directories[directory].inode))
		return 0;
	SCOPE_FREE char *path = path_text("", directory_step, scan, directory, entry->name);

	if (!path)
		return ENOMEM;
	/* Patterns have no slash at their beginning. */
	*is = exclude_matches(scan->options->exclude, path + 1, entry->inode && S_ISDIR(entry->inode->node.mode));
	return 0;
}

/*
 * Sets *is if the options ask to leave out entries that would be refused, and this is one, or is a further name of a
 * directory. It adds a warning then.
 */
static errcode_t is_passed_over(const struct image_scan *scan, uint32_t directory, const struct image_entry *entry,
                                bool *is)
{
	bool is_taken = entry->inode && !entry->inode->refusal;
	struct problem problem = { 0 };

	*is = scan->options->left_out &&
	      (!is_taken || (entry->is_directory && scan->directories[entry->inode->directory].is_reached));
	if (!*is)
		return 0;
	if (!is_taken)
		refuse_entry(scan, directory, entry, &problem);
	else
		refuse(scan, directory, entry->name, EUCLEAN,
		       "a directory that two names lead to; e2fsck(8) may mend it", &problem);
	return warnings_add(scan->options->left_out, &problem, 1);
}

static errcode_t leave_out(const struct image_scan *scan, uint32_t number)
{
	struct image_directory *directory = &scan->directories[number];
	uint32_t kept = 0;

	if (number != ASCEND_ROOT && !scan->options->exclude && !scan->options->left_out)
		return 0;
	for (uint32_t n = 0; n < directory->count; n++) {
		bool is = is_left_out(scan, number, &directory->entries[n]);
		errcode_t error = is ? 0 : is_excluded(scan, number, &directory->entries[n], &is);

		if (!error && !is)
			error = is_passed_over(scan, number, &directory->entries[n], &is);
		if (error)
			return error;
		if (is)
			directory->subdirectory_count -= directory->entries[n].is_directory;
		else
			directory->entries[kept++] = directory->entries[n];
	}
	directory->count = kept;
	return 0;
}

static errcode_t warn_partial(const struct image_scan *scan, uint32_t number)
{
	struct problem problem = { 0 };

	refuse_damaged(scan, number, NULL, scan->directories[number].inode->ino, "cannot read all names", &problem);
	return warnings_add(scan->options->left_out, &problem, 1);
}

/* Puts the subdirectories on the stack from the last to the first, so that the first one is taken first. */
static errcode_t enter_subdirectories(struct making *making, uint32_t number, uint32_t *depth)
{
	const struct image_scan *scan = making->scan;
	const struct image_directory *directory = &scan->directories[number];

	for (uint32_t n = directory->count; n-- > 0;) {
		const struct image_entry *entry = &directory->entries[n];

		if (!entry->is_directory)
			continue;
		struct image_directory *child = &scan->directories[entry->inode->directory];

		if (child->is_reached)
			return refuse(scan, number, entry->name, EUCLEAN,
			              "a directory that two names lead to; e2fsck(8) may mend it", making->problem);
		child->is_reached = true;
		child->parent = number;
		child->name = entry->name;
		child->name_bytes = entry->name_bytes;
		child->own_node = directory->first_node + n;
		making->stack[(*depth)++] = entry->inode->directory;
	}
	return 0;
}

static errcode_t reach(struct making *making)
{
	struct image_scan *scan = making->scan;
	struct image_directory *root = &scan->directories[0];
	uint64_t next = 1;
	uint32_t depth = 1;

	root->name = "";
	root->is_reached = true;
	making->stack[0] = ASCEND_ROOT;
	while (depth) {
		uint32_t number = making->stack[--depth];
		struct image_directory *directory = &scan->directories[number];

		if (directory->inode->refusal)
			return refuse_damaged(scan, number, NULL, directory->inode->ino, "cannot read",
			                      making->problem);
		errcode_t error = directory->is_partial ? warn_partial(scan, number) : 0;

		if (!error)
			error = leave_out(scan, number);
		if (error)
			return image_failure(scan, error, making->problem);
		directory->first_node = (uint32_t)next;
		next += directory->count;
		if (next > UINT32_MAX)
			return refuse(scan, number, NULL, EOVERFLOW, "there are more than 2^32 files", making->problem);
		making->runs[making->run_count++] = number;
		error = enter_subdirectories(making, number, &depth);
		if (error)
			return error;
	}
	making->node_count = (uint32_t)next;
	return 0;
}

/* --- Nodes -------------------------------------------------------------------------------------------------------- */

static void count_first(struct image_count *count, uint32_t node)
{
	if (!count->count++ || node < count->node)
		count->node = node;
}

static void note_name(struct image_inode *inode, uint32_t node)
{
	uint32_t first = __atomic_load_n(&inode->first_node, __ATOMIC_RELAXED);

	while (node < first &&
	       !__atomic_compare_exchange_n(&inode->first_node, &first, node, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_add_fetch(&inode->links, 1, __ATOMIC_RELAXED);
}

static void finish_directory(struct tree_node *node, const struct image_directory *directory)
{
	node->child_count = directory->count;
	node->first_child = directory->count ? directory->first_node : 0;
	node->links = 2 + directory->subdirectory_count;
}

static void fill_node(const struct image_scan *scan, const struct image_directory *directory,
                      const struct image_entry *entry, uint32_t number)
{
	struct tree_node *node = &scan->tree->nodes[number];

	*node = entry->inode->node;
	node->name = entry->name;
	node->name_bytes = entry->name_bytes;
	node->parent = directory->own_node;
	node->link_to = number;
	if (entry->is_directory)
		finish_directory(node, &scan->directories[entry->inode->directory]);
	else
		note_name(entry->inode, number);
}

/* Called for each node of a chunk. The names of a directory are a run of nodes. */
typedef errcode_t (*node_function)(const struct making *making, unsigned int worker, uint32_t directory,
                                   const struct image_entry *entry, uint32_t node, struct problem *problem);

static errcode_t each_node(const struct making *making, unsigned int worker, size_t chunk, node_function function,
                           struct problem *problem)
{
	const struct image_scan *scan = making->scan;
	uint64_t first = chunk * CHUNK_NODES + 1, end = first + CHUNK_NODES;
	/*
	 * Finds the last directory that begins at or before the first node. A directory without names begins at the
	 * same node as the next one.
	 */
	size_t run = BISECT(making->run_count, n, scan->directories[making->runs[n]].first_node > first) - 1;

	if (end > making->node_count)
		end = making->node_count;
	for (uint64_t node = first; node < end;) {
		uint32_t number = making->runs[run++];
		const struct image_directory *directory = &scan->directories[number];
		uint64_t run_end = (uint64_t)directory->first_node + directory->count;

		for (; node < run_end && node < end; node++) {
			errcode_t error =
				function(making, worker, number, &directory->entries[node - directory->first_node],
			                 (uint32_t)node, problem);

			if (error)
				return error;
		}
	}
	return 0;
}

static errcode_t fill(const struct making *making, unsigned int worker, uint32_t directory,
                      const struct image_entry *entry, uint32_t node, struct problem *problem)
{
	struct image_scan *scan = making->scan;

	if (!entry->inode || entry->inode->refusal)
		return refuse_entry(scan, directory, entry, problem);
	(void)worker;
	const char *misfit = image_entry_misfit(scan, directory, entry);

	if (misfit)
		return refuse(scan, directory, entry->name, EUCLEAN, misfit, problem);
	fill_node(scan, &scan->directories[directory], entry, node);
	return 0;
}

static errcode_t fill_chunk(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	return each_node(context, worker, index, fill, problem);
}

/* Links each name to the first name of its file; the first names are all known by now. */
static errcode_t link_names(const struct making *making, unsigned int worker, uint32_t directory,
                            const struct image_entry *entry, uint32_t number, struct problem *problem)
{
	struct tree *tree = making->scan->tree;
	struct tree_node *node = &tree->nodes[number];

	(void)directory;
	(void)problem;
	if (entry->is_directory)
		return 0;
	node->link_to = entry->inode->first_node;
	node->links = node->link_to == number ? entry->inode->links : 0;
	/* Once for each file, whatever its names. */
	if (node->link_to == number && (entry->inode->flags & EXT4_VERITY_FL) && !tree_detail(tree, node)->verity)
		count_first(&making->scan->workers[worker].verity, number);
	return 0;
}

static errcode_t link_chunk(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	return each_node(context, worker, index, link_names, problem);
}

static errcode_t make_nodes(struct making *making)
{
	struct image_scan *scan = making->scan;
	struct tree *tree = scan->tree;
	size_t chunks = (making->node_count + (size_t)CHUNK_NODES - 2) / CHUNK_NODES;

	tree->nodes = malloc((size_t)making->node_count * sizeof(*tree->nodes));
	if (!tree->nodes)
		return image_failure(scan, ENOMEM, making->problem);
	tree->node_count = making->node_count;
	tree->nodes[TREE_ROOT] = scan->directories[0].inode->node;
	tree->nodes[TREE_ROOT].name = "";
	finish_directory(&tree->nodes[TREE_ROOT], &scan->directories[0]);
	errcode_t error = pool_run(scan->readers, chunks, fill_chunk, making, making->problem);

	return error ? error : pool_run(scan->readers, chunks, link_chunk, making, making->problem);
}

errcode_t image_make_tree(struct image_scan *scan, struct problem *problem)
{
	struct making making = { .scan = scan, .problem = problem };
	const struct image_inode *root = image_find_inode(scan, EXT2_ROOT_INO);

	if (!root || !S_ISDIR(root->node.mode) || root->refusal || image_is_encrypted(root))
		return root && root->refusal == IMAGE_DAMAGED ?
		               refuse_damaged(scan, ASCEND_ROOT, NULL, EXT2_ROOT_INO, "cannot read", problem) :
		       root && root->flags & EXT4_ENCRYPT_FL ?
		               problem_set_reason(problem, EINVAL, scan->name, "cannot read",
		                                  "its root directory is encrypted") :
		               problem_set_reason(problem, EUCLEAN, scan->name, "cannot read",
		                                  "it has no root directory; e2fsck(8) may mend it");
	/* Each directory is reached at most once, which bounds both lists. */
	SCOPE_FREE uint32_t *lists = malloc(2 * ((size_t)scan->directory_count + 1) * sizeof(*lists));

	if (!lists)
		return image_failure(scan, ENOMEM, problem);
	making.runs = lists;
	making.stack = lists + scan->directory_count + 1;
	errcode_t error = reach(&making);

	if (!error)
		error = make_nodes(&making);
	if (!error)
		error = xattr_table_finish(scan->xattr_table, scan->tree);
	for (unsigned int n = 0; !error && n < scan->worker_count; n++)
		arena_join(&scan->tree->memory, &scan->workers[n].memory);
	return error ? image_failure(scan, error, problem) : 0;
}
