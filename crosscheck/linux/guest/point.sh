# One point: hosts a and b with router r between them. r's way out to b is shaped and has the discipline under test,
# b's acknowledgements are late by the round-trip time. /point/settings says which.
set -eu
# FLOW_GROUPS (lines of congestion control, flows, base RTT in ms, start in s, and more words for iperf3) BASE_RTT_MS RATE
# QDISC SECONDS_ALL SECONDS_WARM_UP INTERVAL SOCKETS SYSCTLS CHANGE_AT CHANGED_RATE (several: one after the other)
# CHANGE_EVERY PING_INTERVAL STAB (of tc) TRANSFER_BYTES TRANSFER_EVERY (one after the other from the warm-up on)
. /point/settings

for module in /point/*.ko; do
    [ ! -e $module ] || insmod $module
done
for node in a r b; do ip netns add $node; ip -n $node link set lo up; done
ip link add a0 netns a type veth peer name ra netns r
ip link add rb netns r type veth peer name b0 netns b
ip -n a addr add 10.0.1.2/24 dev a0
ip -n r addr add 10.0.1.1/24 dev ra
ip -n r addr add 10.0.2.1/24 dev rb
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
# The ping's address is 10.0.2.2, every group of flows has one of its own from 10.0.2.3 on.
number=2
ip -n b addr add 10.0.2.2/24 dev b0
while read -r control flows rtt_ms start_s words; do
    number=$((number + 1))
    ip -n b addr add 10.0.2.$number/24 dev b0
done <<END
$FLOW_GROUPS
END
ip -n a route add default via 10.0.1.1
ip -n b route add default via 10.0.2.1
ip netns exec r sysctl -w net.ipv4.ip_forward=1
for node in a b; do
    for setting in net.ipv4.tcp_ecn=0 ${SYSCTLS:-}; do ip netns exec $node sysctl -w $setting; done
done

# b's way out: everything is late by the base RTT, groups with another one in bands of their own.
band=1
tc -n b qdisc add dev b0 root handle 1: prio bands 4 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
tc -n b qdisc add dev b0 parent 1:1 netem delay ${BASE_RTT_MS}ms limit 100000
number=2
while read -r control flows rtt_ms start_s words; do
    number=$((number + 1))
    [ $control = udp ] || modprobe tcp_$control 2>/dev/null || true
    [ $rtt_ms = $BASE_RTT_MS ] && continue
    band=$((band + 1))
    tc -n b qdisc add dev b0 parent 1:$band netem delay ${rtt_ms}ms limit 100000
    tc -n b filter add dev b0 parent 1: protocol ip prio 1 u32 match ip src 10.0.2.$number/32 flowid 1:$band
done <<END
$FLOW_GROUPS
END
if [ $band = 1 ]; then
    tc -n b qdisc del dev b0 root
    tc -n b qdisc add dev b0 root netem delay ${BASE_RTT_MS}ms limit 100000
fi
shaped="htb rate RATE burst 1600 cburst 1600 quantum 1514"
case "$QDISC" in
cake\ bandwidth*) tc -n r qdisc add dev rb root handle 1: $QDISC ;;
*)
    tc -n r qdisc add dev rb root handle 1: ${STAB:+stab $STAB} htb default 1
    tc -n r class add dev rb parent 1: classid 1:1 ${shaped/RATE/$RATE}
    tc -n r qdisc add dev rb parent 1:1 handle 2: $QDISC
    ;;
esac
tc -n r qdisc show dev rb >qdisc
ip netns exec a sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.ipv4.tcp_ecn >sysctls

# iperf3 asks for random bytes, and a machine without a source of them takes a second for the first.
busybox head -c 1 /dev/random >/dev/null
# Addresses are resolved before anything is measured.
ip netns exec a ping -c 3 -i 0.2 -q 10.0.2.2 >/dev/null
number=2
while read -r control flows rtt_ms start_s words; do
    number=$((number + 1))
    ip netns exec a ping -c 2 -i 0.2 -q 10.0.2.$number >/dev/null </dev/null
    # Bound, because an answer by UDP would come from b's first address, and the client would refuse it.
    ip netns exec b iperf3 -s -1 -J -i $INTERVAL -B 10.0.2.$number -p $((5200 + number)) \
        >server.$((number - 3)).json </dev/null &
done <<END
$FLOW_GROUPS
END
sleep 0.5
# The discipline under test, and b's way out, which counts what b sends: acknowledgements.
counters() {
    echo "$EPOCHREALTIME $(tc -n r -s -j qdisc show dev rb | tr -d '\n') $(tc -n b -s -j qdisc show dev b0 | tr -d '\n')" >>counters
    for node in a b; do
        echo "at $node $EPOCHREALTIME"
        ip netns exec $node cat /proc/net/snmp /proc/net/netstat /proc/stat
    done >>protocols
}
counters
echo $EPOCHREALTIME >start
clients=
number=2
while read -r control flows rtt_ms start_s words; do
    number=$((number + 1))
    (
        sleep $start_s
        [ $control = udp ] || words="-C $control $words"
        ip netns exec a iperf3 -c 10.0.2.$number -p $((5200 + number)) -t $SECONDS_ALL -P $flows $words \
            -i $INTERVAL -J >client.$((number - 3)).json </dev/null
        # iperf3's intervals count from when its streams are open, which it does not tell.
        echo $EPOCHREALTIME >ended.$((number - 3))
    ) &
    clients="$clients $!"
done <<END
$FLOW_GROUPS
END
ip netns exec a ping -D -i ${PING_INTERVAL:-0.05} -w $SECONDS_ALL 10.0.2.2 >ping &
if [ "$SOCKETS" != 0 ]; then
    mkfifo /run/never
    exec 9<>/run/never
    # The loop is within a's namespace: a program less to start for each sample.
    clients="$clients" SOCKETS=$SOCKETS ip netns exec a bash -c '
        while kill -0 $clients 2>/dev/null; do
            echo "at $EPOCHREALTIME"
            ss -tinHO state established dst 10.0.2.0/24
            read -r -t $SOCKETS -u 9 || true
        done
    ' >sockets &
fi
if [ "${TRANSFER_BYTES:-0}" != 0 ]; then
    (
        sleep $SECONDS_WARM_UP
        port=6000
        while [ $((port - 6000 + 1)) -lt $(((SECONDS_ALL - SECONDS_WARM_UP) / TRANSFER_EVERY)) ]; do
            port=$((port + 1))
            # The receiver sees the end after the last byte.
            (
                ip netns exec b busybox nc -l -p $port >/dev/null
                echo "end $port $EPOCHREALTIME" >>transfers
            ) &
            sleep 1
            echo "begin $port $EPOCHREALTIME" >>transfers
            busybox head -c $TRANSFER_BYTES /dev/zero | ip netns exec a busybox nc -w 10 10.0.2.2 $port &
            sleep $((TRANSFER_EVERY - 1))
        done
    ) &
fi
if [ "${CHANGE_AT:-0}" != 0 ]; then
    (
        wait_s=$CHANGE_AT
        for rate in $CHANGED_RATE; do
            sleep $wait_s
            case "$QDISC" in
            cake\ bandwidth*) tc -n r qdisc change dev rb root handle 1: cake bandwidth $rate ;;
            *) tc -n r class change dev rb parent 1: classid 1:1 ${shaped/RATE/$rate} ;;
            esac
            echo "$EPOCHREALTIME $rate" >>changes
            wait_s=${CHANGE_EVERY:-0}
        done
        tc -n r class show dev rb >changed
        tc -n r qdisc show dev rb >>changed
    ) &
fi
(
    sleep $SECONDS_WARM_UP
    counters
    # Before the flows end, which they do together.
    sleep $((SECONDS_ALL - SECONDS_WARM_UP - 1)).8
    counters
) &
wait
