# SPDX-License-Identifier: GPL-2.0-or-later
populate_sources := \
	lib/populate/android_sparse.c \
	lib/populate/attributes.c \
	lib/populate/build.c \
	lib/populate/casefold.c \
	lib/populate/child.c \
	lib/populate/copy.c \
	lib/populate/data_runs.c \
	lib/populate/directories.c \
	lib/populate/directory_view.c \
	lib/populate/earlier.c \
	lib/populate/extended.c \
	lib/populate/filesystem.c \
	lib/populate/identity.c \
	lib/populate/image_reader.c \
	lib/populate/inline_content.c \
	lib/populate/inodes.c \
	lib/populate/keep.c \
	lib/populate/known_holes.c \
	lib/populate/long_map.c \
	lib/populate/mke2fs.c \
	lib/populate/needs.c \
	lib/populate/number.c \
	lib/populate/output.c \
	lib/populate/place.c \
	lib/populate/populate.c \
	lib/populate/quota.c \
	lib/populate/quota_values.c \
	lib/populate/run_writer.c \
	lib/populate/scratch.c \
	lib/populate/size.c \
	lib/populate/size_trial.c \
	lib/populate/source_report.c \
	lib/populate/xattr_values.c \
	lib/populate/verify.c \
	lib/populate/xattrs.c \
	lib/populate/zeros.c
