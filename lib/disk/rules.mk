# SPDX-License-Identifier: GPL-2.0-or-later
disk_sources := \
	lib/disk/android_sparse.c \
	lib/disk/disk_form.c \
	lib/disk/place.c \
	lib/disk/qcow2.c \
	lib/disk/raw_image.c \
	lib/disk/source_limits_option.c
