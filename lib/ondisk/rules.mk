ondisk_sources := \
	lib/ondisk/directory.c \
	lib/ondisk/file_map.c \
	lib/ondisk/format.c \
	lib/ondisk/inode.c \
	lib/ondisk/xattr.c
