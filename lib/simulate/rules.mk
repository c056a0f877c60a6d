# SPDX-License-Identifier: GPL-2.0-or-later
simulate_sources := \
	lib/simulate/results/allocator_values.c \
	lib/simulate/workloads/append.c \
	lib/simulate/results/chart.c \
	lib/simulate/configuration.c \
	lib/simulate/workloads/deletion.c \
	lib/simulate/image/dirty_blocks.c \
	lib/simulate/image/dirty_files.c \
	lib/simulate/workloads/fallocate2.c \
	lib/simulate/image/file_listing.c \
	lib/simulate/image/file_set.c \
	lib/simulate/image/file_set_write.c \
	lib/simulate/image/image.c \
	lib/simulate/image/inode_buffers.c \
	lib/simulate/results/layout_values.c \
	lib/simulate/workloads/normalize.c \
	lib/simulate/workloads/orphans.c \
	lib/simulate/results/overview.c \
	lib/simulate/results/overview_charts.c \
	lib/simulate/results/overview_machine.c \
	lib/simulate/results/partial_stripes.c \
	lib/simulate/streams/processors.c \
	lib/simulate/results/report.c \
	lib/simulate/results/result.c \
	lib/simulate/results/scalability.c \
	lib/simulate/simulate.c \
	lib/simulate/image/size_list.c \
	lib/simulate/streams/streams.c \
	lib/simulate/workloads/unlink.c \
	lib/simulate/workloads/workload.c
