# What sqm-scripts install for each block of COMMANDS, which a line of dashes ends: after the dashes, what tc shows.
set -eu
. /point/settings    # COMMANDS
. /point/openwrt.sh
while read -r line; do
    [ -e /run/netns/g ] || {
        rm -rf /etc/config/sqm.sh /run/sqm
        ip netns add g
        ip -n g link add eth0 type veth peer name og
        ip -n g link set eth0 up
    }
    case "$line" in
    --*)
        printf '\f'
        for device in eth0 ifb4eth0; do
            tc -n g -d qdisc show dev $device
            tc -n g -d class show dev $device
        done
        ip netns delete g
        ;;
    \#*) ;;
    *) eval "$line" </dev/null >&2 ;;
    esac
done >installed <<END
$COMMANDS
END
