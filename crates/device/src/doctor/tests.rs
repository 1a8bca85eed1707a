use super::*;

fn wanted(way: Attachment) -> Wanted {
    Wanted {
        ports: vec![("a".into(), way)],
        devices: vec![],
        cores: vec![],
        room_bytes: 2048 - 256,
        pool_bytes: 32 << 20,
        spins: true,
        file: "/etc/d.toml".into(),
        user: "nobody".into(),
    }
}

fn host() -> Host {
    Host {
        cpus: 2,
        usable: vec![0, 1],
        governor: Some("performance".into()),
        memlock_bytes: None,
        capabilities: ["CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF"].map(str::to_owned).into(),
        free_huge_bytes: 0,
        barrier: None,
        unknown_user: false,
    }
}

/// A card that suits.
fn interface() -> Interface {
    Interface {
        name: "a".into(),
        driver: Some("ice".into()),
        running: true,
        mtu: Some(1500),
        queues: Some(1),
        features: vec!["tx", "tso"],
        bridge: Some("br0".into()),
        ..Interface::default()
    }
}

/// Commands for what must be mended.
fn commands(way: Attachment, host: &Host, interface: Option<Interface>) -> Vec<String> {
    let findings = diagnose(&wanted(way), host, &[interface], &[]);
    let mend = findings.into_iter().filter(|finding| finding.weight == Weight::Mend);
    mend.map(|finding| finding.command.unwrap()).collect()
}

#[test]
fn a_host_that_suits_has_nothing_to_mend() {
    assert!(commands(Attachment::AfXdp(None), &host(), Some(interface())).is_empty());
    let notes = diagnose(&wanted(Attachment::AfXdp(None)), &host(), &[Some(interface())], &[]);
    assert!(notes.iter().all(|finding| finding.weight == Weight::Fine), "{notes:?}");
}

#[test]
fn every_unsuitable_thing_has_its_command() {
    let of = |change: &dyn Fn(&mut Interface)| {
        let mut one = interface();
        change(&mut one);
        commands(Attachment::AfXdp(None), &host(), Some(one)).join("; ")
    };
    assert_eq!(of(&|one| one.features.extend(["gro", "rxvlan"])), "ethtool -K a gro off rxvlan off");
    assert_eq!(of(&|one| one.queues = Some(65)), "ethtool -L a combined 64");
    assert_eq!(of(&|one| one.running = false), "ip link set dev a up");
    assert_eq!(of(&|one| one.addresses.push([10, 0, 0, 1].into())), "ip address flush dev a");
    // 9000 + 14 + 8 B do not fit into 2048 - 256.
    assert!(of(&|one| one.mtu = Some(9000)).starts_with("ip link set dev a mtu 1500"));
    // 1770 + 22 = 1792 fits exactly.
    assert_eq!(of(&|one| one.mtu = Some(1770)), "");
    assert!(of(&|one| one.mtu = Some(1771)).contains("mtu 1500"));
    let veth = |one: &mut Interface| {
        one.driver = Some("veth".into());
        one.peer = Some(("h".into(), vec!["rx", "tx", "gso"]));
    };
    assert_eq!(of(&veth), "ethtool -K h tx off gso off");
    assert_eq!(commands(Attachment::AfXdp(None), &host(), None), ["ip link"]);
}

#[test]
fn all_receive_queues_are_read_unless_one_is_named() {
    let of = |queue, queues| {
        let one = Interface { queues: Some(queues), ..interface() };
        let findings = diagnose(&wanted(Attachment::AfXdp(queue)), &host(), &[Some(one)], &[]);
        let about = findings.into_iter().find(|finding| finding.what.contains("receive queue")).unwrap();
        (about.weight, about.what)
    };
    assert_eq!(of(None, 1), (Weight::Fine, "one receive queue".to_owned()));
    assert_eq!(of(Some(0), 1), (Weight::Fine, "one receive queue".to_owned()));
    assert_eq!(of(None, 64), (Weight::Fine, "64 receive queues, all of them are read".to_owned()));
    assert_eq!(of(Some(3), 4).0, Weight::Note);
    let missing = "there is no receive queue 4: the interface has 4, numbered from 0";
    assert_eq!(of(Some(4), 4), (Weight::Mend, missing.to_owned()));
}

#[test]
fn a_bridge_suits_af_xdp_and_not_af_packet() {
    assert!(
        commands(Attachment::AfPacket, &host(), Some(interface()))[0].starts_with("bridge link set dev a isolated on")
    );
    let isolated = Interface { isolated: true, ..interface() };
    assert!(commands(Attachment::AfPacket, &host(), Some(isolated)).is_empty());
    let alone = Interface { bridge: None, ..interface() };
    assert!(commands(Attachment::AfPacket, &host(), Some(alone)).is_empty());
}

#[test]
fn a_host_that_does_not_suit() {
    let small = Host { memlock_bytes: Some(8 << 20), ..host() };
    assert!(commands(Attachment::AfXdp(None), &small, Some(interface()))[0].starts_with("ulimit -l unlimited"));
    let mut locks = small.clone();
    locks.capabilities.push("CAP_IPC_LOCK".into());
    assert!(commands(Attachment::AfXdp(None), &locks, Some(interface())).is_empty());
    let alone = Interface { bridge: None, ..interface() };
    assert!(commands(Attachment::AfPacket, &small, Some(alone)).is_empty());
    let nobody = Host { capabilities: vec![], ..host() };
    let findings = diagnose(&wanted(Attachment::AfXdp(None)), &nobody, &[Some(interface())], &[]);
    assert!(findings[0].what.contains("CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF"), "{}", findings[0]);
    let single = Host { cpus: 1, ..host() };
    assert_eq!(commands(Attachment::AfXdp(None), &single, Some(interface())).len(), 1);
    let saving = Host { governor: Some("powersave".into()), ..host() };
    let findings = diagnose(&wanted(Attachment::AfXdp(None)), &saving, &[Some(interface())], &[]);
    assert!(findings.iter().any(|one| one.weight == Weight::Note && one.what.contains("powersave")));
}

#[test]
fn devices_of_dpdk_need_pages_drivers_and_cores() {
    let wanted = |device| Wanted {
        ports: vec![],
        devices: vec![Device::parse(device).unwrap()],
        cores: vec![1, 0],
        ..wanted(Attachment::AfPacket)
    };
    let pages = Host { free_huge_bytes: 64 << 20, ..host() };
    let mend = |wanted: &Wanted, host: &Host, card: Option<&str>| {
        let card = card.map(|driver| Card { driver: Some(driver.to_owned()).filter(|driver| !driver.is_empty()) });
        let findings =
            diagnose(wanted, host, &[], &[card]).into_iter().filter(|finding| finding.weight == Weight::Mend);
        findings.map(|finding| finding.command.unwrap().split("    ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (card, own) = (wanted("01:00.0"), wanted("net_ring0"));
    let none = [""; 0];
    assert_eq!(mend(&card, &pages, Some("vfio-pci")), none);
    assert_eq!(mend(&card, &host(), Some("vfio-pci")), ["sysctl -w vm.nr_hugepages=128"]);
    for bound in ["ixgbe", ""] {
        assert_eq!(
            mend(&card, &pages, Some(bound)),
            ["modprobe vfio-pci; dpdk-devbind.py --bind=vfio-pci 0000:01:00.0"]
        );
    }
    assert_eq!(mend(&card, &pages, None), ["dpdk-devbind.py --status-dev net"]);
    // A virtual device runs without huge pages.
    assert_eq!(mend(&own, &host(), None), none);
    assert_eq!(mend(&own, &Host { usable: vec![0], ..host() }, None), ["lscpu --extended"]);
}

#[test]
fn a_configuration_that_the_user_cannot_read_again_is_told_with_what_opens_it() {
    let noted = |barrier: &str| {
        let host = Host { barrier: Some(barrier.into()), ..host() };
        let findings = diagnose(&wanted(Attachment::AfXdp(None)), &host, &[Some(interface())], &[]);
        assert!(findings.iter().all(|finding| finding.weight != Weight::Mend));
        let note = findings.into_iter().find(|finding| finding.weight == Weight::Note).unwrap();
        assert!(note.what.contains(barrier), "{}", note.what);
        note.command.unwrap()
    };
    assert_eq!(noted("/etc/d.toml"), "chgrp \"$(id -gn nobody)\" /etc/d.toml && chmod g+r /etc/d.toml");
    assert_eq!(noted("/etc"), "chmod o+x /etc");
}

#[test]
fn a_user_that_does_not_exist_is_told_with_what_makes_it() {
    let host = Host { unknown_user: true, ..host() };
    let made = ["useradd --system --user-group --shell /usr/sbin/nologin nobody"];
    assert_eq!(commands(Attachment::AfXdp(None), &host, Some(interface())), made);
    assert!(facts::unknown("no-such-user") && !facts::unknown("root"));
}

#[test]
fn the_outermost_barrier_is_found_by_permission_bits() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    let file = inner.join("d.toml");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(&file, "").unwrap();
    let set = |path: &std::path::Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let barrier = |user: &str| facts::barrier(&file, user);
    for (folder_mode, inner_mode, file_mode, expected) in [
        (0o755, 0o755, 0o644, None),
        (0o711, 0o711, 0o604, None),
        (0o755, 0o755, 0o640, Some(&file)),
        (0o755, 0o750, 0o640, Some(&inner)),
        (0o700, 0o700, 0o644, Some(&folder.path().to_owned())),
    ] {
        set(folder.path(), folder_mode);
        set(&inner, inner_mode);
        set(&file, file_mode);
        assert_eq!(barrier("nobody").as_ref(), expected, "{folder_mode:o} {inner_mode:o} {file_mode:o}");
        assert_eq!(barrier("root"), None);
        assert_eq!(barrier("no-such-user"), None);
    }
}
