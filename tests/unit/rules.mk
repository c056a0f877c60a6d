# SPDX-License-Identifier: GPL-2.0-or-later
unit_tests := \
	analyze_damage \
	archive_source \
	arena \
	buddy \
	configuration \
	crc32c \
	data_runs \
	directory \
	directory_image \
	directory_reader \
	directory_source \
	dirty_blocks \
	discard \
	ext2mb \
	ext2mb_damage \
	ext2mb_edges \
	ext2mb_extremes \
	ext2mb_files \
	ext2mb_growth \
	ext2mb_inodes \
	ext2mb_stress \
	ext2mb_windows \
	exclude \
	file_map \
	file_windows \
	format \
	free_space \
	histogram \
	inline_data \
	inode \
	inode_alloc \
	json \
	layout \
	lock \
	long_map \
	map_walk \
	merge \
	metadata \
	mtree \
	normalize \
	normalize_model \
	order_set \
	orphan_block \
	orphan_damage \
	orphan_file \
	orphan_slots \
	owner_map \
	pending_free \
	policy \
	pool \
	problem \
	processors \
	progress \
	result \
	scalability \
	scan \
	scan_choice \
	stats_text \
	stripe \
	tree \
	units \
	vector \
	views \
	worst \
	xattr \
	zeros

# Linked into every unit test.
unit_helper_sources := \
	tests/unit/directory_names.c \
	tests/unit/directory_reader.c \
	tests/unit/host_tree.c \
	tests/unit/mb_image.c \
	tests/unit/ondisk_image.c \
	tests/unit/space.c \
	tests/unit/text_tree.c
