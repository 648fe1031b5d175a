//! A directory of its own for each test, and `mailq` run inside it.
//!
//! Nothing of the machine reaches the process: no environment but `PATH`, no home, no configuration but the
//! sandbox's. Every run is held to R0, whatever the test is about: it ends, with an exit code that the README
//! documents, and without a panic.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The exit codes that a run may end with. 70 is documented as well, for a bug: no test may meet it.
const DOCUMENTED: [i32; 9] = [0, 64, 65, 66, 73, 74, 75, 77, 78];

/// What `stats` says with thresholds, and nothing else says.
const THRESHOLDS: [i32; 2] = [1, 2];

/// A run that takes longer hangs. Not an assertion on speed: it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(300);

/// Says that a test did not run here, past the harness, which hides what a passing test prints.
pub fn skipped(why: &str) {
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}

/// A temporary directory with a configuration, templates, a spool and room for a database. Mails go into files below
/// `out/` until a test configures another transport.
pub struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    /// A new sandbox, with the template `hello` (parameter `name`) and the `file` transport.
    pub fn new() -> Sandbox {
        let dir = tempfile::Builder::new().prefix("mailq-it-").tempdir().unwrap();
        let sandbox = Sandbox { dir };
        for name in ["templates", "spool", "out"] {
            fs::create_dir(sandbox.path(name)).unwrap();
        }
        sandbox.template("hello", "Hello {{name}}", "Dear {{name}},\nwelcome.\n", None);
        let out = sandbox.path("out");
        sandbox.configure(&format!(
            "[transport]\nkind = \"file\"\ndirectory = \"{}\"\n",
            out.display()
        ));
        sandbox
    }

    /// A new sandbox whose mails go to the SMTP server on this port of loopback, in clear.
    pub fn with_smtp(port: u16) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.configure(&format!(
            "[smtp]\nhost = \"127.0.0.1\"\nport = {port}\ntls = \"none\"\ntimeout = \"10s\"\n"
        ));
        sandbox
    }

    /// Replaces the configuration: the sandbox's paths and sender first, then `more`. `more` may begin with further
    /// top-level keys.
    pub fn configure(&self, more: &str) {
        let text = format!(
            "database = \"{0}/mailq.db\"\ntemplates = \"{0}/templates\"\nspool = \"{0}/spool\"\n\
             from = \"Sender <sender@example.com>\"\n{more}",
            self.dir().display()
        );
        self.write("config.toml", text);
    }

    /// The sandbox's directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A path inside the sandbox.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir().join(name)
    }

    /// The database that the configuration names.
    pub fn database(&self) -> PathBuf {
        self.path("mailq.db")
    }

    /// Writes a file, with the directories above it, and returns its path.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a template.
    pub fn template(&self, name: &str, subject: &str, text: &str, html: Option<&str>) {
        self.write(format!("templates/{name}/subject.hbs"), subject);
        self.write(format!("templates/{name}/text.hbs"), text);
        if let Some(html) = html {
            self.write(format!("templates/{name}/html.hbs"), html);
        }
    }

    /// The mails that the `file` transport wrote, in the order of their names.
    pub fn mails(&self) -> Vec<String> {
        let mut paths: Vec<PathBuf> = fs::read_dir(self.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "eml"))
            .collect();
        paths.sort();
        paths
            .iter()
            .map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned())
            .collect()
    }

    /// `program` in the sandbox's directory, with the sandbox's environment, reading nothing.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir())
            .env_clear()
            .env("HOME", self.dir())
            .env("LANG", "C")
            .env("TZ", "UTC")
            .env("MAILQ_CONFIG", self.path("config.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[expect(
            clippy::disallowed_methods,
            reason = "programs are found where the tests find them"
        )]
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// `mailq` with these arguments, ready to be changed or started.
    pub fn mailq_command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_mailq"));
        command.args(args);
        command
    }

    /// Runs `mailq` with these arguments.
    pub fn mailq<A: AsRef<OsStr>>(&self, args: &[A]) -> Seen {
        self.run(self.mailq_command(args), b"")
    }

    /// Runs `mailq` with these arguments and this on its standard input.
    pub fn mailq_reading<A: AsRef<OsStr>>(&self, args: &[A], input: impl AsRef<[u8]>) -> Seen {
        let mut command = self.mailq_command(args);
        command.stdin(Stdio::piped());
        self.run(command, input.as_ref())
    }

    /// Runs `mailq` and lists its calls of the system calls `calls`, one a line, descriptors with their paths. `calls` may
    /// go on with what strace is to do to them. `None` where strace cannot trace.
    pub fn traced(&self, calls: &[&str], args: &[&str]) -> Option<(Seen, Vec<String>)> {
        let mut strace = self.command("strace");
        strace
            .args(["-f", "-y", "-qq", "-o", "trace"])
            .args(calls.iter().flat_map(|one| ["-e", one]));
        let Ok(child) = strace.arg(env!("CARGO_BIN_EXE_mailq")).args(args).spawn() else {
            skipped("strace is not installed");
            return None;
        };
        let seen = self.finish(child);
        if seen.err.contains("strace:") {
            skipped("strace may not trace here");
            return None;
        }
        let trace = fs::read_to_string(self.path("trace")).unwrap();
        // A call that another thread interrupted has two lines; its end names nothing.
        let is_call = |line: &&str| line.contains('(') && !line.contains("resumed>");
        Some((seen, trace.lines().filter(is_call).map(str::to_owned).collect()))
    }

    /// Runs a prepared `mailq` to its end and holds it to R0.
    pub fn run(&self, mut command: Command, input: &[u8]) -> Seen {
        let verb = command
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned())
            .find(|arg| !arg.starts_with('-'));
        let output = finish(command.spawn().unwrap(), input);
        let seen = self.seen(&output);
        seen.assert_r0(verb.as_deref());
        seen
    }

    /// Starts `mailq` and leaves it running; `seen` takes its end.
    pub fn start<A: AsRef<OsStr>>(&self, args: &[A]) -> Child {
        self.mailq_command(args).spawn().unwrap()
    }

    /// Waits for a started `mailq` and holds it to R0. A process that the test killed has the code 128 + signal.
    pub fn finish(&self, child: Child) -> Seen {
        let seen = self.seen(&finish(child, b""));
        if seen.code < 128 || seen.code == 128 + 6 {
            seen.assert_r0(None);
        }
        seen
    }

    /// Runs another program in the sandbox to its end.
    pub fn other<A: AsRef<OsStr>>(&self, program: &str, args: &[A], input: &str) -> Seen {
        let mut command = self.command(program);
        command.args(args).stdin(Stdio::piped());
        self.seen(&finish(command.spawn().unwrap(), input.as_bytes()))
    }

    /// Runs `enqueue` with these arguments, which must work, and returns the ids that it printed.
    pub fn enqueue<A: AsRef<OsStr>>(&self, args: &[A]) -> Vec<i64> {
        let mut command = self.mailq_command(&["enqueue"]);
        command.args(args);
        let seen = self.run(command, b"");
        assert_eq!(seen.code, 0, "{seen}");
        seen.out.lines().map(|line| line.parse().expect(&seen.out)).collect()
    }

    fn seen(&self, output: &Output) -> Seen {
        let tidy = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(self.dir().to_str().unwrap(), "$DIR")
        };
        Seen { code: code(output.status), out: tidy(&output.stdout), err: tidy(&output.stderr) }
    }
}

/// What a run left behind: its exit code, standard output and standard error, with the sandbox's path as `$DIR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Seen {
    /// The run ended with this code; otherwise everything it said is shown.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Seen {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// The run printed exactly this.
    #[track_caller]
    pub fn assert_snapshot(&self, expected: &str) {
        assert_eq!(self.to_string().trim_end(), expected.trim_end());
    }

    /// The standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    #[track_caller]
    fn assert_r0(&self, verb: Option<&str>) {
        let documented = DOCUMENTED.contains(&self.code)
            || THRESHOLDS.contains(&self.code) && verb == Some("stats");
        assert!(documented, "the exit code is not a documented one\n{self}");
        assert!(!self.err.contains("panicked at"), "a panic\n{self}");
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { code, out, err } = self;
        write!(f, "exit {code}\n--- stdout\n{out}--- stderr\n{err}")
    }
}

/// The exit code as a shell tells it.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Feeds a process, reads all it says and waits for its end.
fn finish(mut child: Child, input: &[u8]) -> Output {
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let stdin = child.stdin.take();
    thread::scope(|scope| {
        let stdout = scope.spawn(move || drain(stdout));
        let stderr = scope.spawn(move || drain(stderr));
        scope.spawn(move || {
            if let Some(mut stdin) = stdin {
                // A process that does not read its input to the end is none of this function's business.
                let _ = stdin.write_all(input);
            }
        });
        let started = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if started.elapsed() > PATIENCE => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    panic!("the process did not end in {PATIENCE:?}");
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
    })
}

fn drain(pipe: Option<impl Read>) -> Vec<u8> {
    let mut all = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut all).unwrap();
    }
    all
}
