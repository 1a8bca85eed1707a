#!/usr/bin/env bash
# README's way with a wheel, from an empty Debian root without Rust: packaging/walks/wheel.sh [WHEEL], by default that in dist/.
# ARCH=arm64 tries one for aarch64. packaging/walks/wheel.txt is the output of a run.
. "$(dirname "$0")/root.sh"
wheel=$(realpath "${1:-$(ls "$sources"/dist/sojourn-*manylinux*"$(uname -m)".whl)}")
empty pipx
mkdir "$root/home/guest/dist"
cp "$wheel" "$root/home/guest/dist/"
guest
page README.md
walk "pipx install dist/sojourn-*.whl"
walk 'sojourn compare dumbbell --aqm "pfifo limit 100p" --aqm codel --aqm fq_codel --replicates 10 --out out/first'
end "${MOST_S:-180}"
page
walk "ls -s out/first/report.html"
walk "sojourn --version && sojourn list aqms | wc -l"
[ -n "${ARCH:-}" ] || walk "sojourn demo"
