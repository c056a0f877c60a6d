# SPDX-License-Identifier: GPL-2.0-or-later
test_tools := \
	compare_trees \
	differing_blocks \
	make_tar \
	make_tree \
	orphans \
	shuffle_names \
	split_tree \
	use_allocator \
	without_calls

# Libraries that are preloaded into what is tested.
preloaded := \
	fail_allocation \
	no_waiting
