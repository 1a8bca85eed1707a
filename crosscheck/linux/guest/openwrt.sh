# What an OpenWrt router has around its sqm-scripts, for line.sh: settings (uci), the service, and the functions by which
# the scripts read settings. The scripts are in /point as their repository has them, and run unmodified.
for applet in $(busybox --list); do [ -e /bin/$applet ] || busybox ln -s busybox /bin/$applet; done
# busybox's shell prefers its own tc and ip.
ln -sf bash /bin/sh
mkdir -p /usr/lib/sqm /etc/sqm /etc/config /lib /var
[ -e /var/run ] || ln -s /run /var/run
cp /point/*.qos /point/functions.sh /point/defaults.sh /point/*-sqm /point/update-available-qdiscs /usr/lib/sqm
cp /point/run-openwrt.sh /usr/lib/sqm/run.sh
cp /point/sqm.conf /etc/sqm
chmod +x /usr/lib/sqm/*-sqm /usr/lib/sqm/run.sh /usr/lib/sqm/update-available-qdiscs
cat >/lib/functions.sh <<'END'
config_load() { . /etc/config/sqm.sh; }
config_foreach() { "$1" queue; }
config_get() { eval "printf '%s' \"\$sqm_$2\""; }
END

opkg() { :; }
# The machine's device towards the provider is eth0.
uci() {
    [ $1 = set ] || return 0
    key=${2%%=*} value=${2#*=}
    case "$value" in wan | pppoe-wan) value=eth0 ;; esac
    echo "sqm_${key##*.}='$value'" >>/etc/config/sqm.sh
}
service() { ip netns exec g /usr/lib/sqm/run.sh start; }
