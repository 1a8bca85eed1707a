//! What the system says of real interfaces: a veth pair in a network namespace of its own. Needs root.

use sojourn_device::doctor::{examine, facts, Attachment, Wanted, Weight};
use std::process::Command;

fn sh(command: &str) {
    let output = Command::new("sh").args(["-ec", command]).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_veth_pair_is_found_wanting_and_mended_by_the_commands_it_prints() {
    // This thread, and what it starts, alone; the mounts so that /sys is that of the namespace.
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET | nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
    sh("mount --make-rprivate / && mount -t sysfs sysfs /sys
        ip link add meas-p numrxqueues 4 numtxqueues 4 type veth peer name meas-h numrxqueues 4 numtxqueues 4 && ip link set meas-p mtu 3000
        ip address add 10.9.0.1/24 dev meas-p && ip link add meas-br type bridge && ip link set meas-p master meas-br");
    let found = facts::interface("meas-p").unwrap();
    assert_eq!((found.driver.as_deref(), found.mtu, found.queues), (Some("veth"), Some(3000), Some(4)));
    assert_eq!((found.bridge.as_deref(), found.running), (Some("meas-br"), false));
    assert_eq!(found.addresses, [std::net::IpAddr::from([10, 9, 0, 1])]);
    assert_eq!(found.peer.as_ref().unwrap().0, "meas-h");
    assert_eq!(facts::interface("meas-none"), None);

    assert!(!found.isolated);
    sh("bridge link set dev meas-p isolated on");
    assert!(facts::interface("meas-p").unwrap().isolated);

    let wanted = Wanted {
        ports: vec![("meas-p".into(), Attachment::AfXdp(None))],
        devices: vec![],
        cores: vec![],
        room_bytes: 1792,
        pool_bytes: 1,
        spins: false,
        file: "/".into(),
        user: "root".into(),
    };
    let mend = || examine(&wanted).into_iter().filter(|finding| finding.weight == Weight::Mend).collect::<Vec<_>>();
    let wrong = mend();
    let places: Vec<_> = wrong.iter().map(|finding| finding.command.as_deref().unwrap()).collect();
    let expected = [
        "ip link set dev meas-p up",
        "ip link set dev meas-p mtu 1500",
        "ethtool -K meas-h tx off tso off gso off",
        "ip address flush",
    ];
    assert!(expected.iter().all(|command| places.iter().any(|found| found.starts_with(command))), "{places:?}");
    sh("ip link set meas-h up");
    for finding in wrong {
        sh(&finding.command.unwrap());
    }
    assert_eq!(mend(), []);
}
