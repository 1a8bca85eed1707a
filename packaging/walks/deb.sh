#!/usr/bin/env bash
# The gateway guide's way with the Debian package, from an empty Debian root: packaging/walks/deb.sh [PACKAGE], by default
# that in dist/. Two veth pairs stand for the cables; where the guide starts the service, the walk runs the command of its
# unit, because the root has no service manager (`make test-service` has one). packaging/walks/deb.txt is the output of a run.
. "$(dirname "$0")/root.sh"
package=$(realpath "${1:-$(ls "$sources"/dist/sojournd_*"$(dpkg --print-architecture)".deb)}")
empty iproute2,iputils-ping,ethtool
mkdir "$root/root/dist"
cp "$package" "$root/root/dist/"

# The device between two hosts.
names=("walk-$$-out" "walk-$$-device" "walk-$$-in")
trap 'for name in "${names[@]}"; do ip netns delete "$name" 2>/dev/null || true; done; rm -rf --one-file-system "$root"' EXIT
for name in "${names[@]}"; do ip netns add "$name"; done
for side in 0:enp1s0f0:192.0.2.1 2:enp1s0f1:192.0.2.2; do
    IFS=: read -r host port address <<<"$side"
    ip -netns "${names[1]}" link add "$port" type veth peer name eth0 netns "${names[host]}"
    ip -netns "${names[host]}" address add "$address/24" dev eth0
    ip -netns "${names[host]}" link set eth0 up
done

page docs/guides/gateway.md
LINES_KEPT=6 walk "apt install ./dist/$(basename "$package")"
page
# As the guide's example.
walk "sed -i 's/PORT_A/enp1s0f0/; s/PORT_B/enp1s0f1/' /etc/sojournd.toml"
net=/run/netns/${names[1]}
page docs/guides/gateway.md
walk "sojournd check /etc/sojournd.toml"
walk "ip link set dev enp1s0f0 up"
page
walk "ip link set dev enp1s0f1 up"
walk "sojournd doctor /etc/sojournd.toml || echo 'exit status' \$?"
quietly "exec sojournd run /etc/sojournd.toml" >"$root/log" 2>&1 &
device=$!
for _ in $(seq 50); do grep -q forwarding "$root/log" && break || sleep 0.2; done
echo
echo "\$ sojournd run /etc/sojournd.toml &"
tail -n 5 "$root/log"
net=/run/netns/${names[0]} walk "ping -c 5 -i 0.2 192.0.2.2"
page docs/guides/gateway.md
walk "sojournd status"
kill "$device"
end
