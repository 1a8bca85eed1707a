# What tc says of each line of LINES as a root qdisc: after the command, four documents with a form feed before each.
set -eu
. /point/settings    # LINES
ip link add eth0 type veth peer name eth1
ip link set eth0 up
while read -r line; do
    tc qdisc replace dev eth0 root pfifo
    if tc qdisc replace dev eth0 root $line; then status=0; else status=$?; fi
    printf '\f%s\f' $status
    tc qdisc show dev eth0
    printf '\f'
    tc -d qdisc show dev eth0
    printf '\f'
    tc -s -j qdisc show dev eth0
done >shown <<END
$LINES
END
