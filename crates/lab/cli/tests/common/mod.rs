//! Helpers shared by the end-to-end tests, which run the real binary.
//!
//! Each test creates a [`Sandbox`]: temporary folders, and a check on drop that the test left no
//! process, interface or namespace behind. Only one sandbox of a test binary exists at a time.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "test helpers, of which each test binary uses only some"
)]

pub mod command;
pub mod leaks;
pub mod process;
pub mod server;
pub mod study;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

pub use command::CommandOutput;

/// User and group ID of [`User::Ordinary`]: Linux's overflow user, usually called nobody.
pub const NOBODY_ID: u32 = 65534;

/// Held by the open [`Sandbox`], since the leak check covers all children of the test process.
static SANDBOX_LOCK: Mutex<()> = Mutex::new(());

/// The folders of one test. Checks for leaks when dropped.
pub struct Sandbox {
    dir: TempDir,
    snapshot: leaks::Snapshot,
    allow_temporary_files: bool,
    _lock: MutexGuard<'static, ()>,
}

/// The user that runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The user that runs the tests.
    Caller,
    /// An unprivileged user; available only if the tests run as root.
    Ordinary,
}

/// Returns the users that this process can run commands as.
pub fn users() -> Vec<User> {
    if is_root() {
        vec![User::Caller, User::Ordinary]
    } else {
        vec![User::Caller]
    }
}

pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

impl Sandbox {
    pub fn new() -> Sandbox {
        let lock = SANDBOX_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = tempfile::Builder::new()
            .prefix("commute-test-")
            .tempdir()
            .unwrap();
        let sandbox = Sandbox {
            snapshot: leaks::Snapshot::take(),
            dir,
            allow_temporary_files: false,
            _lock: lock,
        };
        set_mode(sandbox.dir(), 0o755);
        for (name, mode) in [("tmp", 0o1777), ("home", 0o755), ("work", 0o1777)] {
            fs::create_dir(sandbox.dir().join(name)).unwrap();
            set_mode(&sandbox.dir().join(name), mode);
        }
        sandbox
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the working directory of commands, which every user can write to.
    pub fn work(&self) -> PathBuf {
        self.dir().join("work")
    }

    /// Returns the folder that contains `stacks/`.
    pub fn home(&self) -> PathBuf {
        self.dir().join("home")
    }

    /// Writes a file in the working directory that every user can read.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.work().join(name);
        fs::write(&path, text).unwrap();
        set_mode(&path, 0o644);
        path
    }

    /// Returns `commute` with these arguments, to run in the working directory.
    pub fn commute(&self, args: &[&str]) -> Command {
        self.commute_as(User::Caller, args)
    }

    pub fn commute_as(&self, user: User, args: &[&str]) -> Command {
        let mut command = Command::new(self.binary(user));
        command.args(args);
        self.configure(&mut command, user);
        command
    }

    /// Sets a command's user, working directory and environment. Cells that the machine disturbed count, since test
    /// programs run beside each other.
    pub fn configure(&self, command: &mut Command, user: User) {
        command
            .current_dir(self.work())
            .env("TMPDIR", self.dir().join("tmp"))
            .env("COMMUTE_HOME", self.home())
            .env("COMMUTE_TEST_SHARES_MACHINE", "1");
        if user == User::Ordinary {
            command.uid(NOBODY_ID).gid(NOBODY_ID);
        }
    }

    /// Runs `commute` until it exits.
    pub fn run(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::of(self.commute(args))
    }

    /// Returns the binary; for an ordinary user in a folder that this user can reach.
    fn binary(&self, user: User) -> PathBuf {
        let built = PathBuf::from(env!("CARGO_BIN_EXE_commute"));
        if user == User::Caller {
            return built;
        }
        let bin = self.dir().join("bin");
        if !bin.exists() {
            fs::create_dir(&bin).unwrap();
            set_mode(&bin, 0o755);
            // Every test would copy a hundred megabytes.
            let copied = fs::hard_link(&built, bin.join("commute"))
                .or_else(|_| fs::copy(&built, bin.join("commute")).map(|_| ()));
            copied.unwrap();
        }
        bin.join("commute")
    }

    /// Asserts that every process, interface and namespace of this test is gone.
    #[track_caller]
    pub fn assert_no_leaks(&self) {
        let leaks = self.snapshot.leaks();
        assert!(leaks.is_empty(), "left behind:\n{}", leaks.join("\n"));
    }

    /// Disables the check for temporary files, which a killed command cannot delete.
    pub fn allow_temporary_files(&mut self) {
        self.allow_temporary_files = true;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.assert_no_leaks();
        let temporary = file_names(&self.dir().join("tmp"));
        assert!(
            self.allow_temporary_files || temporary.is_empty(),
            "left in TMPDIR: {temporary:?}"
        );
    }
}

/// Returns the names in a folder, sorted.
pub fn file_names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns the root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .unwrap()
        .to_owned()
}

/// Searches PATH for a program.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// Returns the path of a golden file of these tests.
pub fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
