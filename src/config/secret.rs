//! Passwords: where one is, and reading it at the moment a connection needs it.
//!
//! A `Secret` never holds the password, only the way to it, so that none can show in a log, an error or `Debug`;
//! a password that was changed on disk counts from the next connection on.

use super::environment;
use crate::domain::fault::{Fault, Kind, Need, one_line, words_of};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a password command may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest secret that is read, in bytes: an OAuth2 token has a few thousand.
const LONGEST: u64 = 64 * 1024;
/// The credential (systemd's `LoadCredential=`) that is used where no other source is named, and the name of the file
/// that it is made from.
const CREDENTIAL: &str = "smtp-password";
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// The way to a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    File(PathBuf),
    Command(Vec<String>),
}

impl Secret {
    /// The way that is configured, else the credential that systemd handed over, else the file of that name beside the
    /// `configuration`, where there is one.
    pub(super) fn choose(
        file: Option<PathBuf>,
        command: Option<Vec<String>>,
        configuration: Option<&Path>,
    ) -> Option<Secret> {
        if let Some(file) = file {
            return Some(Secret::File(in_credentials(file)));
        }
        if let Some(command) = command {
            return Some(Secret::Command(command));
        }
        let handed_over = environment::variable(CREDENTIALS).map(PathBuf::from);
        let beside = configuration.and_then(Path::parent).map(Path::to_owned);
        let places = [handed_over, beside].into_iter().flatten();
        places.map(|folder| folder.join(CREDENTIAL)).find(|path| path.exists()).map(Secret::File)
    }

    /// The places that `choose` looks in where the configuration names none.
    pub(super) fn usual_places(configuration: Option<&Path>) -> String {
        let beside = configuration.and_then(Path::parent).map(|folder| folder.join(CREDENTIAL));
        let beside = beside.map_or("a file of that name beside the configuration".into(), |path| {
            path.display().to_string()
        });
        format!("the credential {CREDENTIAL} of systemd, and {beside}")
    }

    /// Whether a password file holds one.
    pub(super) fn probe(&self) -> Result<(), Fault> {
        match self {
            Secret::File(_) => self.read().map(drop),
            Secret::Command(_) => Ok(()),
        }
    }

    /// Reads the password. Its last line end is cut off.
    pub fn read(&self) -> Result<String, Fault> {
        let bytes = match self {
            Secret::File(path) => read_file(path)?,
            Secret::Command(argv) => run(argv)?,
        };
        let text = String::from_utf8(bytes).map_err(|_| {
            Fault::new(Kind::Config, format!("the password from {self} is not UTF-8"))
        })?;
        let password = text.strip_suffix('\n').unwrap_or(&text);
        let password = password.strip_suffix('\r').unwrap_or(password);
        if password.is_empty() {
            return Err(Fault::new(Kind::Config, format!("the password from {self} is empty")));
        }
        if password.contains(['\n', '\r', '\0']) {
            let message = format!("the password from {self} has more than one line");
            return Err(Fault::new(Kind::Config, message));
        }
        Ok(password.to_owned())
    }

    /// What is wrong with how the password is kept, without reading it.
    pub fn warning(&self) -> Option<String> {
        match self {
            Secret::File(path) => open_to_all("password file", path),
            Secret::Command(_) => None,
        }
    }
}

/// The warning that everybody can read the file `path`, where that is so. `what` is what it is.
pub(super) fn open_to_all(what: &str, path: &Path) -> Option<String> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o004 != 0).then(|| {
        format!("everybody on this host can read the {what} {}; chmod o-r it", path.display())
    })
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Secret::File(path) => write!(f, "{}", path.display()),
            // Its arguments could hold a secret themselves.
            Secret::Command(_) => f.write_str("password_command"),
        }
    }
}

/// A path that begins with `$CREDENTIALS_DIRECTORY/` lies where systemd put the credentials.
pub(super) fn in_credentials(path: PathBuf) -> PathBuf {
    let rest = path.strip_prefix(format!("${CREDENTIALS}"));
    match (rest, environment::variable(CREDENTIALS)) {
        (Ok(rest), Some(folder)) => PathBuf::from(folder).join(rest),
        _ => path,
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, Fault> {
    let fail = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::PermissionDenied => Kind::Permission,
            _ => Kind::Config,
        };
        let words =
            format!("cannot read the password file {}: {}", path.display(), words_of(&error));
        Fault::new(kind, words).barred(path, Need::Read)
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LONGEST).read_to_end(&mut bytes))
        .map_err(fail)?;
    Ok(bytes)
}

fn run(argv: &[String]) -> Result<Vec<u8>, Fault> {
    let fail = |why: String| Fault::new(Kind::Config, format!("password_command {why}"));
    let (program, arguments) = argv.split_first().ok_or_else(|| fail("is empty".to_owned()))?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| fail(format!("cannot be started: {}", words_of(&error))))?;
    let output = gather(child.stdout.take());
    let complaints = gather(child.stderr.take());
    let status = wait(&mut child).ok_or_else(|| {
        // What it started itself may hold the pipes open: they are left to end on their own.
        let _ = child.kill();
        let _ = child.wait();
        fail(format!("did not end within {}s", PATIENCE.as_secs()))
    })?;
    let output = output.join().unwrap_or_default();
    if !status.success() {
        let complaints = complaints.join().unwrap_or_default();
        let words = one_line(&String::from_utf8_lossy(&complaints), 200);
        return Err(fail(format!("failed ({status}): {words}")));
    }
    Ok(output)
}

fn gather(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What was read until an error counts.
            let _ = pipe.take(LONGEST).read_to_end(&mut bytes);
        }
        bytes
    })
}

fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Secret {
        Secret::Command(vec!["/bin/sh".to_owned(), "-c".to_owned(), line.to_owned()])
    }

    #[test]
    fn one_line_end_is_cut_and_blanks_stay() {
        assert_eq!(command("printf ' s3 cret \\n'").read().unwrap(), " s3 cret ");
        assert_eq!(command("printf 'x\\r\\n'").read().unwrap(), "x");
        for wrong in ["printf ''", "printf '\\n'", "printf 'a\\nb\\n'", "printf '\\377'"] {
            assert_eq!(command(wrong).read().unwrap_err().kind(), Kind::Config, "{wrong}");
        }
    }

    #[test]
    fn a_command_that_fails_says_its_words_and_no_secret() {
        let fault = command("echo hunter2; echo locked >&2; exit 3").read().unwrap_err();
        let told = fault.to_string();
        assert!(told.contains("locked") && told.contains('3'), "{told}");
        assert!(!told.contains("hunter2"));
        assert!(!format!("{fault:?}").contains("hunter2"));
        let missing = Secret::Command(vec!["/nonexistent/program".to_owned()]);
        assert!(missing.read().is_err());
    }

    #[test]
    fn a_file_that_is_missing_is_named_and_an_open_one_warned_of() {
        let path = std::env::temp_dir().join(format!("mailq-secret-{}", std::process::id()));
        let secret = Secret::File(path.clone());
        assert!(secret.read().unwrap_err().to_string().contains("mailq-secret-"));
        assert_eq!(secret.warning(), None);
        std::fs::write(&path, "s3cret\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(secret.read().unwrap(), "s3cret");
        assert!(secret.warning().unwrap().contains("chmod"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(secret.warning(), None);
        std::fs::remove_file(&path).unwrap();
    }
}
