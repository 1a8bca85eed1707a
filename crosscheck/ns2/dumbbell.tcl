# N bulk TCP flows through one bottleneck, the dumbbell of benches/speed: base RTT 20 ms, tail drop.
#
#   ns dumbbell.tcl ?flows? ?rate_mbit_s? ?seconds? ?access_mbit_s? ?limit_packets?
#
# Prints one line of JSON: packets that the bottleneck forwarded and dropped, and the mean queue length.
# Made as fast as ns-2 goes: the headers in use only, routes set by hand instead of computed, no trace, and one
# counting monitor at the bottleneck.

proc argument {index default} {
    global argv
    if {[llength $argv] > $index} { return [lindex $argv $index] }
    return $default
}
set flows    [argument 0 100]
set rate     [argument 1 100]
set seconds  [argument 2 60]
set access   [argument 3 1000]
set limit    [argument 4 250]

remove-all-packet-headers
add-packet-header IP TCP Flags
ns-random 1

# NewReno's window with SACK. A segment is 1448 B and 52 B of headers, timestamps included, like its acknowledgements.
Agent/TCP set packetSize_ 1448
Agent/TCP set tcpip_base_hdr_size_ 52
Agent/TCP set useHeaders_ true
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 10
Agent/TCP set windowInitOption_ 1
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set overhead_ 0
Agent/TCPSink set packetSize_ 52
Agent/TCPSink/DelAck set interval_ 40ms
Agent/TCPSink/Sack1/DelAck set interval_ 40ms

set ns [new Simulator]
$ns rtproto Manual
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb 5ms DropTail
$ns queue-limit $left $right $limit
$ns queue-limit $right $left 10000
set monitor [$ns monitor-queue $left $right ""]
set integrator [$monitor get-pkts-integrator]

set random [new RandomVariable/Uniform]
$random set min_ 0
$random set max_ 1
for {set i 0} {$i < $flows} {incr i} {
    set source [$ns node]
    set sink [$ns node]
    foreach {a b} [list $source $left $right $sink] {
        $ns duplex-link $a $b ${access}Mb 2.5ms DropTail
        $ns queue-limit $a $b 10000
        $ns queue-limit $b $a 10000
    }
    foreach {at to next} [list $source $sink $left  $left $sink $right  $left $source $source \
                               $sink $source $right  $right $source $left  $right $sink $sink] {
        $at add-route [$to id] [[$ns link $at $next] head]
    }
    set tcp [new Agent/TCP/Sack1]
    set receiver [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $source $tcp
    $ns attach-agent $sink $receiver
    $ns connect $tcp $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$random value] "$ftp start"
}

proc finish {} {
    global monitor integrator seconds
    # The integral is brought up to the end by hand.
    set now $seconds
    set sum [expr {[$integrator set sum_] + [$integrator set lasty_] * ($now - [$integrator set lastx_])}]
    puts [format {{"forwarded_packets": %.0f, "drops_packets": %.0f, "queue_packets_mean": %.6g}} \
        [$monitor set pdepartures_] [$monitor set pdrops_] [expr {$sum / $now}]]
    exit 0
}
$ns at $seconds finish
$ns run
