//! A device started by hand as root in a folder that its user owns: nothing that the user put there makes root touch a file
//! of somebody else's. Needs root.

#![allow(clippy::unwrap_used)]

use rustix::process::{kill_process, Pid, Signal};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{chown, symlink, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A user that every Debian has and that owns nothing.
const USER: &str = "games";

struct Place {
    _folder: tempfile::TempDir,
    /// Root's; anybody may pass, nobody else may write.
    roots: PathBuf,
    /// The user's.
    users: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (roots, users) = (folder.path().join("roots"), folder.path().join("users"));
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        for (path, mode) in [(&roots, 0o755), (&users, 0o750)] {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        let (uid, gid) = user();
        chown(&users, Some(uid), Some(gid)).unwrap();
        Self { _folder: folder, roots, users }
    }

    /// A file of root's that nobody else may read.
    fn secret(&self, contents: &str) -> PathBuf {
        let path = self.roots.join("secret");
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Runs the device with store, token and socket in the user's folder until it has ended, answers, or has `until` in its
    /// log; what it wrote there.
    fn run(&self, ports: &str, until: &str) -> String {
        let users = self.users.display();
        let text = format!(
            "[ports]\n{ports}\n[windows]\nstore = \"{users}/windows.sqlite\"\n[control]\nlisten = \"127.0.0.1:0\"\n\
             socket = \"{users}/control.sock\"\ntoken_file = \"{users}/token\"\n[run]\nuser = \"{USER}\"\n"
        );
        let path = self.roots.join("sojournd.toml");
        fs::write(&path, text).unwrap();
        log(start(&path), until)
    }
}

const LOOPBACK: &str = "a = { back_end = \"loopback\" }\nb = { back_end = \"loopback\" }";

fn user() -> (u32, u32) {
    let user = nix::unistd::User::from_name(USER).unwrap().unwrap();
    (user.uid.as_raw(), user.gid.as_raw())
}

fn start(config: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_sojournd"))
        .arg("run")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn log(mut device: Child, until: &str) -> String {
    let mut lines = BufReader::new(device.stderr.take().unwrap());
    let mut text = String::new();
    let enough = |line: &str| line.contains(until) || line.contains("http://");
    while lines.read_line(&mut text).unwrap() > 0 && !enough(text.lines().last().unwrap()) {}
    kill_process(Pid::from_child(&device), Signal::TERM).unwrap();
    lines.read_to_string(&mut text).unwrap();
    device.wait().unwrap();
    text
}

/// Root's file is root's alone, as it was.
fn untouched(path: &Path, contents: &str, log: &str) {
    let found = fs::metadata(path).unwrap();
    let as_found = (found.uid(), found.gid(), found.mode() & 0o777, fs::read_to_string(path).unwrap());
    assert_eq!(as_found, (0, 0, 0o600, contents.to_owned()), "{log}");
}

#[test]
fn without_links_everything_is_the_users() {
    let place = Place::new();
    let log = place.run(LOOPBACK, "control");
    for name in ["windows.sqlite", "token"] {
        assert_eq!(fs::metadata(place.users.join(name)).unwrap().uid(), user().0, "{name}: {log}");
    }
}

#[test]
fn a_store_that_is_a_link_to_a_file_of_roots() {
    let place = Place::new();
    // Empty: SQLite takes it for a new database.
    let secret = place.secret("");
    symlink(&secret, place.users.join("windows.sqlite")).unwrap();
    let log = place.run(LOOPBACK, "windows.sqlite");
    untouched(&secret, "", &log);
    assert!(log.contains("windows.sqlite") && log.contains("symbolic link"), "{log}");
}

#[test]
fn a_token_that_is_a_link_to_a_file_of_roots() {
    let place = Place::new();
    let contents = "of root's alone, and longer than 32 characters".replace(' ', "-");
    let secret = place.secret(&contents);
    symlink(&secret, place.users.join("token")).unwrap();
    let log = place.run(LOOPBACK, "token");
    untouched(&secret, &contents, &log);
    assert!(log.contains("token") && log.contains("symbolic link"), "{log}");
}

#[test]
fn a_store_and_a_token_that_are_hard_links_to_files_of_roots() {
    let place = Place::new();
    let secret = place.secret("");
    for name in ["windows.sqlite", "windows.sqlite-wal", "token"] {
        fs::hard_link(&secret, place.users.join(name)).unwrap();
    }
    let log = place.run(LOOPBACK, "belongs to uid 0");
    untouched(&secret, "", &log);
    assert!(log.contains("belongs to uid 0"), "{log}");
}

#[test]
fn a_socket_that_is_a_link_is_not_taken_for_one() {
    let place = Place::new();
    let secret = place.secret("");
    symlink(&secret, place.users.join("control.sock")).unwrap();
    let log = place.run(LOOPBACK, "control.sock");
    untouched(&secret, "", &log);
    assert!(log.contains("control.sock"), "{log}");
}

#[test]
fn captures_and_traces_that_are_links_to_files_of_roots() {
    for port in ["back_end = \"pcap\", write", "back_end = \"loopback\", trace"] {
        let place = Place::new();
        let secret = place.secret("kept");
        let name = place.users.join("frames.pcap");
        symlink(&secret, &name).unwrap();
        let ports = format!("a = {{ {port} = \"{}\" }}\nb = {{ back_end = \"loopback\" }}", name.display());
        let log = place.run(&ports, "frames.pcap");
        untouched(&secret, "kept", &log);
        assert!(log.contains("frames.pcap"), "{log}");
    }
}

#[test]
fn a_folder_that_is_a_link_into_a_folder_of_roots() {
    let place = Place::new();
    fs::set_permissions(&place.roots, Permissions::from_mode(0o755)).unwrap();
    symlink(&place.roots, place.users.join("state")).unwrap();
    let store = place.users.join("state/new/windows.sqlite");
    let text = format!(
        "[ports]\n{LOOPBACK}\n[windows]\nstore = \"{}\"\n[control]\nlisten = \"127.0.0.1:0\"\nsocket = \"none\"\n\
         token_file = \"{}/token\"\n[run]\nuser = \"{USER}\"\n",
        store.display(),
        place.users.display()
    );
    let path = place.roots.join("sojournd.toml");
    fs::write(&path, text).unwrap();
    let log = log(start(&path), "new");
    assert!(!place.roots.join("new").exists(), "{log}");
    assert!(log.contains("new"), "{log}");
}

#[test]
fn a_missing_folder_below_roots_is_made_and_given_to_the_user() {
    let place = Place::new();
    let folder = place.roots.join("lib/sojournd");
    let text = format!(
        "[ports]\n{LOOPBACK}\n[windows]\nstore = \"{0}/windows.sqlite\"\n[control]\nlisten = \"127.0.0.1:0\"\nsocket = \"none\"\n\
         token_file = \"{0}/token\"\n[run]\nuser = \"{USER}\"\n",
        folder.display()
    );
    let path = place.roots.join("sojournd.toml");
    fs::write(&path, text).unwrap();
    let log = log(start(&path), "control");
    let of = |path: &Path| fs::metadata(path).map(|found| (found.uid(), found.mode() & 0o777)).unwrap();
    assert_eq!(of(&folder), (user().0, 0o750), "{log}");
    assert_eq!(of(&place.roots.join("lib")).0, 0);
    assert_eq!(of(&folder.join("token")), (user().0, 0o600));
}

#[test]
fn a_folder_that_exists_keeps_its_owner() {
    let place = Place::new();
    chown(&place.users, Some(0), Some(0)).unwrap();
    let log = place.run(LOOPBACK, "install -d");
    assert_eq!(fs::metadata(&place.users).unwrap().uid(), 0);
    assert!(log.contains("install -d"), "{log}");
}

#[test]
fn without_a_user_of_its_own_it_says_how_to_make_one() {
    // The default, which a machine without the package has not. Where there is one, nothing is to be refused.
    if nix::unistd::User::from_name("sojournd").unwrap().is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sojournd.toml");
    fs::write(&path, format!("[ports]\n{LOOPBACK}\n")).unwrap();
    let said = log(start(&path), "run.user");
    assert!(said.contains("run.user") && said.contains("useradd --system"), "{said}");
}

#[test]
fn root_replays_into_no_store_of_another_users() {
    let place = Place::new();
    let secret = place.secret("");
    symlink(&secret, place.users.join("windows.sqlite")).unwrap();
    let text = format!(
        "[ports]\na = {{ back_end = \"pcap\" }}\nb = {{ back_end = \"pcap\" }}\n[windows]\nstore = \"{}/windows.sqlite\"\n",
        place.users.display()
    );
    let path = place.roots.join("sojournd.toml");
    fs::write(&path, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_sojournd")).arg("replay").arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    untouched(&secret, "", &said);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("runuser"), "{said}");
}
