#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Random trees with random options and without SIZE: the image is made, whatever the size that is chosen at first turns
# out to be worth, and is clean. TREES=n says how many; `make soak` has 2000 of them.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

trees=${TREES:-$(scale 30 8 40)}
export SOURCE_DATE_EPOCH=1700000000

# mke2fs changes the block size of what has 3 MiB here, not only of what has 512 MiB.
cat >floppies.conf <<'CONFIG'
[defaults]
	base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr
	blocksize = 4096
	inode_size = 256
	inode_ratio = 16384
[fs_types]
	ext3 = {
		features = has_journal
	}
	ext4 = {
		features = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize
	}
	small = {
		blocksize = 4096
	}
	floppy = {
		blocksize = 1024
	}
CONFIG
head -c 8M /dev/urandom >noise

# below N: sets chosen to a random number from 0 to N - 1.
below() {
	random=$(((random * 1103515245 + 12345) % 2147483648))
	chosen=$((random / 4096 % $1))
}

# one_of WORD...: sets chosen to one of them.
one_of() {
	below $#
	shift "$chosen"
	chosen=$1
}

choose_options() {
	one_of "-t ext2" "-t ext3" "-t ext4" "-t ext4" "-t ext4" "-t ext4"
	options=$chosen
	one_of 0 0 0 1024 2048 4096
	block=$chosen
	[ "$block" = 0 ] || options="$options -b $block"
	case $options in
	*ext4*)
		one_of "" "" "^has_journal" bigalloc inline_data "^extent,^64bit" ea_inode quota,project \
			"sparse_super2,^resize_inode" "meta_bg,^resize_inode" "^flex_bg" orphan_file \
			"bigalloc,inline_data,^has_journal" "inline_data,ea_inode,quota" metadata_csum_seed
		;;
	*) one_of "" "" "^resize_inode" "^dir_index" "^sparse_super,^resize_inode" ;;
	esac
	[ -z "$chosen" ] || options="$options -O $chosen"
	one_of "" "" "" "-m 20" "-i 2048" "-I 1024" "-g 4096" "-G 4" "-J size=8" "-E resize=40G" "--free=10%" \
		"--free-inodes=1000" "-E packed_meta_blocks=1" "-E stride=16,stripe_width=64" "-E lazy_itable_init=0"
	case $options$chosen in
	*has_journal*-J* | *ext2*-J* | *resize_inode*resize=* | *ext[23]*-G* | *ext[23]*packed* | *flex_bg*-G*) ;;
	*flex_bg*packed* | *bigalloc*-g* | *bigalloc*-i* | *meta_bg*resize=*) ;;
	*) options="$options $chosen" ;;
	esac
	unset MKE2FS_CONFIG
	below 4
	[ "$chosen" != 0 ] || export MKE2FS_CONFIG="$work/floppies.conf"
}

make_source() {
	one_of mixed mixed mixed sparse small large links deep one-directory subdirectories xattr-sizes
	kind=$chosen
	one_of 5 30 100 300
	files=$chosen
	case $kind in
	large | sparse) files=$((files / 30 + 1)) ;;
	deep) files=$((files / 10 + 1)) ;;
	esac
	one_of 5000 60000 300000
	largest=$chosen
	# What fits one block, where the block size is given.
	fits="--longest-link=1023 --xattr-bytes=600"
	[ "$block" = 1024 ] || fits="--longest-link=2047 --xattr-bytes=1600"
	case $block$options in
	0*) fits="--longest-link=4000 --xattr-bytes=2500" ;;
	esac
	[ $kind != xattr-sizes ] || fits="$fits --no-zeros"
	# shellcheck disable=SC2086 # options
	tree source --seed="$random" --kind="$kind" --files="$files" --largest-bytes="$largest" $fits
	below 3
	if [ "$chosen" = 0 ]; then
		below 6000000
		head -c "$chosen" /dev/zero >source/zeros
		below 2000000
		head -c "$chosen" noise >>source/zeros
	fi
	# About where mke2fs changes the block size: near 3 MiB, and in a long run near 512 MiB.
	below 100
	if [ "$chosen" -lt 30 ]; then
		below 2500000
		head -c "$chosen" noise >source/noise
	elif [ "$chosen" -lt 32 ] && [ "$trees" -ge 1000 ]; then
		below 12
		for copy in $(seq $((55 + chosen))); do
			cp noise "source/noise$copy"
		done
		below 8000000
		head -c "$chosen" noise >>source/noise1
	fi
}

# Tree NUMBER of the run; false: it is shown what went wrong.
try() {
	random=$(((seed * 1000003 + $1 * 2654435761) % 2147483648))
	below 2
	: >trees.log
	choose_options
	make_source
	# shellcheck disable=SC2086 # options
	"$e2populate" -q $options -d source image >populate.log 2>&1 && check_image image fresh >check.log 2>&1 && return
	echo "# tree $1 of seed $seed, ${MKE2FS_CONFIG:+other configuration, }$options:"
	cat trees.log populate.log check.log | tail -n 30 | sed 's/^/# /'
	return 1
}

echo "1..1"
number=0 failures=0
: >check.log
while [ $number -lt "$trees" ]; do
	number=$((number + 1))
	[ -z "${ONLY:-}" ] || number=$ONLY
	try $number || failures=$((failures + 1))
	rm -rf source image
	[ -z "${ONLY:-}" ] || break
done
[ $failures = 0 ] || printf 'not '
echo "ok 1 - $number trees without SIZE, $failures failed; seed $seed"
[ $failures = 0 ]
