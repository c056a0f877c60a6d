/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/worst.h"

#include <stdlib.h>

#include "support/vector.h"

static bool is_worse(const struct report_file *left, const struct report_file *right)
{
	uint64_t left_excess = left->runs - left->ideal_extents;
	uint64_t right_excess = right->runs - right->ideal_extents;

	return left_excess != right_excess ? left_excess > right_excess : left->ino < right->ino;
}

static void swap(struct report_file *left, struct report_file *right)
{
	struct report_file file = *left;

	*left = *right;
	*right = file;
}

static void sift_down(struct worst_files *worst)
{
	struct report_file *files = worst->files;

	for (size_t parent = 0, child; (child = 2 * parent + 1) < worst->count; parent = child) {
		if (child + 1 < worst->count && is_worse(&files[child], &files[child + 1]))
			child++;
		if (!is_worse(&files[parent], &files[child]))
			return;
		swap(&files[parent], &files[child]);
	}
}

errcode_t worst_add(struct worst_files *worst, const struct report_file *file)
{
	if (!worst->limit || file->runs <= file->ideal_extents)
		return 0;
	if (worst->count == worst->limit) {
		if (is_worse(file, &worst->files[0])) {
			worst->files[0] = *file;
			sift_down(worst);
		}
		return 0;
	}
	errcode_t error = vector_reserve(&worst->files, &worst->capacity, worst->count + 1, sizeof(*worst->files));

	if (error)
		return error;
	size_t child = worst->count++;

	worst->files[child] = *file;
	for (; child && is_worse(&worst->files[(child - 1) / 2], &worst->files[child]); child = (child - 1) / 2)
		swap(&worst->files[child], &worst->files[(child - 1) / 2]);
	return 0;
}

static int worse_first(const void *left, const void *right)
{
	return is_worse(left, right) ? -1 : is_worse(right, left);
}

void worst_sort(struct worst_files *worst)
{
	if (worst->count)
		qsort(worst->files, worst->count, sizeof(*worst->files), worse_first);
}
