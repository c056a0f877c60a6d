# SPDX-License-Identifier: GPL-2.0-or-later
include $(sort $(wildcard $(BR2_EXTERNAL_EXT2MB_PATH)/fs/*/*.mk))
