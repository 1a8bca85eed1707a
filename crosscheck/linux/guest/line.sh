# One household: servers s, the operator o, the gateway g and the home's client c. /point/settings says which.
#
#   s === o ==line== g --- c     o's way to g and its way to s have the line's rates with tail drop: the provider's
#                                queue and the modem's. The commands under test are g's. s's way out is late by the
#                                whole base RTT, another one for each of its addresses.
#
# LINE_IS (netem: a packet arrives after its own time, as on a cable; htb: it does not wait for itself)
# LINE (a line for each direction, down first: rate, packets of the queue, tc's stab) MTU RTT_MS (of each server)
# FLOWS (lines of direction, server, start in s) COMMANDS SECONDS_ALL SECONDS_WARM_UP PING_INTERVAL PING_BYTES
set -eu
. /point/settings

for node in s o g c; do ip netns add $node; ip -n $node link set lo up; done
ip link add s0 netns s type veth peer name os netns o
ip link add og netns o type veth peer name eth0 netns g
ip link add gc netns g type veth peer name c0 netns c
while read -r node device address; do
    # A packet is a packet: nothing is glued together above the discipline.
    ip netns exec $node ethtool -K $device tso off gso off gro off
    ip -n $node link set $device mtu $MTU up
    ip -n $node addr add $address/24 dev $device
done <<END
s s0 10.0.1.2
o os 10.0.1.1
o og 10.0.2.1
g eth0 10.0.2.2
g gc 10.0.3.1
c c0 10.0.3.2
END
ip -n s route add default via 10.0.1.1
ip -n c route add default via 10.0.3.1
ip -n g route add default via 10.0.2.1
ip -n o route add 10.0.3.0/24 via 10.0.2.2
for node in o g; do ip netns exec $node sysctl -w net.ipv4.ip_forward=1; done
for node in s c; do ip netns exec $node sysctl -w net.ipv4.tcp_ecn=0 net.ipv4.tcp_congestion_control=cubic; done

# Every server has an address and a band of its own.
tc -n s qdisc add dev s0 root handle 1: prio bands 4 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
band=0
for rtt_ms in $RTT_MS; do
    band=$((band + 1))
    address=10.0.1.$((band + 1))
    [ $band = 1 ] || ip -n s addr add $address/24 dev s0
    tc -n s qdisc add dev s0 parent 1:$band netem delay ${rtt_ms}ms limit 100000
    [ $band = 1 ] || tc -n s filter add dev s0 parent 1: protocol ip prio 1 u32 match ip src $address/32 flowid 1:$band
done

# The line's own queues.
device=og
while read -r rate packets stab; do
    if [ $LINE_IS = netem ]; then
        tc -n o qdisc add dev $device root handle 1: stab $stab netem limit $packets rate $rate
    else
        tc -n o qdisc add dev $device root handle 1: stab $stab htb default 1
        tc -n o class add dev $device parent 1: classid 1:1 htb rate $rate quantum 1514
        tc -n o qdisc add dev $device parent 1:1 handle 2: pfifo limit $packets
    fi
    device=os
done <<END
$LINE
END
# As an operator pastes them.
[ ! -e /point/openwrt.sh ] || . /point/openwrt.sh
while read -r line; do
    case "$line" in
    "" | \#*) ;;
    opkg* | uci* | service*) eval "$line" </dev/null ;;
    *) ip netns exec g $line ;;
    esac
done <<END
$COMMANDS
END
for node in o g; do
    echo "at $node"
    tc -n $node -d qdisc show
    for device in eth0 ifb0 ifb4eth0; do
        tc -n $node -d class show dev $device 2>/dev/null || true
    done
done >qdiscs

# iperf3 asks for random bytes, and a machine without a source of them takes a second for the first.
busybox head -c 1 /dev/random >/dev/null
# Addresses are resolved before anything is measured.
number=1
for rtt_ms in $RTT_MS; do
    number=$((number + 1))
    ip netns exec c ping -c 3 -i 0.2 -q 10.0.1.$number >/dev/null
done
port=5200
while read -r direction server start_s; do
    port=$((port + 1))
    case $direction in down) node=c ;; *) node=s ;; esac
    ip netns exec $node iperf3 -s -1 -J -i 1 -p $port >server.$((port - 5201)).json </dev/null &
done <<END
$FLOWS
END
sleep 0.5
counters() {
    echo "$EPOCHREALTIME"
    for node in o g; do tc -n $node -s qdisc show; done
    cat /proc/stat
}
counters >counters.0
echo $EPOCHREALTIME >start
port=5200
while read -r direction server start_s; do
    port=$((port + 1))
    (
        sleep $start_s
        near=10.0.1.$((server + 1))
        case $direction in
        down) words="ip netns exec s iperf3 -c 10.0.3.2 -B $near" ;;
        *) words="ip netns exec c iperf3 -c $near" ;;
        esac
        $words -p $port -t $SECONDS_ALL -i 1 -J >client.$((port - 5201)).json </dev/null
        # iperf3's intervals count from when its stream is open, which it does not tell.
        echo $EPOCHREALTIME >ended.$((port - 5201))
    ) &
done <<END
$FLOWS
END
ip netns exec c ping -D -i $PING_INTERVAL -s $PING_BYTES -w $SECONDS_ALL 10.0.1.2 >ping &
(
    sleep $SECONDS_WARM_UP
    counters >counters.1
    # Before the flows end.
    sleep $((SECONDS_ALL - SECONDS_WARM_UP - 1)).8
    counters >counters.2
) &
wait
