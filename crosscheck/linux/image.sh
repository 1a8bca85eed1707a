#!/bin/bash
# Makes what the virtual machine boots: Debian's kernel as it is packaged, and a small root file system in memory.
#
#   image.sh FOLDER [PACKAGE]
#
# PACKAGE is the package that depends on the newest kernel: linux-image-amd64 (the default), linux-image-6.12-amd64.
# Leaves FOLDER/vmlinuz, FOLDER/initrd and FOLDER/versions. Nothing is installed: the kernel's package is downloaded and
# unpacked. Needs a Debian machine with busybox-static iproute2 iputils-ping iperf3 ethtool kmod cpio.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
newest=${2:-linux-image-amd64}
folder=$(mkdir -p "$1" && readlink -f "$1")
for tool in busybox ip tc ss ping iperf3 ethtool depmod modprobe cpio dpkg-deb; do
    command -v $tool >/dev/null || { echo "image.sh: $tool is missing; see the head of this file" >&2; exit 2; }
done

package=$(apt-cache depends "$newest" | awk '/Depends: linux-image-[0-9]/ {print $2; exit}')
unpacked=$folder/kernel
if [ ! -d "$unpacked" ]; then
    (cd "$folder" && apt-get download "$package" >&2)
    dpkg-deb --extract "$folder/$package"_*.deb "$unpacked.part"
    dpkg-deb --field "$folder/$package"_*.deb Package Version >"$folder/package"
    rm "$folder/$package"_*.deb
    mv "$unpacked.part" "$unpacked"
fi
release=$(basename "$unpacked"/boot/vmlinuz-* | sed 's/^vmlinuz-//')
cp "$unpacked/boot/vmlinuz-$release" "$folder/vmlinuz"
modules=$unpacked/lib/modules/$release
depmod -b "$unpacked" "$release"

root=$folder/root
rm -rf "$root"
mkdir -p "$root"/{bin,dev,etc,lib/modules/$release,point,proc,run,sys,tmp,usr/lib}

# Every qdisc, classifier and congestion control, an ingress device and the action that leads to it, and what they need.
wanted=$(find "$modules/kernel/net/sched" "$modules/kernel/net/ipv4" -name '*.ko*' -printf '%f\n' \
    | grep -E '^(sch_|cls_|tcp_)' | sed 's/\.ko.*$//'; echo veth ifb act_mirred)
for module in $wanted; do
    modprobe -d "$unpacked" -S "$release" --show-depends "$module" | awk '$1 == "insmod" {print $2}'
done | sort -u | while read -r file; do
    target=$root/lib/modules/$release/${file#*"/$release/"}
    mkdir -p "$(dirname "$target")"
    cp "$file" "$target"
    # Newer kernels have compressed modules, which busybox does not read.
    case $target in *.xz) xz --decompress "$target" ;; esac
done
cp "$modules"/modules.{builtin,order} "$root/lib/modules/$release/"
depmod -b "$root" "$release"

cp "$(command -v busybox)" "$root/bin/busybox"
# The kernel looks for modprobe in /sbin.
ln -s bin "$root/sbin"
for applet in mount cat cut mkdir sleep tr mkfifo kill gzip tar base64 modprobe insmod poweroff sysctl sh; do
    ln -s busybox "$root/bin/$applet"
done
for tool in bash ip tc ss ping iperf3 ethtool; do
    binary=$(readlink -f "$(command -v $tool)")
    cp "$binary" "$root/bin/$tool"
    # Not every binary has libraries.
    { ldd "$binary" || true; } | grep -oE '/[^ ]+' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -nL "$library" "$root$library"
    done
done
install -m 755 "$here/guest/init" "$root/init"
(cd "$root" && find . | cpio --create --format=newc --quiet --owner=0:0 | gzip -1) >"$folder/initrd"
rm -rf "$root"
{
    tr '\n' ' ' <"$folder/package"; echo
    iperf3 --version | head -1
    tc -V
    qemu-system-x86_64 --version | head -1
} >"$folder/versions"
cat "$folder/versions"
