/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2populate's options as rows: mke2fs(8)'s are passed on, ours go where their rows say. */
#include "e2populate_rows.h"

#include "dm_verity_options.h"
#include "e2populate_set.h"
#include "keep_links_option.h"
#include "layer_cache_command.h"
#include "list_inputs_option.h"
#include "platform_option.h"
#include "disk/source_limits_option.h"
#include "strip_components_option.h"
#include "verity_options.h"

/* Few sources take more requests at once, and each reader takes memory and file descriptors. */
#define MOST_READERS 256

static const char usage[] =
	"Usage: e2populate [mke2fs options] -d SOURCE [options] IMAGE [SIZE]\n"
	"Makes an ext2, ext3 or ext4 filesystem that holds SOURCE, with several threads.\n"
	"\n"
	"  IMAGE                a file, made anew under a temporary name and renamed when whole, or a block device;\n"
	"                       called as mke2fs or mkfs.ext4, a file that exists is written in place\n"
	"  SIZE                 as mke2fs(8) reads it; without it a new file becomes just large enough, and what is\n"
	"                       written in place keeps its size\n";

static const char epilogue[] =
	"\n"
	"-t is ext4 unless -t or -j says otherwise.\n"
	"SOURCE_DATE_EPOCH, if set, makes the image depend on SOURCE and options alone, its UUID included.\n"
	"\n"
	"Examples:\n"
	"  e2populate -d rootfs root.img                         ext4, just large enough for the folder rootfs\n"
	"  e2populate -L root -d rootfs.tar.zst root.img 2G      2 GiB, labelled root, from an archive\n"
	"  e2populate --free=10% --verify -d oci:image root.img  from an OCI image, a tenth free, compared\n"
	"  e2populate -d old.img new.img                         defragmented, and as small as it can be\n";

/* In the order of --help. */
static const struct option_row own_rows[] = {
	{ .heading = "What is taken from SOURCE" },
	{ .letter = 'd',
	  .argument = "SOURCE",
	  .kind = ARGUMENT_FILE,
	  FIELD(sources),
	  .set = add_source,
	  .help = "the directory (dir:DIR where it holds an OCI image), the archive (tar, cpio, zip, also\n"
	          "compressed; -: standard input; others as KIND:FILE: 7z, ar, cab, iso, lha, rar, rpm, warc,\n"
	          "xar), the manifest (FILE.mtree, mtree:FILE), the container image (oci:DIR[:REF],\n"
	          "oci-archive:FILE[:REF], docker-archive:FILE[:NAME]) or the image or device with ext2, ext3\n"
	          "or ext4, also packed, qcow2 or Android sparse (image:FILE[?offset=N,noload] where it is not\n"
	          "told by itself) to put into the filesystem; several are laid over each other, the last one\n"
	          "on top" },
	PLATFORM_ROW(options.platform),
	{ .name = "exclude",
	  .argument = "PATTERN",
	  .kind = ARGUMENT_TEXT,
	  .set = add_exclude,
	  .help = "leave out what matches, as in .gitignore; repeatable" },
	{ .name = "exclude-from",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  .set = add_excludes_from,
	  .help = "the same for each line of FILE" },
	{ .name = "one-file-system",
	  FIELD(options.one_file_system),
	  .help = "directories on which something is mounted stay empty" },
	{ .name = "no-xattrs", FIELD(options.without_xattrs), .help = "no extended attributes, ACLs or capabilities" },
	{ .name = "flags",
	  .argument = "keep|none",
	  .kind = ARGUMENT_WORDS,
	  .words = "keep|none",
	  FIELD(options.without_flags),
	  .help = "keep file flags, which chattr(1) sets (the default), or leave them out" },
	{ .name = "times",
	  .argument = "mtime|all",
	  .kind = ARGUMENT_WORDS,
	  .words = "mtime|all",
	  FIELD(options.all_times),
	  .help = "all times of a file are that of its modification (the default), or access,\n"
	          "change and creation are those of SOURCE where it has them" },
	{ .name = "zeros",
	  .argument = "contents|source",
	  .kind = ARGUMENT_WORDS,
	  .words = "contents|source",
	  FIELD(options.zeros_of_source),
	  .set = set_zeros,
	  .help = "what becomes holes: holes of SOURCE and zeros that its data hold (the\n"
	          "default), or only holes of SOURCE, and its data are not looked at" },
	{ .name = "limit",
	  .argument = "LIST",
	  .kind = ARGUMENT_TEXT,
	  .words = SOURCE_LIMITS_WORDS,
	  .set = set_limit,
	  .help = "how much archives, manifests, layers and images may hold together: names=N\n"
	          "(20000000), unpacked=SIZE (1T), metadata=SIZE (25% of the memory available);\n"
	          "and path=N, bytes of one path (4095); none for a limit takes it away" },
	{ .name = "whiteouts",
	  .argument = "FORM",
	  .kind = ARGUMENT_WORDS,
	  .word = whiteouts_name,
	  .set = set_whiteouts,
	  .help = "how a SOURCE removes files of those before it (oci: .wh.NAME; to-overlayfs: oci,\n"
	          "kept as overlayfs's own): " },
	STRIP_COMPONENTS_ROW(options.layering.strip_components),
	KEEP_LINKS_ROW(options.layering.follows_links),
	{ .heading = "Owners and metadata" },
	{ .name = "owner-map",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  .set = set_owner_map,
	  .help = "other owners by rules, lines of FROM TO, each USER, USER:GROUP or\n"
	          ":GROUP; names are those of SOURCE/etc/passwd and group" },
	{ .name = "uid-map",
	  .argument = "FROM:TO:COUNT",
	  .kind = ARGUMENT_TEXT,
	  .set = set_id_map,
	  .help = "users by ranges, as in a user namespace; repeatable" },
	{ .name = "gid-map",
	  .argument = "FROM:TO:COUNT",
	  .kind = ARGUMENT_TEXT,
	  .set = set_id_map,
	  .help = "the same for groups" },
	{ .name = "root-owned", FIELD(owners.root_owned), .help = "everything belongs to 0:0 (also --all-root)" },
	{ .name = "all-root", FIELD(owners.root_owned) },
	{ .name = "metadata",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  .set = set_metadata,
	  .help = "an mtree(5) manifest: owners, modes, times, xattrs of single files;\n"
	          "devices, directories and links that SOURCE lacks are made" },
	{ .name = "file-contexts",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  FIELD(options.labels.file_contexts),
	  .help = "SELinux labels by the rules of a policy's file_contexts; as mkfs.erofs(1)" },
	{ .name = "context-prefix",
	  .argument = "PATH",
	  .kind = ARGUMENT_TEXT,
	  FIELD(options.labels.prefix),
	  .help = "what stands before each path when it is looked up there: where the image\n"
	          "will be mounted" },
	{ .name = "labels",
	  .argument = "rules|source|none",
	  .kind = ARGUMENT_WORDS,
	  .words = "rules|source|none",
	  .set = set_labels,
	  .help = "which SELinux labels files get: by --file-contexts alone (rules, the default\n"
	          "with it), those of SOURCE and by --file-contexts only where it has none\n"
	          "(source), or none" },
	{ .name = "casefold",
	  .argument = "DIRECTORY",
	  .kind = ARGUMENT_TEXT,
	  FIELD(casefolded),
	  .help = "DIRECTORY of the source (/ is all of it) and what is below become\n"
	          "case-insensitive, as with chattr +F; needs -O casefold" },
	{ .name = "verity",
	  .argument = "PATTERN",
	  .kind = ARGUMENT_TEXT,
	  .set = add_verity,
	  .help = "protect the files that match, as in .gitignore, with fs-verity (with -O verity);\n"
	          "repeatable" },
	{ .name = "verity-hash-alg",
	  .argument = "sha256|sha512",
	  .kind = ARGUMENT_WORDS,
	  .words = VERITY_ALGORITHM_WORDS,
	  .set = set_verity_option,
	  .help = "their hash (sha256)" },
	{ .name = "verity-block-size",
	  .argument = "SIZE",
	  .kind = ARGUMENT_SIZE,
	  .minimum = 1 << VERITY_LEAST_BLOCK_BITS,
	  .maximum = 1 << VERITY_MOST_BLOCK_BITS,
	  .set = set_verity_option,
	  .help = "their blocks: 1024 up to the filesystem's (4096, or the filesystem's)" },
	{ .name = "verity-salt",
	  .argument = "HEX",
	  .kind = ARGUMENT_TEXT,
	  .set = set_verity_option,
	  .help = "their salt, up to 32 bytes in hexadecimal digits" },
	{ .name = "verity-signature",
	  .argument = "DIRECTORY",
	  .kind = ARGUMENT_DIRECTORY,
	  FIELD(options.verity.signatures),
	  .help = "DIRECTORY/PATH.sig, where it exists, is the signature of PATH" },
	{ .heading = "The filesystem" },
	{ .name = "label",
	  .argument = "NAME",
	  .kind = ARGUMENT_TEXT,
	  .set = set_label,
	  .help = "the volume's name, of 16 bytes at most, as -L" },
	{ .name = "like",
	  .argument = "source|none",
	  .kind = ARGUMENT_WORDS,
	  .words = "source|none",
	  .set = set_like,
	  .help = "label, UUID, features, sizes of blocks, inodes and journal, mount options and the\n"
	          "like are those of SOURCE, and blocks stay preallocated, where options do not say\n"
	          "otherwise (the default if SOURCE is one image of ext2, ext3 or ext4)" },
	{ .heading = "Size" },
	{ .name = "free",
	  .argument = "SIZE|N%",
	  .kind = ARGUMENT_TEXT,
	  .set = set_free,
	  .help = "space that is left for anyone (as df shows it), in bytes, with a\n"
	          "suffix K, M, G, T, or in percent of the filesystem" },
	{ .name = "free-inodes",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .maximum = UINT32_MAX,
	  .set = set_free_inodes,
	  .help = "inodes that are left (default: with --free as many as mke2fs makes for that space)" },
	{ .name = "size-like",
	  FIELD(size_like),
	  .help = "as large as the filesystem of the first SOURCE that is an image of ext2, ext3 or ext4" },
	{ .name = "size-only", FIELD(options.size_only), .help = "print how large it would be, and write nothing" },
	{ .heading = "Work and output" },
	{ .letter = 'F',
	  .set = set_mke2fs_option,
	  .help = "do not ask before what a device, or a file written in place, holds is lost" },
	{ .name = "in-place",
	  FIELD(options.in_place),
	  .help = "write into IMAGE if it is a file that exists, as mke2fs does, instead of\nmaking a new one" },
	THREADS_ROW(options.threads),
	{ .name = "readers",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .maximum = MOST_READERS,
	  FIELD(options.readers),
	  .help = "how many threads read directories and files of SOURCE (default, or 0: as\n"
	          "many as work, and up to 64 while they wait for it)" },
	{ .name = "memory",
	  .argument = "SIZE|N%",
	  .kind = ARGUMENT_TEXT,
	  .set = set_memory,
	  .help = "how much of what an archive unpacks to stays in memory, in bytes, with a\n"
	          "suffix, or in percent of the memory available (256M, or 25% if that is\n"
	          "less); the rest goes to a temporary file" },
	{ .name = "stable-from",
	  .argument = "OLD",
	  .kind = ARGUMENT_IMAGE,
	  FIELD(options.stable_from),
	  .help = "what did not change since the image OLD keeps its blocks, so that\n"
	          "the two differ in few; UUID and sizes are OLD's unless given" },
	AGAINST_ROWS,
	PROGRESS_ROW(progress),
	{ .name = "layout",
	  .argument = "tree|layers",
	  .kind = ARGUMENT_WORDS,
	  .words = "tree|layers",
	  FIELD(options.layout),
	  .set = set_layout,
	  .help = "where contents are placed: with what lies beside them in the tree (the default),\n"
	          "or with all that is of the same SOURCE or layer, so that images can share the\n"
	          "blocks of layers (the default with --layer-cache; implies --zeros=source)" },
	{ .name = "keep-hidden",
	  FIELD(options.keeps_hidden),
	  .help = "with --layer-cache: what later layers hide keeps its place in IMAGE, as free blocks,\n"
	          "so each layer is shared in one piece; what it held can be read there" },
	{ .name = "reflink",
	  .argument = "auto|always|never",
	  .kind = ARGUMENT_WORDS,
	  .words = "auto|always|never",
	  FIELD(options.reflink),
	  .set = set_reflink,
	  .help = "with --zeros=source, IMAGE shares blocks with SOURCE where both are on\n"
	          "one filesystem that can do this, as XFS and btrfs (auto, the default);\n"
	          "always fails where it cannot" },
	{ .name = "oci-config",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  FIELD(options.oci_config),
	  .help = "write how a container image is started (Entrypoint, Env, User and so on) to FILE, as\n"
	          "JSON" },
	{ .name = "verify",
	  FIELD(options.verify),
	  .help = "check the image with e2fsck(8) and compare everything in it with\n"
	          "SOURCE before it gets its name" },
	{ .name = "report",
	  .argument = "FORM",
	  .kind = ARGUMENT_WORDS,
	  .words = "text|json",
	  FIELD(json),
	  .help = "text or json: what was built, on standard output" },
	LIST_INPUTS_ROW,
	{ .name = "doctor",
	  FIELD(is_examination),
	  .help = "say what this host can do, with -d and IMAGE also there, what would be slow or fail, and\n"
	          "what to do about it; make no image" },
	{ .letter = 'q', FIELD(quiet), .help = "print no report" },
	{ .letter = 'v', FIELD(verbose), .help = "also print what mke2fs(8) says of the filesystem" },
	{ 0 },
};

#define OTHER(character, what, words)                                                                                  \
	{                                                                                                              \
		.letter = (character), .argument = (what), .kind = (what) ? ARGUMENT_TEXT : ARGUMENT_NONE,             \
		.set = set_mke2fs_option, .help = (words)                                                              \
	}

/* Without words: refused. */
static const struct option_row other_mke2fs_rows[] = {
	{ .heading = "Also of mke2fs(8)", .is_brief = true },
	OTHER('M', "MOUNT-POINT", "where it was last mounted"),
	OTHER('c', NULL, "check for bad blocks"),
	OTHER('l', "FILE", "bad blocks from a file"),
	{ .letter = 'e',
	  .argument = "ERRORS",
	  .kind = ARGUMENT_TEXT,
	  .words = "continue|remount-ro|panic",
	  .set = set_mke2fs_option,
	  .help = "what the kernel does on errors" },
	OTHER('j', NULL, "with a journal"),
	OTHER('r', "REVISION", "of the filesystem's format"),
	OTHER('s', "SPARSE", "few copies of the superblock"),
	OTHER('o', "CREATOR", "the operating system that made it"),
	OTHER('C', "CLUSTER-SIZE", "in bytes, with bigalloc"),
	OTHER('D', NULL, "direct I/O"),
	OTHER('K', NULL, "do not discard"),
	OTHER('n', NULL, NULL),
	OTHER('S', NULL, NULL),
	OTHER('z', "UNDO-FILE", NULL),
	{ 0 },
};

const struct command_line e2populate_line = {
	.usage = usage,
	.tables = { own_rows, layer_cache_rows, dm_verity_rows, mke2fs_options, other_mke2fs_rows },
	.epilogue = epilogue,
};
