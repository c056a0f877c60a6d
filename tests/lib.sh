# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034 # What is set here is used by the scripts that read it
# What the topics' scripts share. A script begins with
#	. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
# and is then in a folder of its own in memory, which goes away with it, mounts included. What it prints is
# compared with its expect file, so helpers print nothing unless something is wrong.
#
# E2POPULATE names another builder with the same command line, to see which tests it passes; COMPARE_OPTIONS are
# more options for compare_trees, to leave out what that builder is known to lose.

set -u
LC_ALL=C
TZ=UTC
export LC_ALL TZ
unset SOURCE_DATE_EPOCH MKE2FS_CONFIG MKE2FS_DEVICE_SECTSIZE MKE2FS_SYNC E2FSPROGS_FAKE_TIME
PATH=$PATH:/usr/sbin:/sbin

top=$(cd "${TOP_SRCDIR:-$(dirname "$0")/../..}" && pwd)
build=${TOP_BUILDDIR:-$top/build}
e2populate=${E2POPULATE:-$build/misc/e2populate}
e2update=$build/misc/e2update
compare_trees=$build/tests/tools/compare_trees
make_tar=$build/tests/tools/make_tar
make_tree=$build/tests/tools/make_tree
same_bytes=$build/tests/tools/same_bytes
shuffle_names=$build/tests/tools/shuffle_names
split_tree=$build/tests/tools/split_tree

# Failures show it; TEST_SEED=n repeats a run.
seed=${TEST_SEED:-1}

skip() {
	echo "$*"
	exit 77
}

# skip_part REASON: what follows does without that part; the summary of all tests names it.
skip_part() {
	echo "$*" >>"${SKIPPED_PARTS:-/dev/null}"
}

# has_tool TOOL: is it there? If not, what needs it is a part that is skipped.
has_tool() {
	command -v "$1" >/dev/null && return
	skip_part "needs $1"
	return 1
}

# Says why and ends the script; the output no longer matches, so the test fails. With the trees and their seeds.
fail() {
	echo "FAILED: $*"
	cat trees.log
	exit 1
}

require_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

require_tool() {
	for tool; do
		command -v "$tool" >/dev/null || skip "needs $tool"
	done
}

# Every missing loop device or privilege shows in one real try.
require_loop_mount() {
	require_root
	truncate -s 1M probe.img
	mke2fs -q -F -t ext4 -O ^has_journal probe.img
	mkdir -p probe
	mount -o ro,loop probe.img probe 2>/dev/null || skip "needs a loop mount"
	umount probe
	rm -f probe.img
	rmdir probe
}

# require_memory MIB: room for the source and the image, which are both in memory.
require_memory() {
	[ "$(df -Pm . | awk 'NR == 2 { print $4 }')" -ge "$1" ] || skip "needs $1 MiB in ${work%/*}"
}

# scale USUAL INSTRUMENTED [SOAK]: how often, or how much. The second in builds with a sanitizer, which are many times slower;
# the third, where there is one, in make soak, which has time for each repetition.
scale() {
	if [ -n "${SANITIZERS:-}" ]; then
		echo "$2"
	elif [ -n "${SOAK:-}" ]; then
		echo "${3:-$1}"
	else
		echo "$1"
	fi
}

# changed_lately: of the files on standard input, a name each line, those that the working tree or one of the last 100 commits
# changed: the rest was looked at when it was changed. All of them where there is no history of git's, and in make soak, which is
# to be run when the rules have changed. In the top folder.
changed_lately() {
	if [ -z "${SOAK:-}" ] && [ -z "$(git rev-parse --show-prefix 2>&1)" ] && {
		git log -n 100 --format= --name-only && git diff --name-only HEAD && git ls-files --others --exclude-standard
	} >"$work/changed" 2>/dev/null; then
		grep -Fx -f "$work/changed"
	else
		cat
	fi
}

mounts=
devices=
leave() {
	status=$?
	trap - EXIT
	cd /
	for mounted in $mounts; do
		umount "$mounted" 2>/dev/null || umount -l "$mounted"
	done
	for attached in $devices; do
		losetup --detach "$attached"
	done
	rm -rf "$work"
	exit $status
}

work=$(mktemp -d "${TMPDIR:-/dev/shm}/topic.XXXXXX") || exit 1
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work" || exit 1
: >trees.log

# populate ARGUMENTS: runs the builder; a failure is shown and ends the script.
populate() {
	"$e2populate" "$@" >populate.log 2>&1 && return
	echo "exit status $?:"
	cat populate.log
	fail "e2populate $*"
}

# tree DIR OPTIONS: a random tree.
tree() {
	tree_directory=$1
	shift
	"$make_tree" "$tree_directory" --seed="$seed" "$@" >>trees.log 2>&1 || fail "make_tree $*"
}

mount_image() {
	mkdir -p "$2"
	mount -o ro,loop "$1" "$2" || fail "$1: cannot be mounted"
	mounts="$work/$2 $mounts"
}

# locked_by_qemu FILE COMMAND...: runs it while FILE has the locks that QEMU has on the disk of a running machine.
locked_by_qemu() {
	python3 - "$@" <<-'END'
		import fcntl, struct, subprocess, sys
		with open(sys.argv[1], 'rb+') as image:
		    for start in 100, 201:
		        fcntl.fcntl(image, 37, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, start, 1, 0))  # F_OFD_SETLK
		    sys.exit(subprocess.run(sys.argv[2:]).returncode)
	END
}

# attach_loop FILE: prints a device through which FILE can be written. Where tests run side by side, losetup may
# find one that was read-only a moment ago and still is (seen on Linux 6.18).
attach_loop() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		attached=$(losetup --find --show "$1") || return 1
		blockdev --setrw "$attached"
		if [ "$(blockdev --getro "$attached")" = 0 ]; then
			echo "$attached"
			return
		fi
		losetup --detach "$attached"
		sleep 0.1
	done
	return 1
}

# mount_writable IMAGE DIR [OPTIONS]: `mount -o loop` would be content with a device that cannot be written.
mount_writable() {
	mkdir -p "$2"
	loop=$(attach_loop "$1") || fail "$1: no loop device"
	# shellcheck disable=SC2086 # options
	mount ${3:-} "$loop" "$2" || fail "$1: cannot be mounted"
	mounts="$work/$2 $mounts"
	# While it is mounted, this only says that it shall go away afterwards.
	losetup --detach "$loop"
}

# loop_file DEVICE: sets $loop_backing to the file that a loop device reads, if it is one. No program: it is asked at each unmount.
loop_file() {
	loop_backing=
	[ ! -e "/sys/block/${1#/dev/}/loop/autoclear" ] || read -r loop_backing 2>/dev/null <"/sys/block/${1#/dev/}/loop/backing_file" || :
}

# The kernel lets go of the filesystem, and of the loop device, with the last copy of the mount. A test that has just begun
# may have one for a moment, until its in-own-mounts has unmounted it.
unmount() {
	unmounted=
	while read -r _ _ _ _ mount_point rest; do
		[ "$mount_point" != "$work/$1" ] || unmounted=${rest##* - }
	done </proc/self/mountinfo
	# The type, the device, options.
	unmounted=${unmounted#* }
	unmounted=${unmounted%% *}
	loop_file "$unmounted"
	image=$loop_backing
	umount "$1" || fail "$1: cannot be unmounted"
	unmount_tries=0
	while [ -n "$image" ] && loop_file "$unmounted" && [ "$loop_backing" = "$image" ] && [ $unmount_tries -lt 1200 ]; do
		# Not one that somebody has attached, and that stays.
		read -r autoclear 2>/dev/null <"/sys/block/${unmounted#/dev/}/loop/autoclear" || break
		[ "$autoclear" = 1 ] || break
		unmount_tries=$((unmount_tries + 1))
		sleep 0.05
	done
	still_mounted=
	for mounted in $mounts; do
		[ "$mounted" = "$work/$1" ] || still_mounted="$still_mounted$mounted "
	done
	mounts=$still_mounted
}

# check_image IMAGE [fresh|again]: e2fsck finds nothing at all, not even what it would only ask about; nor does e2fsck -p,
# which a host runs when it boots. A fresh image, which nobody else has written to, it does not change either. It is not
# run where one of the same tree has been looked at (again).
check_image() {
	e2fsck -fn "$1" >fsck.log 2>&1 && ! grep -q '? no$' fsck.log && preen_image "$@" && return
	echo "$1: e2fsck says:"
	cat fsck.log
	return 1
}

# preen_image IMAGE [fresh|again]: the same of e2fsck -p, on a copy. It may note its visit in the superblock, and in the block
# with which the feature mmp guards it. What is no file, or holds more than 512 MiB, is left out; so are builds with a sanitizer,
# which finds nothing in e2fsck.
preen_image() {
	[ "${2:-}" != again ] && [ -z "${SANITIZERS:-}" ] && [ -f "$1" ] && [ "$(stat -c %b "$1")" -le 1048576 ] || return 0
	cp --sparse=auto "$1" preened || return
	preen_status=0
	LD_PRELOAD="$build/tests/tools/no_waiting.so" e2fsck -fp preened >fsck.log 2>&1 || preen_status=1
	# Reading all of what is long would take longer than e2fsck.
	if [ "${2:-}" = fresh ] && [ "$(stat -c %s "$1")" -le 67108864 ] &&
		! "$same_bytes" --but-superblock "$1" preened >/dev/null &&
		! superblock "$1" "Filesystem features" | grep -qw mmp; then
		echo "e2fsck -p changes it" >>fsck.log
		preen_status=1
	fi
	rm preened
	return $preen_status
}

# compare_image SOURCE IMAGE [OPTIONS]: the image is clean and, seen through the kernel, equals its source.
compare_image() {
	compare_source=$1
	compare_image=$2
	shift 2
	check_image "$compare_image" fresh || return
	mount_image "$compare_image" mounted
	# shellcheck disable=SC2086 # options
	if "$compare_trees" ${COMPARE_OPTIONS:-} "$@" "$compare_source" mounted >compare.log 2>&1; then
		echo "equal"
	else
		cat trees.log compare.log
	fi
	unmount mounted
}

# expect_failure STATUS COMMAND...: shows the messages, with the work folder left out.
expect_failure() {
	expected_status=$1
	shift
	"$@" >failure.log 2>&1
	failure_status=$?
	sed "s#$work/##g" failure.log
	[ $failure_status = "$expected_status" ] || echo "exit status $failure_status, should be $expected_status"
}

# contents DIR: what lies in it, hidden files too, one name a line.
contents() {
	ls -A "$1"
}

# cmp as ever, but of two files it does not read what is a hole in both: images are mostly holes.
cmp() {
	if [ $# = 2 ] && [ -f "$1" ] && [ -f "$2" ]; then
		"$same_bytes" "$1" "$2"
	else
		command cmp "$@"
	fi
}

sha() {
	sha256sum "$1" | cut -d ' ' -f 1
}

# checksum FILE: another one when FILE changes. For an image of 2 GiB it takes 0.2 s, and sha256sum 6 s.
checksum() {
	cksum <"$1"
}

# simulated_times IMAGE FILE: ctime and mtime of one of e2allocsim's files, in microseconds since the time that all are
# made with: how often calls changed its inode.
simulated_times() {
	debugfs -R "stat /$2" "$1" 2>/dev/null | sed -n 's/^ *[cm]time: 0x\([0-9a-f]*\):\([0-9a-f]*\) .*/\1 \2/p' |
		while read -r seconds extra; do
			echo $(((0x$seconds - 1752498207) * 1000000 + (0x$extra >> 2) / 1000))
		done | paste -s -d ' '
}

# superblock IMAGE FIELD: dumpe2fs's value.
superblock() {
	dumpe2fs -h "$1" 2>/dev/null | sed -n "s/^$2: *//p"
}

# prepare_run: $run is ext2mb-run. What it preloads is instrumented where the rest of us is: then the sanitizer's runtime is
# preloaded before it, into programs whose own leaks are not ours.
prepare_run() {
	run=$build/preload/ext2mb-run
	case ${SANITIZERS:-} in
	address) sanitizer_runtime=$(${CC:-cc} -print-file-name=libasan.so) ;;
	thread) sanitizer_runtime=$(${CC:-cc} -print-file-name=libtsan.so) ;;
	*) return ;;
	esac
	cat >sanitized_run <<-END
		#!/bin/sh
		ASAN_OPTIONS=\$ASAN_OPTIONS:detect_leaks=0 LD_PRELOAD=$sanitizer_runtime\${LD_PRELOAD:+:\$LD_PRELOAD} \\
			exec "$run" "\$@"
	END
	chmod 755 sanitized_run
	run=$work/sanitized_run
}

# require_fuse: fuse2fs can mount here. FUSE2FS=PATH: that one, which finds its libext2fs by itself or by LD_LIBRARY_PATH.
require_fuse() {
	require_root
	if [ -n "${FUSE2FS:-}" ]; then
		mkdir -p other_fuse2fs
		ln -sf "$FUSE2FS" other_fuse2fs/fuse2fs
		PATH=$work/other_fuse2fs:$PATH
	fi
	require_tool fuse2fs
	[ -c /dev/fuse ] || skip "needs /dev/fuse"
}

# Pages are not kept between opens: libfuse knows files by their names, so with the default kernel_cache what is written by one name
# is not seen by another.
fuse_base_options=no_default_opts,attr_timeout=0,entry_timeout=0

# More of them, each after a comma.
fuse_options=

# close(2) returns before fuse2fs hears of it, and until then libfuse renames what is removed to .fuse_hidden…, with and without
# us; a directory with such a name in it cannot be removed, and a file has a link more. libfuse 3 has no option against it.
hard_remove() {
	ldd "$(command -v fuse2fs)" | grep -q 'libfuse\.so\.2' && echo ,hard_remove
}

# start_fuse IMAGE DIR COMMAND...: runs fuse2fs under a command, and waits for the mount.
start_fuse() {
	fuse_directory=$2
	mkdir -p "$2"
	fuse_image=$1
	shift 2
	"$@" fuse2fs -f "$fuse_image" "$fuse_directory" -o "$fuse_base_options$(hard_remove)$fuse_options" >>fuse.log 2>&1 &
	fuse_process=$!
	for _ in $(seq 200); do
		if mountpoint -q "$fuse_directory"; then
			mounts="$work/$fuse_directory $mounts"
			return
		fi
		kill -0 "$fuse_process" 2>/dev/null || break
		sleep 0.05
	done
	cat fuse.log
	fail "fuse2fs does not mount $fuse_image"
}

# stop_fuse: unmounts it, and waits until everything is written.
stop_fuse() {
	unmount "$fuse_directory"
	wait "$fuse_process" || echo "fuse2fs: exit status $?"
}

# check_written IMAGE: e2fsck finds nothing wrong in what libext2fs has written. It may propose to shorten extent trees, which
# libext2fs does not do.
check_written() {
	e2fsck -fn "$1" >fsck.log 2>&1 && return
	echo "$1: e2fsck says:"
	cat fsck.log
	return 1
}

# in_kernel OPTIONS SCRIPT IMAGE...: tests/in-kernel; the topic is skipped where that cannot run, or the script inside says so (77).
in_kernel() {
	in_kernel_status=0
	TOP_BUILDDIR=$build "$top/tests/in-kernel" "$@" >kernel.log || in_kernel_status=$?
	[ $in_kernel_status != 77 ] || skip "$(tail -n 1 kernel.log)"
	cat kernel.log
	return $in_kernel_status
}
