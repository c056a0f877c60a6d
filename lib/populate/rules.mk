# SPDX-License-Identifier: GPL-2.0-or-later
populate_sources := \
	lib/populate/build/identity.c \
	lib/populate/build/image_sink.c \
	lib/populate/build/pack_range.c \
	lib/populate/build/plan.c \
	lib/populate/build/protection.c \
	lib/populate/build/run_writer.c \
	lib/populate/build/spool_directory.c \
	lib/populate/data/block_sharing.c \
	lib/populate/data/copy.c \
	lib/populate/data/protect.c \
	lib/populate/data/zero_detection.c \
	lib/populate/format/child.c \
	lib/populate/format/filesystem.c \
	lib/populate/format/mke2fs.c \
	lib/populate/metadata/directories.c \
	lib/populate/metadata/flags.c \
	lib/populate/metadata/inodes.c \
	lib/populate/metadata/quota.c \
	lib/populate/metadata/xattrs.c \
	lib/populate/output/android_sparse.c \
	lib/populate/output/output.c \
	lib/populate/output/temporary_file.c \
	lib/populate/plan/base_image.c \
	lib/populate/plan/block_placement.c \
	lib/populate/plan/block_runs.c \
	lib/populate/plan/inode_numbers.c \
	lib/populate/plan/space_estimate.c \
	lib/populate/populate.c \
	lib/populate/protect_tree.c \
	lib/populate/scan_sources.c \
	lib/populate/size/default_blocks.c \
	lib/populate/size/projects_wanted.c \
	lib/populate/size/size.c \
	lib/populate/size/size_trial.c \
	lib/populate/verify/verify.c \
	lib/populate/verify/verify_protection.c
