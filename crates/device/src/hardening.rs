//! Gives up what the process no longer needs, once its ports are open.
//!
//! A process started as root does three things as root: it opens ports, makes missing folders in places that root alone
//! controls, and becomes another user. Everything with a name that this user may change is opened afterwards, as this user.

mod filter;

use nix::unistd::{geteuid, initgroups, setresgid, setresuid, Gid, Uid, User};
use rustix::fs::{access, fchmod, fchown, fstat, mkdirat, open, openat, Access, Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{
    capability_is_in_bounding_set, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    CapabilitySet, CapabilitySets,
};
use seccompiler::apply_filter_all_threads;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

pub use filter::ALLOWED;

/// Why privileges could not be given up; the process must not go on.
#[derive(Debug, thiserror::Error)]
pub enum HardeningError {
    /// Nobody has that name.
    #[error(
        "run.user: there is no user {0:?} on this system; `useradd --system --user-group --shell /usr/sbin/nologin {0}` \
         makes it, or set run.user to another user in the configuration"
    )]
    User(String),
    /// The system refused.
    #[error("{what}: {why}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// Its answer.
        why: String,
    },
}

fn refused<E: ToString>(what: &'static str) -> impl FnOnce(E) -> HardeningError {
    move |error| HardeningError::Refused { what, why: error.to_string() }
}

/// The user that a process started as root becomes.
#[derive(Debug)]
pub struct Account {
    name: CString,
    uid: Uid,
    gid: Gid,
}

impl Account {
    /// The user called `name`; `None` when this process is not root's, for then it stays who it is.
    ///
    /// # Errors
    /// There is no such user.
    pub fn find(name: &str) -> Result<Option<Self>, HardeningError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let unknown = || HardeningError::User(name.to_owned());
        let user = User::from_name(name).map_err(refused("user"))?.ok_or_else(unknown)?;
        let name = CString::new(name).map_err(|_| unknown())?;
        Ok(Some(Self { name, uid: user.uid, gid: user.gid }))
    }

    fn become_it(&self) -> Result<(), HardeningError> {
        // Only while it may: the bounding set.
        // Those that the kernel does not know are in no set.
        for capability in (0..64).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
            if capability_is_in_bounding_set(capability).unwrap_or(false) {
                remove_capability_from_bounding_set(capability).map_err(refused("bounding set"))?;
            }
        }
        match initgroups(&self.name, self.gid) {
            // In a user namespace that may not set groups, and as the user that it is already: there is nothing to give up.
            Err(nix::errno::Errno::EPERM) if self.uid == geteuid() => {}
            outcome => outcome.map_err(refused("groups"))?,
        }
        setresgid(self.gid, self.gid, self.gid).map_err(refused("group"))?;
        setresuid(self.uid, self.uid, self.uid).map_err(refused("user"))
    }
}

/// Becomes `account`, keeps no capability, can gain none, and may from now on only make the system calls that [`ALLOWED`]
/// lists, some of them with certain arguments alone; others fail with `EPERM`.
///
/// Ports need no capability once they are open: sending, receiving, statistics and the detachment of an XDP program at the
/// end go by descriptors. Call it before other threads are started: capabilities belong to a thread. Where some are
/// (DPDK's), `elsewhere` has each of them call [`drop_capabilities`]. Call it before any file is opened whose name the
/// user may change: root would follow the user's links.
///
/// # Errors
/// The system refuses.
pub fn lock_down(
    account: Option<&Account>,
    elsewhere: impl FnOnce() -> Result<(), HardeningError>,
) -> Result<(), HardeningError> {
    if let Some(account) = account {
        account.become_it()?;
    }
    elsewhere()?;
    drop_capabilities()?;
    // Sets no_new_privs, which goes to all threads with the filter.
    apply_filter_all_threads(&filter::program()?).map_err(refused("system call filter"))
}

/// Leaves the calling thread no capability.
///
/// # Errors
/// The system refuses.
pub fn drop_capabilities() -> Result<(), HardeningError> {
    let none = CapabilitySet::empty();
    clear_ambient_capability_set().map_err(refused("capabilities"))?;
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(refused("capabilities"))
}

/// As root, makes the folder of each file where it is missing and gives it to `account`: `/var/lib/sojournd` and
/// `/run/sojournd`. It does so only where every folder on the way is root's and nobody else can rename what is in it.
/// Elsewhere it makes nothing, and nothing that exists changes its owner. What could not be made is logged.
pub fn make_folders<'a>(files: impl IntoIterator<Item = &'a Path>, account: Option<&Account>) {
    let Some(account) = account else { return };
    for file in files {
        if let Err(error) = make_folder(file, account) {
            tracing::warn!(%error, file = %file.display(), "the folder of this file cannot be made");
        }
    }
}

fn make_folder(file: &Path, account: &Account) -> io::Result<()> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let begin = if folder.is_absolute() { "/" } else { "." };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = open(begin, flags, Mode::empty())?;
    let mut made = false;
    for component in folder.components() {
        let name = match component {
            Component::RootDir | Component::CurDir => continue,
            Component::Normal(name) => name,
            Component::ParentDir | Component::Prefix(_) => return Ok(()),
        };
        if !roots_alone(&at)? {
            return Ok(());
        }
        match mkdirat(&at, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => made = true,
            Err(Errno::EXIST) => made = false,
            Err(error) => return Err(error.into()),
        }
        at = match openat(&at, name, flags, Mode::empty()) {
            Ok(next) => next,
            // A link, or no folder.
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
    }
    if made {
        fchown(
            &at,
            Some(rustix::fs::Uid::from_raw(account.uid.as_raw())),
            Some(rustix::fs::Gid::from_raw(account.gid.as_raw())),
        )?;
        fchmod(&at, Mode::from_raw_mode(0o750))?;
    }
    Ok(())
}

/// Whether only root can rename and remove what root has in `folder`.
fn roots_alone(folder: &OwnedFd) -> io::Result<bool> {
    let found = fstat(folder)?;
    let (others_write, sticky) = (found.st_mode & 0o022 != 0, found.st_mode & 0o1000 != 0);
    Ok(found.st_uid == 0 && (!others_write || sticky))
}

/// What keeps this process from reading and writing `file`, for the end of a message: empty where nothing is seen.
#[must_use]
pub fn access_problem(file: &Path) -> String {
    let me = geteuid();
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match file.symlink_metadata() {
        Ok(_) if access(file, Access::READ_OK | Access::WRITE_OK).is_ok() => String::new(),
        Ok(found) if found.is_symlink() => {
            let target = file.read_link().unwrap_or_default();
            format!("; it is a symbolic link to {}, which uid {me} (run.user) may not open", target.display())
        }
        Ok(found) => format!("; it belongs to uid {}, and sojournd runs as uid {me} (run.user)", found.uid()),
        Err(_) if access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok() => String::new(),
        Err(_) => {
            let folder = folder.display();
            format!("; uid {me} (run.user) needs a folder of its own: `install -d -o {me} -m 750 {folder}` makes it")
        }
    }
}

/// Refuses `file` to root where its folder is another user's, who may have put a link in its place.
///
/// # Errors
/// It is.
pub fn not_for_root(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.metadata() {
        Ok(found) if geteuid().is_root() && found.uid() != 0 => {
            let what = format!(
                "{}: its folder belongs to uid {}, and root opens no files there; become that user (`runuser -u USER -- \
                 sojournd ...`) or name a file elsewhere",
                file.display(),
                found.uid()
            );
            Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
        }
        _ => Ok(()),
    }
}
