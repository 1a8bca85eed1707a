# N saturated stations in an 802.11g cell, all with packets of 1000 B for one receiver: goodput.
#
#   ns saturation.tcl ?stations? ?rts? ?seed?
#
# With rts 1 every frame is announced by RTS. Prints one line of JSON over 2 s to 22 s.

proc argument {index default} {
    global argv
    if {[llength $argv] > $index} { return [lindex $argv $index] }
    return $default
}
set stations [argument 0 10]
set rts      [argument 1 0]
set seed     [argument 2 1]
set from     2.0
set until    22.0

# As in wlan.tcl, but for the basic rate. At 6 Mbit/s an acknowledgement lasts 38.67 us, ns-2 rounds the duration field to
# 55 us, and all but the last sender count slots 0.33 us later than it: they never collide with it. At 8 Mbit/s nothing
# is rounded.
Mac/802_11 set SlotTime_          0.000009
Mac/802_11 set SIFS_              0.000016
Mac/802_11 set CWMin_             15
Mac/802_11 set CWMax_             1023
Mac/802_11 set PreambleLength_    96
Mac/802_11 set PLCPHeaderLength_  24
Mac/802_11 set PLCPDataRate_      6.0e6
Mac/802_11 set RTSThreshold_      [expr {$rts ? 0 : 3000}]
Mac/802_11 set dataRate_          54Mb
Mac/802_11 set basicRate_         8Mb

ns-random $seed
set ns [new Simulator]
set trace [open /dev/null w]
$ns trace-all $trace
set topo [new Topography]
$topo load_flatgrid 500 500
create-god [expr {$stations + 1}]
# DumbAgent: one hop, no routing messages, no header of its own.
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -topoInstance $topo -channel [new Channel/WirelessChannel] \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
proc place {node x y} {
    $node random-motion 0
    $node set X_ $x
    $node set Y_ $y
    $node set Z_ 0.0
}
set receiver [$ns node]
place $receiver 100.0 100.0
for {set i 0} {$i < $stations} {incr i} {
    set station [$ns node]
    # All as far from the receiver: none of two frames is captured.
    set angle [expr {6.283185307 * $i / $stations}]
    place $station [expr {100 + 10 * cos($angle)}] [expr {100 + 10 * sin($angle)}]
    set agent [new Agent/UDP]
    $agent set packetSize_ 1000
    set sinks($i) [new Agent/LossMonitor]
    set application [new Application/Traffic/CBR]
    $application set packetSize_ 1000
    $application set rate_ [expr {60.0 / $stations}]Mb
    $application set random_ 1
    $ns attach-agent $station $agent
    $ns attach-agent $receiver $sinks($i)
    $ns connect $agent $sinks($i)
    $application attach-agent $agent
    $ns at [expr {0.1 + 0.01 * $i}] "$application start"
}
proc received {} {
    global sinks stations
    set bytes {}
    for {set i 0} {$i < $stations} {incr i} { lappend bytes [$sinks($i) set bytes_] }
    return [expr double([join $bytes +])]
}
$ns at $from {set before [received]}
$ns at $until {
    puts [format {{"stations": %d, "rts": %d, "seed": %d, "goodput_bit_s": %.0f}} \
        $stations $rts $seed [expr {8.0 * ([received] - $before) / ($until - $from)}]]
    exit 0
}
$ns run
