# SPDX-License-Identifier: GPL-2.0-or-later
simulate_sources := \
	lib/simulate/ageing/profile.c \
	lib/simulate/image/dirty_blocks.c \
	lib/simulate/image/dirty_files.c \
	lib/simulate/image/file_set.c \
	lib/simulate/image/file_set_map.c \
	lib/simulate/image/file_set_write.c \
	lib/simulate/image/image.c \
	lib/simulate/image/inode_buffers.c \
	lib/simulate/image/size_list.c \
	lib/simulate/overview/overview.c \
	lib/simulate/overview/overview_charts.c \
	lib/simulate/overview/overview_disks.c \
	lib/simulate/overview/overview_document.c \
	lib/simulate/replay/file_runs.c \
	lib/simulate/replay/replay_files.c \
	lib/simulate/replay/replayer.c \
	lib/simulate/replay/trace.c \
	lib/simulate/replay/trace_events.c \
	lib/simulate/replay/trace_line.c \
	lib/simulate/replay/trace_plain.c \
	lib/simulate/replay/trace_queue.c \
	lib/simulate/replay/traced_blocks.c \
	lib/simulate/results/counted_values.c \
	lib/simulate/results/disk_time.c \
	lib/simulate/results/report.c \
	lib/simulate/results/scalability.c \
	lib/simulate/results/shown.c \
	lib/simulate/run/configuration.c \
	lib/simulate/run/load.c \
	lib/simulate/run/machine.c \
	lib/simulate/run/result.c \
	lib/simulate/simulate.c \
	lib/simulate/streams/clocks.c \
	lib/simulate/streams/processors.c \
	lib/simulate/streams/streams.c \
	lib/simulate/workloads/age.c \
	lib/simulate/workloads/append.c \
	lib/simulate/workloads/normalize.c \
	lib/simulate/workloads/normalize_times.c \
	lib/simulate/workloads/orphans.c \
	lib/simulate/workloads/replay.c \
	lib/simulate/workloads/unlink.c

simulate_texts := lib/simulate/ageing/agrawal.profile \
	lib/simulate/ageing/dabre.profile \
	lib/simulate/ageing/douceur.profile \
	lib/simulate/ageing/grundman.profile \
	lib/simulate/ageing/halves.profile \
	lib/simulate/ageing/meyer.profile \
	lib/simulate/ageing/pramod.profile \
	lib/simulate/ageing/synced.profile \
	lib/simulate/ageing/wang_lanl.profile \
	lib/simulate/ageing/wang_os.profile \
	lib/simulate/overview/chart.css \
	lib/simulate/overview/overview.css \
	lib/simulate/overview/overview.html
