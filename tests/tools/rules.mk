# SPDX-License-Identifier: GPL-2.0-or-later
test_tools := \
	change_tree \
	compare_trees \
	differing_blocks \
	drop_files \
	encryption \
	exercise_mount \
	freed_data \
	journal_again \
	journal_work \
	make_scale \
	make_tar \
	make_tree \
	orphans \
	overlay_journal \
	same_bytes \
	shuffle_names \
	split_tree \
	synced_files \
	transaction_crash \
	update_crash \
	use_allocator \
	without_calls
# Built if there is libfuse3.
ifeq ($(have_FUSE3),1)
test_tools += \
	slow_mount
endif

# Further files of some.
test_tool_parts := compare_contents crash_judge crash_points exercise_model file_digests make_tree_metadata recorded_disk transaction_work
tests/tools/compare_trees: tests/tools/compare_contents.o
tests/tools/exercise_mount tests/tools/synced_files: tests/tools/exercise_model.o
tests/tools/drop_files tests/tools/freed_data: tests/tools/crash_judge.o tests/tools/recorded_disk.o
tests/tools/make_tree: tests/tools/make_tree_metadata.o
tests/tools/transaction_crash: tests/tools/crash_judge.o tests/tools/crash_points.o tests/tools/recorded_disk.o tests/tools/transaction_work.o
tests/tools/update_crash: tests/tools/crash_judge.o tests/tools/crash_points.o tests/tools/file_digests.o tests/tools/recorded_disk.o

# Libraries that are preloaded into what is tested.
preloaded := \
	endless_xar \
	fail_allocation \
	fail_writes \
	host_verity \
	many_processors \
	no_waiting \
	note_writes
