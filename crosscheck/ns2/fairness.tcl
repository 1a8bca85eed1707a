# 15 TCP Reno flows and 5 of constant bit rate share 10 Mbit/s: the fairness study's traffic on wires.
#
#   ns fairness.tcl ?scheme? ?seed? ?random?
#
# scheme is DropTail, RED, REDdefault, REM, AVQ or AVQpkt. With random 1, TCP sends each packet up to 0.84 ms late (a
# packet's time on the bottleneck) and the constant bit rate is randomised, which takes phase effects away.
# Prints one line of JSON over 20 s to 100 s: mean queue, drops and goodput of the two kinds, Jain's index.

proc argument {index default} {
    global argv
    if {[llength $argv] > $index} { return [lindex $argv $index] }
    return $default
}
set scheme [argument 0 DropTail]
set seed   [argument 1 1]
set random [argument 2 0]
set from   20.0
set until  100.0

# 1000 B of payload and 40 B of headers; ns-2's Reno, an acknowledgement for each packet.
Agent/TCP set packetSize_ 1000
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set useHeaders_ true
Agent/TCP set window_ 100
Agent/TCP set overhead_ [expr {$random ? 0.00084 : 0}]
Agent/TCPSink set packetSize_ 40

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
        puts stderr "fairness.tcl: ns-2 has no $scheme here; allowed: DropTail, RED, REDdefault, REM, AVQ, AVQpkt"
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
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right 10Mb 20ms $type
$ns simplex-link $right $left 10Mb 20ms DropTail
$ns queue-limit $left $right 100
$ns queue-limit $right $left 10000
set sink [$ns node]
$ns duplex-link $right $sink 100Mb 2ms DropTail
$ns queue-limit $right $sink 10000
$ns queue-limit $sink $right 10000
set monitor [$ns monitor-queue $left $right ""]
set integrator [$monitor get-pkts-integrator]

set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1
for {set i 0} {$i < 20} {incr i} {
    set source [$ns node]
    $ns duplex-link $source $left 100Mb 2ms DropTail
    $ns queue-limit $source $left 10000
    $ns queue-limit $left $source 10000
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
        $application set random_ $random
    }
    $ns attach-agent $source $agent
    $ns attach-agent $sink $sinks($i)
    $ns connect $agent $sinks($i)
    $application attach-agent $agent
    $ns at [$start value] "$application start"
}

# Bytes that arrived: of TCP the payload, each byte once.
proc received {} {
    global sinks
    set bytes {}
    for {set i 0} {$i < 20} {incr i} {
        lappend bytes [expr {$i < 15 ? 1000.0 * [$sinks($i) set bytes_] / 1040.0 : double([$sinks($i) set bytes_])}]
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
proc finish {} {
    global before scheme seed random from until
    set after [snapshot $until]
    set seconds [expr {$until - $from}]
    set sum 0.0
    set squares 0.0
    set kinds {0.0 0.0}
    set i 0
    foreach early [lindex $before 3] late [lindex $after 3] {
        set bits [expr {8.0 * ($late - $early) / $seconds}]
        set sum [expr {$sum + $bits}]
        set squares [expr {$squares + $bits * $bits}]
        set kind [expr {$i >= 15}]
        set kinds [lreplace $kinds $kind $kind [expr {[lindex $kinds $kind] + $bits}]]
        incr i
    }
    puts [format {{"scheme": "%s", "seed": %d, "random": %d, "qmean": %.4f, "drops_per_s": %.4f, "util": %.4f, "tcp_total_bps": %.0f, "udp_total_bps": %.0f, "jain_all": %.5f}} \
        $scheme $seed $random \
        [expr {([lindex $after 0] - [lindex $before 0]) / $seconds}] \
        [expr {([lindex $after 1] - [lindex $before 1]) / $seconds}] \
        [expr {([lindex $after 2] - [lindex $before 2]) * 8.0 / $seconds / 10e6}] \
        [lindex $kinds 0] [lindex $kinds 1] [expr {$sum * $sum / (20 * $squares)}]]
    exit 0
}
$ns at $from {set before [snapshot $from]}
$ns at $until finish
$ns run
