/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changing an inode that exists. inode_encode() makes a new one; here all bytes stay that inode_value does not name:
 * xattrs, i_extra_isize, the fields of other programs. Pure.
 */
#pragma once

#include "ondisk/inode.h"

/*
 * Writes the fields of `now` that differ from those that the bytes have, and the checksum. now: inode_decode() of the
 * same bytes, changed. If nothing differs only the checksum is written, which also stays if it was right. What needs
 * a field beyond i_extra_isize is left out: nanoseconds, the creation time, the upper bits of times. Errors, and the
 * bytes stay as they are: EMLINK and EFBIG as inode_encode(); EOVERFLOW: a project id, and no room for it.
 *
 * A number that is used again for another file: its generation must change, so that NFS clients and others do not
 * take it for the old file. The rule here is old generation + 1 (inode_next_generation()), which needs no clock and
 * no random numbers, so equal updates give equal bytes. The checksums of these depend on the generation, with
 * metadata_csum, and must be made with the new one, through ondisk_inode_seed():
 *
 * - the inode itself: inode_encode() and inode_change() use value.generation;
 * - each block of its extent tree: file_map_build() has the generation as an argument;
 * - each block of a directory, leaves and index blocks (directory.h);
 * - blocks of the orphan file and of a quota file's map, which keep their generation.
 *
 * The checksum of an xattr block depends on its block number alone.
 */
MUST_CHECK errcode_t inode_change(const struct ondisk_format *format, uint32_t ino, const struct inode_decoded *now,
                                  void *bytes);

/*
 * inode_change(), and the area after the inode's own extra fields becomes another one: the bytes that
 * inode_xattr_area_bytes() says of a format with now->extra_isize. Errors as above.
 */
MUST_CHECK errcode_t inode_change_area(const struct ondisk_format *format, uint32_t ino,
                                       const struct inode_decoded *now, const void *area, void *bytes);

/* The generation of the next file with this inode number. bytes: the inode of the last one, or zeros. */
uint32_t inode_next_generation(const void *bytes);

/* Writes the checksum, after other changes. Nothing without metadata_csum. */
void inode_checksum_write(const struct ondisk_format *format, uint32_t ino, void *bytes);
