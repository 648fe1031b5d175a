//! Why this user may not use a file: which file or folder on the way bars it, whose that is, and what helps.
//!
//! Names come from `/etc/passwd` and `/etc/group` alone, so that a static binary needs nothing else; a user of a
//! directory service is told by number.

use crate::domain::fault::{Barred, Need};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What bars the way.
#[derive(Debug)]
pub struct Barrier {
    path: PathBuf,
    meta: Metadata,
    wanted: Access,
    /// Nobody may write there, whatever the permissions say.
    is_read_only: bool,
    user: String,
}

/// What bars this user from `barred`; `None` when nothing is seen that does.
pub fn barrier(barred: &Barred) -> Option<Barrier> {
    let path = std::path::absolute(&barred.path).ok()?;
    let folder = path.parent()?;
    let (mut places, mut above): (Vec<(PathBuf, Access)>, Vec<&Path>) =
        (Vec::new(), folder.ancestors().collect());
    above.reverse();
    places.extend(above.iter().map(|folder| (folder.to_path_buf(), Access::EXEC_OK)));
    if barred.need == Need::Read {
        places.push((path, Access::READ_OK));
    } else {
        let enter = if path.is_dir() { Access::EXEC_OK } else { Access::empty() };
        let both = Access::READ_OK | Access::WRITE_OK | enter;
        let beside = |suffix: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        places.extend(["", "-wal", "-shm"].map(|suffix| (beside(suffix), both)));
        if !path.is_dir() {
            places.push((folder.to_owned(), Access::WRITE_OK | Access::EXEC_OK));
        }
    }
    places.into_iter().find_map(|(path, wanted)| {
        let is_read_only = match accessat(CWD, &path, wanted, AtFlags::EACCESS) {
            Err(Errno::ACCESS) => false,
            Err(Errno::ROFS) => true,
            _ => return None,
        };
        let meta = fs::metadata(&path).ok()?;
        let user = user_name(rustix::process::geteuid().as_raw());
        Some(Barrier { path, meta, wanted, is_read_only, user })
    })
}

impl Barrier {
    /// The next step for whoever administers the host.
    pub fn remedy(&self) -> String {
        let Barrier { path, meta, wanted, user, .. } = self;
        let shown = path.display();
        if self.is_read_only {
            let folder = if meta.is_dir() { path } else { path.parent().unwrap_or(path) };
            return format!(
                "its file system is read-only here; a service under ProtectSystem= needs ReadWritePaths={}",
                folder.display()
            );
        }
        let (owner, group) = (user_name(meta.uid()), group_name(meta.gid()));
        let bits = wanted.bits();
        let letters: String = [(4, 'r'), (2, 'w'), (1, 'x')]
            .into_iter()
            .filter_map(|(bit, letter)| (bits & bit != 0).then_some(letter))
            .collect();
        let group_may = (meta.mode() >> 3) & bits == bits;
        if meta.uid() == rustix::process::geteuid().as_raw() {
            format!("give it back to its owner: chmod u+{letters} {shown}")
        } else if group_may && meta.gid() != 0 && !is_member(meta.gid()) {
            match is_listed(&group, user) {
                true => format!(
                    "{user} was put into the group {group} after this session began: log in again"
                ),
                false => format!(
                    "put {user} into the group, and log in again: usermod -aG {group} {user}"
                ),
            }
        } else if is_member(meta.gid()) && meta.gid() != 0 {
            format!("let the group {group} use it: chmod g+{letters} {shown}")
        } else {
            format!(
                "run as its owner (sudo -u {owner} mailq …), or give it to a group that {user} is in"
            )
        }
    }
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Barrier { path, meta, wanted, user, .. } = self;
        let verb = match *wanted {
            Access::EXEC_OK => "enter",
            Access::READ_OK => "read",
            _ if meta.is_dir() => "write in",
            _ => "write",
        };
        write!(
            f,
            "user {user} may not {verb} {} (owner {}, group {}, mode {:04o})",
            path.display(),
            user_name(meta.uid()),
            group_name(meta.gid()),
            meta.mode() & 0o7777
        )
    }
}

fn user_name(id: u32) -> String {
    name(&fs::read_to_string("/etc/passwd").unwrap_or_default(), id)
}

fn group_name(id: u32) -> String {
    name(&fs::read_to_string("/etc/group").unwrap_or_default(), id)
}

/// The name that a file like `/etc/passwd` gives to a number; without one, the number.
fn name(file: &str, id: u32) -> String {
    let lines = file.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let known = lines.into_iter().find(|fields| fields.get(2) == Some(&id.to_string().as_str()));
    known.map_or_else(|| id.to_string(), |fields| fields[0].to_owned())
}

/// Whether this process is in the group.
fn is_member(group: u32) -> bool {
    rustix::process::getegid().as_raw() == group
        || rustix::process::getgroups()
            .is_ok_and(|groups| groups.iter().any(|one| one.as_raw() == group))
}

/// Whether `/etc/group` says that the user is in the group.
fn is_listed(group: &str, user: &str) -> bool {
    let file = fs::read_to_string("/etc/group").unwrap_or_default();
    let mut lines = file.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.any(|fields| {
        fields[0] == group
            && fields.get(3).is_some_and(|list| list.split(',').any(|one| one == user))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_name_stands_for_itself() {
        let file = "root:x:0:0::/root:/bin/sh\nmailq:x:900:\n";
        assert_eq!(name(file, 900), "mailq");
        assert_eq!(name(file, 90), "90");
        assert_eq!(name("", 0), "0");
    }

    #[test]
    fn what_may_be_used_bars_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let barred = Barred { path: dir.path().join("q.db"), need: Need::Write };
        assert!(barrier(&barred).is_none());
    }
}
