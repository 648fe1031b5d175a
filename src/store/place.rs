//! Where the database lies: SQLite's locks do not work on a network file system, and what may not be written must not
//! be opened for writing.

use crate::domain::fault::folder_of;
use rustix::fs::{Access, AtFlags, CWD, Mode, accessat, statfs};
use rustix::process::umask;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What statfs(2) tells of a file system that comes over a network, or through a program that may fetch it from one.
fn remote(magic: u64) -> Option<&'static str> {
    match magic {
        0x6969 => Some("NFS"),
        0xff53_4d42 => Some("CIFS"),
        0xfe53_4d42 => Some("SMB2"),
        0x517b => Some("SMB"),
        0x6573_5546 => Some("FUSE"),
        0x0102_1997 => Some("9p"),
        0x00c3_6400 => Some("Ceph"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        _ => None,
    }
}

/// A warning if the database `path`, which need not exist, lies on a network file system.
pub fn warning(path: &Path) -> Option<String> {
    let folder = folder_of(path).canonicalize().ok()?;
    // A magic number has 32 bits; some systems give it with a sign.
    let magic = statfs(&folder).ok()?.f_type as u64 & 0xffff_ffff;
    Some(words(path, remote(magic)?, &mount(&folder)))
}

/// Whether this user may write the file `path`. Asked without opening it: to close it again would drop SQLite's locks.
pub(super) fn is_writable(path: &Path) -> bool {
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Does `work` with a umask that takes nothing from the group. SQLite gives the files beside the database its mode, but
/// only after it has made them: whoever looks at them in between would find them shut.
pub(super) fn shared<T>(work: impl FnOnce() -> T) -> T {
    let before = umask(Mode::RWXO);
    umask(before - Mode::RWXG);
    let done = work();
    umask(before);
    done
}

fn words(path: &Path, kind: &str, mount: &Path) -> String {
    format!(
        "database {} lies on a network file system ({kind}, mounted at {}), where SQLite's locks do not work; \
         move it to a local disk",
        path.display(),
        mount.display()
    )
}

/// Where the file system of `folder` is mounted: the highest folder above it on the same device.
fn mount(folder: &Path) -> PathBuf {
    let device = |path: &Path| path.metadata().map(|meta| meta.dev()).ok();
    let own = device(folder);
    let mut mount = folder;
    while let Some(above) = mount.parent()
        && device(above) == own
    {
        mount = above;
    }
    mount.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_a_network_are_known_by_their_magic() {
        for magic in [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x6573_5546] {
            assert!(remote(magic).is_some(), "{magic:x}");
        }
        // ext4, xfs, btrfs, tmpfs, overlayfs, zfs.
        for magic in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert_eq!(remote(magic), None, "{magic:x}");
        }
    }

    #[test]
    fn a_warning_names_the_database_and_the_mount() {
        let told = words(Path::new("/srv/mail/q.db"), "NFS", Path::new("/srv"));
        assert!(
            told.contains("/srv/mail/q.db") && told.contains("NFS, mounted at /srv)"),
            "{told}"
        );
        let dir = tempfile::tempdir().unwrap().path().to_owned();
        assert_eq!(warning(&dir.join("no/such/q.db")), None);
        assert_eq!(mount(Path::new("/")), Path::new("/"));
        assert!(Path::new("/proc/self").starts_with(mount(Path::new("/proc/sys/kernel"))));
    }
}
