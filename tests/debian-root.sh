# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2154 # $top and $tool are set by the scripts that read it
# Roots of Debian releases, for the scripts beside it that build or test in one: $top is the top folder, $tool their name.
#
# DEBIAN_MIRROR is where packages come from (default: where the host's apt gets Debian's), TMPDIR where roots lie (default
# /var/tmp; no nodev or noexec), DEBIAN_CACHE a folder that keeps what debootstrap made, for the next time.

PATH=$PATH:/usr/sbin:/sbin

fail() {
	echo "$tool: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || fail "only root can make a Debian root"
for program in debootstrap git tar unshare; do
	command -v $program >/dev/null || fail "$program is missing: apt-get install debootstrap git tar util-linux"
done

# shellcheck disable=SC2016 # apt expands it
# The host's own mirror, if its apt knows one of Debian itself.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' | head -n 1)}
mirror=${mirror:-http://deb.debian.org/debian}

work=$(mktemp -d "${TMPDIR:-/var/tmp}/ext2mb-debian.XXXXXX")
# Roots in it become /, which everybody may enter.
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# keep_root ROOT TAR: which is there as a whole or not at all.
keep_root() {
	mkdir -p "${2%/*}"
	tar -C "$1" --numeric-owner -cf "$2.$$" . && mv "$2.$$" "$2"
}

# make_root RELEASE ROOT: a fresh one, with a clone of HEAD in /ext2mb.
make_root() {
	cached=${DEBIAN_CACHE:+$DEBIAN_CACHE/$1.tar}
	mkdir "$2"
	if [ -n "$cached" ] && [ -f "$cached" ]; then
		echo "==> Debian $1 from $cached in $2"
		tar -C "$2" --numeric-owner -xf "$cached"
	else
		echo "==> Debian $1 from $mirror in $2"
		debootstrap --variant=minbase "$1" "$2" "$mirror" >"$work/debootstrap.log" 2>&1 || {
			tail -n 20 "$work/debootstrap.log" >&2
			fail "debootstrap $1 $mirror failed (see above)"
		}
		[ -z "$cached" ] || keep_root "$2" "$cached"
	fi
	cp -L /etc/resolv.conf /etc/hosts "$2/etc/"
	# How the host reaches its mirrors: proxies, certificates, clocks.
	apt-config dump 2>/dev/null | grep -E '^Acquire::(https?::|Check-|Retries)' >"$2/etc/apt/apt.conf.d/99host" || true
	[ -z "$(git -C "$top" -c safe.directory="$top" status --porcelain)" ] ||
		echo "$tool: what is not committed in $top is left out" >&2
	git -c safe.directory="$top" -c safe.directory="$top/.git" clone --quiet "$top" "$2/ext2mb"
}

# in_root ROOT COMMAND...: in /ext2mb there, and in namespaces of its own: with the first process all others and all mounts
# go away, whatever happens here.
in_root() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child sh -c '
		set -eu
		root=$1
		shift
		# systemd-repart wants / to be a mount point.
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		# Not chroot(8), within which nobody may have a user namespace. The new / lies over the old one until that goes.
		cd "$root"
		pivot_root . .
		umount -l .
		cd /
		exec env -i CI=true HOME=/root LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
			sh -c "cd /ext2mb && exec \"\$@\"" sh "$@"
	' sh "$@" </dev/null
}
