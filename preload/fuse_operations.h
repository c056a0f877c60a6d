/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libfuse's table of operations, which it calls by path: that of libfuse 2.9 (fuse2fs of Debian 12) and of libfuse 3
 * (Debian 13). Neither changes: libfuse adds only at the end, and the caller passes the size that it knows. libfuse's
 * headers are not needed; only one of the two could be installed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fuse_conn_info;
struct fuse_config;
struct fuse_file_info;
struct fuse_pollhandle;
struct fuse_bufvec;
struct stat;
struct statvfs;
struct timespec;
struct utimbuf;

/* The kernel's and libfuse's off_t has 64 bits everywhere. */
_Static_assert(sizeof(off_t) == 8, "off_t is libfuse's");

typedef int fuse_fill_function(void);

/*
 * Operations with the same parameters in both versions: X(name, parameters, arguments); ALTERS(...) if the operation
 * may change which file a path leads to, who may read the file or which xattrs it has.
 */
#define FUSE_COMMON_OPERATIONS(X, ALTERS)                                                                              \
	X(readlink, (const char *path, char *target, size_t bytes), (path, target, bytes))                             \
	X(mknod, (const char *path, mode_t mode, dev_t device), (path, mode, device))                                  \
	X(mkdir, (const char *path, mode_t mode), (path, mode))                                                        \
	ALTERS(unlink, (const char *path), (path))                                                                     \
	ALTERS(rmdir, (const char *path), (path))                                                                      \
	X(symlink, (const char *target, const char *path), (target, path))                                             \
	X(link, (const char *path, const char *other), (path, other))                                                  \
	X(open, (const char *path, struct fuse_file_info *file), (path, file))                                         \
	X(read, (const char *path, char *to, size_t bytes, off_t offset, struct fuse_file_info *file),                 \
	  (path, to, bytes, offset, file))                                                                             \
	X(write, (const char *path, const char *from, size_t bytes, off_t offset, struct fuse_file_info *file),        \
	  (path, from, bytes, offset, file))                                                                           \
	X(statfs, (const char *path, struct statvfs *status), (path, status))                                          \
	X(flush, (const char *path, struct fuse_file_info *file), (path, file))                                        \
	X(release, (const char *path, struct fuse_file_info *file), (path, file))                                      \
	ALTERS(setxattr, (const char *path, const char *name, const char *value, size_t bytes, int flags),             \
	       (path, name, value, bytes, flags))                                                                      \
	X(listxattr, (const char *path, char *names, size_t bytes), (path, names, bytes))                              \
	ALTERS(removexattr, (const char *path, const char *name), (path, name))                                        \
	X(opendir, (const char *path, struct fuse_file_info *file), (path, file))                                      \
	X(releasedir, (const char *path, struct fuse_file_info *file), (path, file))                                   \
	X(access, (const char *path, int mask), (path, mask))                                                          \
	X(create, (const char *path, mode_t mode, struct fuse_file_info *file), (path, mode, file))                    \
	X(bmap, (const char *path, size_t block_bytes, uint64_t *block), (path, block_bytes, block))                   \
	ALTERS(ioctl,                                                                                                  \
	       (const char *path, int request, void *argument, struct fuse_file_info *file, unsigned int flags,        \
	        void *data),                                                                                           \
	       (path, request, argument, file, flags, data))                                                           \
	X(fallocate, (const char *path, int mode, off_t offset, off_t bytes, struct fuse_file_info *file),             \
	  (path, mode, offset, bytes, file))

#define FUSE2_OWN_OPERATIONS(X, ALTERS)                                                                                \
	X(getattr, (const char *path, struct stat *status), (path, status))                                            \
	ALTERS(rename, (const char *path, const char *other), (path, other))                                           \
	ALTERS(chmod, (const char *path, mode_t mode), (path, mode))                                                   \
	ALTERS(chown, (const char *path, uid_t owner, gid_t group), (path, owner, group))                              \
	X(truncate, (const char *path, off_t bytes), (path, bytes))                                                    \
	X(readdir, (const char *path, void *to, fuse_fill_function *fill, off_t offset, struct fuse_file_info *file),  \
	  (path, to, fill, offset, file))                                                                              \
	X(ftruncate, (const char *path, off_t bytes, struct fuse_file_info *file), (path, bytes, file))                \
	X(fgetattr, (const char *path, struct stat *status, struct fuse_file_info *file), (path, status, file))        \
	X(utimens, (const char *path, const struct timespec *times), (path, times))

#define FUSE3_OWN_OPERATIONS(X, ALTERS)                                                                                \
	X(getattr, (const char *path, struct stat *status, struct fuse_file_info *file), (path, status, file))         \
	ALTERS(rename, (const char *path, const char *other, unsigned int flags), (path, other, flags))                \
	ALTERS(chmod, (const char *path, mode_t mode, struct fuse_file_info *file), (path, mode, file))                \
	ALTERS(chown, (const char *path, uid_t owner, gid_t group, struct fuse_file_info *file),                       \
	       (path, owner, group, file))                                                                             \
	X(truncate, (const char *path, off_t bytes, struct fuse_file_info *file), (path, bytes, file))                 \
	X(readdir,                                                                                                     \
	  (const char *path, void *to, fuse_fill_function *fill, off_t offset, struct fuse_file_info *file,            \
	   int flags),                                                                                                 \
	  (path, to, fill, offset, file, flags))                                                                       \
	X(utimens, (const char *path, const struct timespec *times, struct fuse_file_info *file), (path, times, file))

/* Indices of the functions in the table; all of its members have a pointer's size. */
enum fuse2_place {
	FUSE2_getattr,
	FUSE2_readlink,
	FUSE2_getdir,
	FUSE2_mknod,
	FUSE2_mkdir,
	FUSE2_unlink,
	FUSE2_rmdir,
	FUSE2_symlink,
	FUSE2_rename,
	FUSE2_link,
	FUSE2_chmod,
	FUSE2_chown,
	FUSE2_truncate,
	FUSE2_utime,
	FUSE2_open,
	FUSE2_read,
	FUSE2_write,
	FUSE2_statfs,
	FUSE2_flush,
	FUSE2_release,
	FUSE2_fsync,
	FUSE2_setxattr,
	FUSE2_getxattr,
	FUSE2_listxattr,
	FUSE2_removexattr,
	FUSE2_opendir,
	FUSE2_readdir,
	FUSE2_releasedir,
	FUSE2_fsyncdir,
	FUSE2_init,
	FUSE2_destroy,
	FUSE2_access,
	FUSE2_create,
	FUSE2_ftruncate,
	FUSE2_fgetattr,
	FUSE2_lock,
	FUSE2_utimens,
	FUSE2_bmap,
	FUSE2_flags, /* bits, no function */
	FUSE2_ioctl,
	FUSE2_poll,
	FUSE2_write_buf,
	FUSE2_read_buf,
	FUSE2_flock,
	FUSE2_fallocate,
	FUSE2_PLACES,
};

enum fuse3_place {
	FUSE3_getattr,
	FUSE3_readlink,
	FUSE3_mknod,
	FUSE3_mkdir,
	FUSE3_unlink,
	FUSE3_rmdir,
	FUSE3_symlink,
	FUSE3_rename,
	FUSE3_link,
	FUSE3_chmod,
	FUSE3_chown,
	FUSE3_truncate,
	FUSE3_open,
	FUSE3_read,
	FUSE3_write,
	FUSE3_statfs,
	FUSE3_flush,
	FUSE3_release,
	FUSE3_fsync,
	FUSE3_setxattr,
	FUSE3_getxattr,
	FUSE3_listxattr,
	FUSE3_removexattr,
	FUSE3_opendir,
	FUSE3_readdir,
	FUSE3_releasedir,
	FUSE3_fsyncdir,
	FUSE3_init,
	FUSE3_destroy,
	FUSE3_access,
	FUSE3_create,
	FUSE3_lock,
	FUSE3_utimens,
	FUSE3_bmap,
	FUSE3_ioctl,
	FUSE3_poll,
	FUSE3_write_buf,
	FUSE3_read_buf,
	FUSE3_flock,
	FUSE3_fallocate,
	FUSE3_PLACES,
};

#define FUSE_MOST_PLACES 64
