#!/usr/bin/env bash
# README's way with a wheel, from an empty Debian root without Rust: packaging/walks/wheel.sh [WHEEL], by default that in dist/.
# ARCH=arm64 tries one for aarch64. packaging/walks/wheel.txt is the output of a run.
. "$(dirname "$0")/root.sh"
wheel=$(realpath "${1:-$(ls "$sources"/dist/sojourn-*manylinux*"$(uname -m)".whl)}")
empty python3-venv
mkdir "$root/home/guest/dist"
cp "$wheel" "$root/home/guest/dist/"
guest
page
walk "python3 -m venv sojourn"
walk "sojourn/bin/pip install dist/sojourn-*.whl"
walk "sojourn/bin/sojourn demo"
end "${MOST_S:-180}"
page
walk "ls -s out/demo/report.html"
walk "sojourn/bin/sojourn --version && sojourn/bin/sojournd --version"
