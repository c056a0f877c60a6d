// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/source_report.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t data_bytes(const struct tree_node *node)
{
	uint64_t bytes = 0;

	if (!node->is_sparse)
		return node->size_bytes;
	for (uint32_t i = 0; i < node->data_map->count; i++)
		bytes += node->data_map->segments[i].length_bytes;
	return bytes;
}

static errcode_t list_sources(const struct tree *tree, struct populate_report *report)
{
	/* Origins are in the order of their sources. */
	uint32_t count = tree->origins[tree->origin_count - 1].source + 1;

	report->sources = calloc(count, sizeof(*report->sources));
	if (!report->sources)
		return ENOMEM;
	report->source_count = count;
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		struct populate_source *source = &report->sources[tree->origins[i].source];

		if (!source->path)
			source->path = strdup(tree->origins[i].path);
		if (!source->path)
			return ENOMEM;
	}
	return 0;
}

errcode_t source_report(const struct tree *tree, struct populate_report *report)
{
	errcode_t error = list_sources(tree, report);

	for (uint32_t number = TREE_ROOT + 1; !error && number < tree->node_count; number++) {
		const struct tree_node *node = &tree->nodes[number];
		struct populate_source *source = &report->sources[tree->origins[node->origin].source];

		source->names++;
		if (S_ISREG(node->mode) && !tree_node_is_link(tree, number))
			source->data_bytes += data_bytes(node);
	}
	return error;
}

void populate_report_clear(struct populate_report *report)
{
	for (uint32_t i = 0; i < report->source_count; i++)
		free(report->sources[i].path);
	free(report->sources);
	report->sources = NULL;
	report->source_count = 0;
	warnings_clear(&report->warnings);
}
