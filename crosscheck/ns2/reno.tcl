# One TCP Reno flow over a fast path of 100 ms that loses given packets: what is sent, and when.
#
#   ns reno.tcl LOST...
#
# LOST are numbers of packets, counted from 0 as they reach the path. Prints a line: "lost LOST...", then ms:number or
# ms:first-last for what is sent in the first 2.9 s, retransmissions included (a lost packet is not shown).

Agent/TCP set packetSize_ 1000
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set useHeaders_ true
Agent/TCP set window_ 100
Agent/TCPSink set packetSize_ 40
set ns [new Simulator]
set a [$ns node]
set b [$ns node]
$ns duplex-link $a $b 100Gb 50ms DropTail
$ns queue-limit $a $b 10000
set trace [open reno.tr w]
$ns trace-queue $a $b $trace
set tcp [new Agent/TCP/Reno]
set sink [new Agent/TCPSink]
$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
set losses [new ErrorModel/List]
$losses droplist $argv
$ns lossmodel $losses $a $b
$ns at 0.0 "$ftp start"
$ns at 2.95 {
    close $trace
    set runs {}
    foreach line [split [exec awk {$1 == "+" {printf "%.0f %d\n", $2 * 1000, $11}} reno.tr] \n] {
        lassign $line at number
        lassign [lindex $runs end] last_at first last
        if {$at eq $last_at && $number == $last + 1} {
            set runs [lreplace $runs end end [list $at $first $number]]
        } else {
            lappend runs [list $at $number $number]
        }
    }
    puts "lost $argv"
    puts [join [lmap run $runs {
        lassign $run at first last
        expr {$first == $last ? "$at:$first" : "$at:$first-$last"}
    }]]
    exit 0
}
$ns run
