/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File flags, which chattr(1) sets: append only, immutable, no dump and so on. Their bits are those of
 * FS_IOC_GETFLAGS in <linux/fs.h>, which ext4 stores as they are.
 */
#pragma once

#include <linux/fs.h>
#include <stdint.h>

/*
 * chattr's s u c S i a d A j t D T x: users set these, and ext4 stores them. All other flags tell how a filesystem
 * stores the file (extents, inline data, encrypt, verity), or belong to a feature with its own rules (casefold,
 * projects).
 */
#define FILE_FLAGS_KEPT                                                                                                \
	((uint32_t)(FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL | FS_IMMUTABLE_FL | FS_APPEND_FL |             \
	            FS_NODUMP_FL | FS_NOATIME_FL | FS_JOURNAL_DATA_FL | FS_NOTAIL_FL | FS_DIRSYNC_FL | FS_TOPDIR_FL |  \
	            FS_DAX_FL))

/*
 * On the host this flag goes with a file's project id; in an archive or a manifest it says that new files inherit the
 * project id of their directory.
 */
#define FILE_FLAGS_OF_PROJECT ((uint32_t)FS_PROJINHERIT_FL)

/* Our own marks, in bits that no such flag uses: */
#define FILE_FLAGS_UNKNOWN 0x80000000u /* the source has a flag that ext4 does not store */
#define FILE_FLAGS_UNREAD 0x40000000u  /* the source refused to tell the flags */

/* The kept flags that a file of this type can have. Linux refuses the others, and e2fsck(8) clears some. */
uint32_t file_flags_of_type(uint32_t mode);

/*
 * Parses flags as chflags(1) and libarchive write them: names separated by commas, or "none". BSD's flags for the owner
 * and for root map to one flag, since ext4 does not distinguish them. Does not change the text.
 */
uint32_t file_flags_parse(const char *text);

/* The reverse: names separated by commas, "" for none. The caller frees it; NULL: no memory. */
char *file_flags_text(uint32_t flags);

/* Those of the flags that have no name in file_flags_text(). */
uint32_t file_flags_nameless(uint32_t flags);
