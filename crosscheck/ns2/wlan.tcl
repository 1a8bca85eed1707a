# The fairness study's WLAN: 20 stations - 802.11g cell - access point - 10 Mbit/s wire - access point - 802.11g cell - sink.
#
#   ns wlan.tcl ?scheme? ?seed?
#
# scheme is DropTail, RED, REDdefault, REM, AVQ or AVQpkt, at the wire. Prints one line of JSON over 20 s to 100 s: at the
# wire mean queue, drops and utilisation; goodput of the 15 TCP and the 5 UDP flows; Jain's index of all and of TCP.

proc argument {index default} {
    global argv
    if {[llength $argv] > $index} { return [lindex $argv $index] }
    return $default
}
set scheme [argument 0 DropTail]
set seed   [argument 1 1]
set from   20.0
set until  100.0

Agent/TCP set packetSize_ 1000
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set useHeaders_ true
Agent/TCP set window_ 20
Agent/TCPSink set packetSize_ 40

# ERP-OFDM as the study's community sets it up: 16 us of preamble and 4 us of header at 6 Mbit/s, SIFS 16 us.
Mac/802_11 set SlotTime_          0.000009
Mac/802_11 set SIFS_              0.000016
Mac/802_11 set CWMin_             15
Mac/802_11 set CWMax_             1023
Mac/802_11 set PreambleLength_    96
Mac/802_11 set PLCPHeaderLength_  24
Mac/802_11 set PLCPDataRate_      6.0e6
Mac/802_11 set RTSThreshold_      3000
Mac/802_11 set dataRate_          54Mb
Mac/802_11 set basicRate_         6Mb

set type DropTail
switch $scheme {
    DropTail {}
    RED {
        set type RED
        Queue/RED set bytes_ false
        Queue/RED set queue_in_bytes_ false
        Queue/RED set gentle_ false
        Queue/RED set mean_pktsize_ 1000
    }
    REDdefault { set type RED }
    REM { set type REM }
    AVQ { set type Vq }
    AVQpkt {
        set type Vq
        Queue/Vq set queue_in_bytes_ 0
    }
    default {
        puts stderr "wlan.tcl: ns-2 has no $scheme here; allowed: DropTail, RED, REDdefault, REM, AVQ, AVQpkt"
        exit 2
    }
}
if {$type eq "RED"} {
    Queue/RED set thresh_ 20
    Queue/RED set maxthresh_ 80
    Queue/RED set linterm_ 10
    Queue/RED set q_weight_ 0.002
}

ns-random $seed
set ns [new Simulator]
$ns node-config -addressType hierarchical
AddrParams set domain_num_ 3
AddrParams set cluster_num_ {2 1 1}
AddrParams set nodes_num_ {1 1 21 2}
set sink_trace [open /dev/null w]
$ns trace-all $sink_trace
set topo [new Topography]
$topo load_flatgrid 2000 2000
create-god 23
set left [$ns node 0.0.0]
set right [$ns node 0.1.0]
proc cell {wired} {
    global ns topo
    $ns node-config -adhocRouting DSDV -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
        -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
        -topoInstance $topo -wiredRouting $wired -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
}
proc place {node x y} {
    $node random-motion 0
    $node set X_ $x
    $node set Y_ $y
    $node set Z_ 0.0
}
# Each cell has a channel of its own; the access points come first, or ns-2 crashes.
set channels [list [new Channel/WirelessChannel] [new Channel/WirelessChannel]]
$ns node-config -channel [lindex $channels 0]
cell ON
set here [$ns node 1.0.0]
place $here 100.0 100.0
$ns node-config -channel [lindex $channels 1]
cell ON
set there [$ns node 2.0.0]
place $there 1100.0 100.0
$ns node-config -channel [lindex $channels 0]
cell OFF
for {set i 0} {$i < 20} {incr i} {
    set station($i) [$ns node 1.0.[expr {$i + 1}]]
    # All as far from the access point: no frame captures another.
    set angle [expr {6.283185307 * $i / 20}]
    place $station($i) [expr {100 + 10 * cos($angle)}] [expr {100 + 10 * sin($angle)}]
    $station($i) base-station [AddrParams addr2id [$here node-addr]]
}
$ns node-config -channel [lindex $channels 1]
cell OFF
set sink [$ns node 2.0.1]
place $sink 1110.0 100.0
$sink base-station [AddrParams addr2id [$there node-addr]]

$ns duplex-link $here $left 100Mb 1ms DropTail
$ns duplex-link $right $there 100Mb 1ms DropTail
$ns simplex-link $left $right 10Mb 18ms $type
$ns simplex-link $right $left 10Mb 18ms DropTail
foreach {one other} [list $here $left $left $here $right $there $there $right] {
    $ns queue-limit $one $other 10000
}
$ns queue-limit $left $right 100
$ns queue-limit $right $left 10000
set monitor [$ns monitor-queue $left $right ""]
set integrator [$monitor get-pkts-integrator]

set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1
for {set i 0} {$i < 20} {incr i} {
    if {$i < 15} {
        set agent [new Agent/TCP/Reno]
        set sinks($i) [new Agent/TCPSink]
        set application [new Application/FTP]
    } else {
        set agent [new Agent/UDP]
        $agent set packetSize_ 1000
        set sinks($i) [new Agent/LossMonitor]
        set application [new Application/Traffic/CBR]
        $application set packetSize_ 1000
        $application set rate_ 180kb
    }
    $ns attach-agent $station($i) $agent
    $ns attach-agent $sink $sinks($i)
    $ns connect $agent $sinks($i)
    $application attach-agent $agent
    $ns at [expr {5 + [$start value]}] "$application start"
}

# Payload that arrived, of TCP each byte once. Wireless nodes add an IP header of 20 B to what agents call a packet.
proc received {} {
    global sinks
    set bytes {}
    for {set i 0} {$i < 20} {incr i} {
        lappend bytes [expr {[$sinks($i) set bytes_] * 1000.0 / ($i < 15 ? 1060 : 1020)}]
    }
    return $bytes
}
proc queued {now} {
    global integrator
    return [expr {[$integrator set sum_] + [$integrator set lasty_] * ($now - [$integrator set lastx_])}]
}
proc snapshot {now} {
    global monitor
    return [list [queued $now] [$monitor set pdrops_] [$monitor set bdepartures_] [received]]
}
proc jain {rates} {
    set sum 0.0
    set squares 0.0
    foreach rate $rates {
        set sum [expr {$sum + $rate}]
        set squares [expr {$squares + $rate * $rate}]
    }
    return [expr {$sum * $sum / ([llength $rates] * $squares)}]
}
proc finish {} {
    global before scheme seed from until
    set after [snapshot $until]
    set seconds [expr {$until - $from}]
    set rates {}
    foreach early [lindex $before 3] late [lindex $after 3] {
        lappend rates [expr {8.0 * ($late - $early) / $seconds}]
    }
    set tcp [lrange $rates 0 14]
    set udp [lrange $rates 15 19]
    puts [format {{"scheme": "%s", "seed": %d, "qmean": %.4f, "drops_per_s": %.4f, "util": %.4f, "tcp_total_bps": %.0f, "udp_total_bps": %.0f, "jain_all": %.5f, "jain_tcp": %.5f}} \
        $scheme $seed \
        [expr {([lindex $after 0] - [lindex $before 0]) / $seconds}] \
        [expr {([lindex $after 1] - [lindex $before 1]) / $seconds}] \
        [expr {([lindex $after 2] - [lindex $before 2]) * 8.0 / $seconds / 10e6}] \
        [expr [join $tcp +]] [expr [join $udp +]] [jain $rates] [jain $tcp]]
    exit 0
}
$ns at $from {set before [snapshot $from]}
$ns at $until finish
$ns run
