#!/usr/bin/env bash
# The container, built without a registry and run: packaging/walks/container.sh [WHEEL]. As root, with podman; RUNTIME
# (crun) may be runc, which machines with both kinds of control groups need.
# packaging/walks/container.txt is the output of a run.
. "$(dirname "$0")/root.sh"
wheel=$(realpath "${1:-$(ls "$sources"/dist/sojourn-*manylinux*"$(uname -m)".whl)}")
store=(podman --root "$root.store" --runroot "$root.run" --cgroup-manager cgroupfs ${RUNTIME:+--runtime "$RUNTIME"})
trap 'rm -rf --one-file-system "$root" "$root.store" "$root.run"' EXIT
empty apt,ca-certificates
echo "Built by $(podman --version) on a base of this root."
tar -C "$root" -c . | "${store[@]}" import --quiet - localhost/base >/dev/null

# said COMMAND...: prints it, its last lines and its time, on this machine.
said() {
    local start=$SECONDS
    echo
    echo "\$ ${*//$root*.store/...}"
    "$@" >"$root/said" 2>&1 || { cat "$root/said"; exit 1; }
    tail -n 12 "$root/said"
    echo "[$((SECONDS - start)) s]"
}
build() {
    "${store[@]}" build --layers=false --isolation chroot --network host --volume /etc/ssl/certs:/etc/ssl/certs:ro --build-arg BASE=localhost/base \
        --build-arg WHEEL="$(basename "$wheel")" ${PIP_CERT:+--build-arg PIP_CERT="$PIP_CERT"} \
        -f "$sources/packaging/container/Containerfile" -t sojourn "$(dirname "$wheel")"
}
run() { "${store[@]}" run --rm --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --network none "$@"; }
began=$SECONDS
said build
said run sojourn compare dumbbell --aqm pfifo --aqm codel --set "duration=20 s" --out out
said run --entrypoint id sojourn
said run --entrypoint sojournd sojourn --version
end "${MOST_S:-180}"
