# Sourced by the walks: an empty Debian root, and the commands of a page in it, each with its output and its time.
# As root. SUITE (bookworm) and ARCH (this machine's; another one needs qemu-user-static with binfmt) choose the root, which
# mmdebstrap makes; BASE may name a tar file of one instead.
set -euo pipefail
sources=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
[ "$(id -u)" = 0 ] || { echo "$0: root is needed, to make a root file system and to enter it" >&2; exit 2; }
command -v mmdebstrap >/dev/null || { echo "$0: apt-get install mmdebstrap" >&2; exit 2; }
root=$(mktemp -d)
began=$SECONDS user=0:0 home=/root page=
trap 'rm -rf --one-file-system "$root"' EXIT

# empty PACKAGES: a root of Debian's essential packages and these, separated by commas.
empty() {
    local suite=${SUITE:-bookworm} arch=${ARCH:-$(dpkg --print-architecture)}
    echo "An empty root: Debian $suite, $arch, with $1. Machine: $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg), $(date -I)."
    if [ -n "${BASE:-}" ]; then
        tar -C "$root" -xf "$BASE"
    else
        # A mirror that is some days old serves a release file of sid that has expired.
        mmdebstrap --quiet --variant=minbase --architectures="$arch" --include="$1" --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$root"
    fi
    # Certificates and resolver of this machine, as an installed system has them.
    cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
    mkdir -p "$root/etc/ssl/certs" "$root/home/guest"
    cp --dereference /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    chown 1000:1000 "$root/home/guest"
    for tool in cargo rustc gcc cc; do
        [ -z "$(find "$root"/{usr/,}bin -name "$tool" -print -quit)" ] || { echo "$tool is in the root" >&2; exit 1; }
    done
    began=$SECONDS
}

# guest: the commands that follow are those of an ordinary user, in the user's home.
guest() { user=1000:1000 home=/home/guest; }

# page [FILE]: the commands that follow stand in this page, or in none.
page() { page=${1:+$sources/$1}; }

# quietly COMMAND: runs it in the root, in namespaces of its own.
quietly() {
    nsenter --net="${net:-/proc/self/ns/net}" unshare --mount --pid --ipc --fork --kill-child sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --make-rslave "$1/dev"
        exec chroot --userspec="$2" "$1" /usr/bin/env -i PATH="$3/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
            HOME="$3" LANG=C.UTF-8 PIP_NO_CACHE_DIR=1 PIP_PROGRESS_BAR=off PIP_DISABLE_PIP_VERSION_CHECK=1 ${5:+PIP_CERT=/etc/ssl/certs/ca-certificates.crt} \
            sh -c "cd $3 && $4"' sh "$root" "$user" "$home" "$1" "${PIP_CERT:-}"
}

# walk COMMAND: prints it, its last lines and its time. It must stand in the page.
walk() {
    if [ -n "$page" ] && ! grep -qF -- "$1" "$page"; then
        echo "$page does not say: $1" >&2
        exit 1
    fi
    echo
    echo "\$ $1"
    local start=$SECONDS
    quietly "$1" >"$root/said" 2>&1 || { cat "$root/said"; echo "failed: $1" >&2; exit 1; }
    sed 's/(Reading database.*%//' "$root/said" | tail -n "${LINES_KEPT:-25}"
    echo "[$((SECONDS - start)) s]"
}

# end [SECONDS]: the time from the empty root on, which may not be longer.
end() {
    local took=$((SECONDS - began))
    echo
    echo "From the empty root: $took s."
    [ "$took" -le "${1:-$took}" ] || { echo "that is more than $1 s" >&2; exit 1; }
}
