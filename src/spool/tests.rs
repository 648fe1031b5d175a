use super::sweep::Swept;
use super::*;
use crate::domain::fault::Kind;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;

const LIMIT: u64 = 1 << 20;
/// Of `hello` and a line end.
const HELLO: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
const HOUR: Duration = Duration::from_secs(3600);

struct Room {
    at: TempDir,
    spool: Spool,
}

fn room() -> Room {
    let at = TempDir::new().unwrap();
    let spool = Spool::new(at.path().join("spool"), vec![at.path().join("files")]);
    fs::create_dir(at.path().join("files")).unwrap();
    Room { at, spool }
}

impl Room {
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.at.path().join("files").join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn hello(&self) -> Attachment {
        let path = self.file("hello.txt", b"hello\n");
        self.spool.take_in(&path, None, LIMIT).unwrap()
    }

    fn stored(&self) -> PathBuf {
        self.at.path().join("spool").join("58").join(HELLO)
    }

    fn unfinished(&self) -> usize {
        fs::read_dir(self.at.path().join("spool/tmp")).unwrap().count()
    }

    fn refused(&self, path: &Path) -> Kind {
        let fault = self.spool.take_in(path, None, LIMIT).unwrap_err();
        assert!(!fault.to_string().contains('\n'), "{fault}");
        fault.kind()
    }

    /// Sets when the stored copy was taken in, in milliseconds since 1970.
    fn date(&self, path: &Path, ms: u64) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(ms)).unwrap();
        assert_eq!(self.spool.dir, self.at.path().join("spool"));
    }
}

fn reference(to: &str) -> Attachment {
    Attachment {
        filename: "a.txt".to_owned(),
        content_type: None,
        storage_ref: to.to_owned(),
        sha256: None,
        size: None,
        cid: None,
    }
}

#[test]
fn a_file_is_kept_once_under_its_digest() {
    let room = room();
    let first = room.hello();
    assert_eq!(first.filename, "hello.txt");
    assert_eq!(first.storage_ref, format!("spool:{HELLO}"));
    assert_eq!(first.sha256.as_deref(), Some(HELLO));
    assert_eq!(first.size, Some(6));
    let path = room.file("again", b"hello\n");
    let second = room.spool.take_in(&path, Some("other.txt"), LIMIT).unwrap();
    assert_eq!(second.filename, "other.txt");
    assert_eq!(second.storage_ref, first.storage_ref);
    assert_eq!(fs::read(room.stored()).unwrap(), b"hello\n");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&room.stored()), 0o660);
    let folder = room.stored().parent().unwrap().to_owned();
    assert_eq!((mode(&folder), mode(folder.parent().unwrap())), (0o2770, 0o2770));
    assert_eq!(room.unfinished(), 0);
    assert_eq!(room.spool.open(&second).unwrap().path, room.stored());
}

#[test]
fn the_copy_does_not_follow_the_file() {
    let room = room();
    let attachment = room.hello();
    room.file("hello.txt", b"changed");
    let enclosure = room.spool.open(&attachment).unwrap();
    assert_eq!(fs::read(&enclosure.path).unwrap(), b"hello\n");
    assert_eq!(enclosure.size, 6);
}

#[test]
fn an_empty_file_is_a_file() {
    let room = room();
    let path = room.file("empty", b"");
    let attachment = room.spool.take_in(&path, None, LIMIT).unwrap();
    assert_eq!(room.spool.open(&attachment).unwrap().size, 0);
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let room = room();
    let files = room.at.path().join("files");
    let fifo = files.join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    symlink(files.join("nowhere"), files.join("broken")).unwrap();
    symlink(files.join("round"), files.join("round")).unwrap();
    for path in [
        &files,
        &fifo,
        &files.join("broken"),
        &files.join("round"),
        Path::new("/dev/zero"),
        &files.join("missing"),
        &files.join("a\nb"),
    ] {
        assert_eq!(room.refused(path), Kind::NoInput, "{path:?}");
    }
    assert_eq!(room.refused(Path::new("/proc/self/mem")), Kind::Io);
    assert!(!room.at.path().join("spool/00").exists());
}

#[test]
fn a_file_that_may_not_be_read_or_is_too_large_is_refused() {
    let room = room();
    let path = room.file("secret", b"x");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads it all the same.
    if File::open(&path).is_err() {
        assert_eq!(room.refused(&path), Kind::Permission);
    }
    let large = room.file("large", &vec![0; LIMIT as usize + 1]);
    assert_eq!(room.refused(&large), Kind::Data);
    assert!(room.spool.take_in(&large, None, LIMIT + 1).is_ok());
}

#[test]
fn a_store_that_cannot_be_made_is_a_fault_and_leaves_nothing() {
    let room = room();
    let path = room.file("a", b"x");
    let in_the_way = room.file("spool", b"a file");
    let fault = Spool::new(in_the_way, Vec::new()).take_in(&path, None, LIMIT).unwrap_err();
    assert_eq!(fault.kind(), Kind::CannotCreate);
}

#[test]
fn many_may_take_in_the_same_file_at_once() {
    let room = room();
    let path = room.file("a", &vec![7; 200_000]);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let taken = room.spool.take_in(&path, None, LIMIT).unwrap();
                    assert_eq!(room.spool.open(&taken).unwrap().size, 200_000);
                }
            });
        }
    });
    assert_eq!(room.unfinished(), 0);
}

#[test]
fn bytes_that_are_not_those_of_enqueue_are_refused_and_name_the_path() {
    let room = room();
    let attachment = room.hello();
    room.spool.open(&attachment).unwrap();
    fs::write(room.stored(), "HELLO\n").unwrap();
    let told = room.spool.open(&attachment).unwrap_err();
    assert!(told.contains(HELLO) && told.contains("hello.txt"), "{told}");
    fs::write(room.stored(), "short").unwrap();
    assert!(room.spool.open(&attachment).unwrap_err().contains("5 bytes"));
    fs::remove_file(room.stored()).unwrap();
    assert!(room.spool.open(&attachment).unwrap_err().contains("no such file"));
    // To enqueue the file again mends the store.
    assert!(room.spool.open(&room.hello()).is_ok());
}

#[test]
fn the_same_file_is_read_once_a_run() {
    let room = room();
    let attachment = room.hello();
    room.spool.open(&attachment).unwrap();
    let metadata = fs::metadata(room.stored()).unwrap();
    let forged = (Stamp::of(&metadata), "remembered".to_owned());
    room.spool.digests.lock().unwrap().insert(room.stored(), forged);
    assert!(room.spool.open(&attachment).unwrap_err().contains("remembered"));
}

#[test]
fn references_cannot_leave_the_attachment_roots() {
    let room = room();
    let inside = room.file("in.txt", b"x");
    let outside = room.at.path().join("out.txt");
    fs::write(&outside, "secret").unwrap();
    symlink(&outside, room.at.path().join("files/link")).unwrap();
    let open = |to: &str| room.spool.open(&reference(to));
    assert_eq!(open(inside.to_str().unwrap()).unwrap().size, 1);
    assert_eq!(open("in.txt").unwrap().path, inside.canonicalize().unwrap());
    for bad in [outside.to_str().unwrap(), "../out.txt", "link", "/etc/passwd", ""] {
        let told = open(bad).unwrap_err();
        assert!(told.contains("not below"), "{bad}: {told}");
    }
    assert!(open("gone").unwrap_err().contains("no such file"));
    assert!(open("a\0b").is_err());
    for bad in [
        "spool:",
        "spool:../../etc/passwd",
        "spool:58/x",
        &format!("spool:{}", HELLO.to_uppercase()),
    ] {
        assert!(open(bad).unwrap_err().contains("no SHA-256"), "{bad}");
    }
    let wrong = Attachment { sha256: Some(HELLO.to_owned()), ..reference("in.txt") };
    assert!(room.spool.open(&wrong).unwrap_err().contains("not what it was"));
    let rootless = Spool::new(room.at.path().join("spool"), Vec::new());
    assert!(rootless.open(&reference("in.txt")).unwrap_err().contains("attachment_roots"));
}

#[test]
fn a_sweep_deletes_only_what_is_old_and_unused() {
    let room = room();
    assert_eq!(sweep(&room, &[], false), Swept::default());
    let attachment = room.hello();
    room.date(&room.stored(), 1_000);
    let strays = [room.at.path().join("spool/tmp/1-1"), room.at.path().join("spool/58/notes.txt")];
    for stray in &strays {
        fs::write(stray, "xy").unwrap();
        room.date(stray, 1_000);
    }
    assert_eq!(sweep(&room, &[&attachment.storage_ref], true), Swept { files: 1, bytes: 2 });
    assert_eq!(sweep(&room, &[&attachment.storage_ref], false), Swept { files: 1, bytes: 2 });
    assert!(room.stored().exists() && !strays[0].exists() && strays[1].exists());
    // Taken in again: its row may be on its way.
    room.hello();
    assert_eq!(sweep(&room, &[], false), Swept::default());
    room.date(&room.stored(), 1_000);
    assert_eq!(sweep(&room, &[], true), Swept { files: 1, bytes: 6 });
    assert!(room.stored().exists());
    assert_eq!(sweep(&room, &[], false), Swept { files: 1, bytes: 6 });
    assert!(!room.stored().exists());
}

/// Sweeps at two hours after 1970 with the usual grace.
fn sweep(room: &Room, in_use: &[&str], dry_run: bool) -> Swept {
    let mut asked = |reference: &str| Ok(in_use.contains(&reference));
    room.spool.sweep(&mut asked, HOUR, 7_200_000, dry_run).unwrap()
}
