# SPDX-License-Identifier: GPL-2.0-or-later
# The image type ext4mb: ext4, made by e2populate. In local.conf or an image's recipe:
#
#   IMAGE_CLASSES += "image_types_ext2mb"
#   IMAGE_FSTYPES += "ext4mb"
#
# Its conversions are those of other types: ext4mb.zst, ext4mb.bmap. For wic and others that ask for the type ext4:
#
#   IMAGE_CMD:ext4 = "oe_e2populate ext4 ${EXTRA_IMAGECMD:ext4mb}"
#   do_image_ext4[depends] += "${EXT2MB_DEPENDS}"

# A host's own e2populate instead of the recipe: EXT2MB_DEPENDS = "" and HOSTTOOLS += "e2populate".
EXT2MB_DEPENDS ?= "ext2mb-native:do_populate_sysroot"

# Empty: as large as the tree needs, with the room that EXTRA_IMAGECMD:ext4mb leaves free. "${ROOTFS_SIZE}K" is the size that Yocto computes
# by IMAGE_ROOTFS_SIZE, IMAGE_OVERHEAD_FACTOR and IMAGE_ROOTFS_EXTRA_SPACE.
EXT2MB_SIZE ?= ""

EXTRA_IMAGECMD:ext4mb ?= "--free=10%"

# e2populate takes times and UUIDs from SOURCE_DATE_EPOCH, so that nothing has to be put right afterwards, and leaves nothing for e2fsck -D to do.
oe_e2populate () {
	fstype=$1
	shift
	e2populate -t ext4 "$@" -d ${IMAGE_ROOTFS} ${IMGDEPLOYDIR}/${IMAGE_NAME}.$fstype ${EXT2MB_SIZE}
}

IMAGE_CMD:ext4mb = "oe_e2populate ext4mb ${EXTRA_IMAGECMD}"
do_image_ext4mb[depends] += "${EXT2MB_DEPENDS}"

IMAGE_TYPES += "ext4mb ext4mb.gz ext4mb.zst"
RUNNABLE_IMAGE_TYPES += "ext4mb"
