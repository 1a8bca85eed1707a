# One point: hosts a and b with router r between them. r's way out to b is shaped and has the discipline under test,
# b's acknowledgements are late by the round-trip time. /point/settings says which.
set -eu
. /point/settings    # CONGESTION_CONTROL FLOWS BASE_RTT_MS RATE QDISC SECONDS_ALL SECONDS_WARM_UP SOCKETS SYSCTLS

for node in a r b; do ip netns add $node; ip -n $node link set lo up; done
ip link add a0 netns a type veth peer name ra netns r
ip link add rb netns r type veth peer name b0 netns b
ip -n a addr add 10.0.1.2/24 dev a0
ip -n r addr add 10.0.1.1/24 dev ra
ip -n r addr add 10.0.2.1/24 dev rb
ip -n b addr add 10.0.2.2/24 dev b0
while read -r node device; do
    # A packet is a packet: nothing is glued together above the discipline.
    ip netns exec $node ethtool -K $device tso off gso off gro off
    ip -n $node link set $device up
done <<END
a a0
r ra
r rb
b b0
END
ip -n a route add default via 10.0.1.1
ip -n b route add default via 10.0.2.1
ip netns exec r sysctl -w net.ipv4.ip_forward=1
for node in a b; do
    for setting in net.ipv4.tcp_ecn=0 ${SYSCTLS:-}; do ip netns exec $node sysctl -w $setting; done
done
modprobe tcp_$CONGESTION_CONTROL 2>/dev/null || true

tc -n b qdisc add dev b0 root netem delay ${BASE_RTT_MS}ms limit 100000
case "$QDISC" in
cake*) tc -n r qdisc add dev rb root handle 1: $QDISC ;;
*)
    tc -n r qdisc add dev rb root handle 1: htb default 1
    tc -n r class add dev rb parent 1: classid 1:1 htb rate $RATE burst 1600 cburst 1600 quantum 1514
    tc -n r qdisc add dev rb parent 1:1 handle 2: $QDISC
    ;;
esac
tc -n r qdisc show dev rb >qdisc

# Addresses are resolved before anything is measured.
ip netns exec a ping -c 3 -i 0.2 -q 10.0.2.2 >/dev/null
ip netns exec b iperf3 -s -1 -J -i 0.1 >server.json &
sleep 0.5
# The discipline under test, and netem, which counts what b sends: acknowledgements.
counters() { echo "$EPOCHREALTIME $(tc -n r -s -j qdisc show dev rb | tr -d '\n') $(tc -n b -s -j qdisc show dev b0 | tr -d '\n')"; }
counters >counters
echo $EPOCHREALTIME >start
ip netns exec a iperf3 -c 10.0.2.2 -t $SECONDS_ALL -P $FLOWS -C $CONGESTION_CONTROL -i 0.1 -J >client.json &
client=$!
ip netns exec a ping -D -i 0.05 -w $SECONDS_ALL 10.0.2.2 >ping &
if [ "$SOCKETS" = 1 ]; then
    mkfifo /run/never
    exec 9<>/run/never
    (
        while kill -0 $client 2>/dev/null; do
            echo "at $EPOCHREALTIME"
            ip netns exec a ss -tinHO state established dst 10.0.2.2
            read -r -t 0.05 -u 9 || true
        done >sockets
    ) &
fi
(
    sleep $SECONDS_WARM_UP
    counters >>counters
    # Before the flows end, which they do together.
    sleep $((SECONDS_ALL - SECONDS_WARM_UP - 1)).8
    counters >>counters
) &
wait
