# SPDX-License-Identifier: GPL-2.0-or-later
################################################################################
#
# Build the ext4 root filesystem image by e2populate
#
################################################################################

ROOTFS_EXT4MB_PROGRAM = $(call qstrip,$(BR2_TARGET_ROOTFS_EXT4MB_PROGRAM))
ROOTFS_EXT4MB_SIZE = $(call qstrip,$(BR2_TARGET_ROOTFS_EXT4MB_SIZE))
ROOTFS_EXT4MB_FREE = $(call qstrip,$(BR2_TARGET_ROOTFS_EXT4MB_FREE))

# The label is what the configuration has between its quotes, spaces included.
ROOTFS_EXT4MB_OPTS = \
	-t ext4 \
	-m $(BR2_TARGET_ROOTFS_EXT4MB_RESBLKS) \
	-L $(BR2_TARGET_ROOTFS_EXT4MB_LABEL) \
	$(if $(ROOTFS_EXT4MB_FREE),--free=$(ROOTFS_EXT4MB_FREE)) \
	$(call qstrip,$(BR2_TARGET_ROOTFS_EXT4MB_OPTIONS))

# Under Buildroot's fakeroot, whose owners and devices e2populate sees.
define ROOTFS_EXT4MB_CMD
	$(ROOTFS_EXT4MB_PROGRAM) $(ROOTFS_EXT4MB_OPTS) -d $(TARGET_DIR) $@ $(ROOTFS_EXT4MB_SIZE)
endef

$(eval $(rootfs))
