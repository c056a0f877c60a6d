# SPDX-License-Identifier: GPL-2.0-or-later
simulate_sources := \
	lib/simulate/allocator_values.c \
	lib/simulate/append.c \
	lib/simulate/chart.c \
	lib/simulate/configuration.c \
	lib/simulate/deletion.c \
	lib/simulate/dirty_blocks.c \
	lib/simulate/dirty_files.c \
	lib/simulate/fallocate2.c \
	lib/simulate/file_listing.c \
	lib/simulate/file_set.c \
	lib/simulate/file_set_write.c \
	lib/simulate/image.c \
	lib/simulate/inode_buffers.c \
	lib/simulate/layout_values.c \
	lib/simulate/normalize.c \
	lib/simulate/orphans.c \
	lib/simulate/overview.c \
	lib/simulate/overview_charts.c \
	lib/simulate/overview_machine.c \
	lib/simulate/partial_stripes.c \
	lib/simulate/processors.c \
	lib/simulate/report.c \
	lib/simulate/result.c \
	lib/simulate/scalability.c \
	lib/simulate/simulate.c \
	lib/simulate/size_list.c \
	lib/simulate/streams.c \
	lib/simulate/unlink.c \
	lib/simulate/workload.c
