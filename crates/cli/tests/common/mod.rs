//! What the end-to-end tests share: the real binary, a home of its own, and the leak check.
//!
//! A test opens a [`House`], which no other test of the file shares at that moment. While it
//! is open, orphans of anything it started become children of the test process, so that its
//! end can tell for certain what was left behind.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "helpers of tests, each of which uses its part"
)]

pub mod leaks;
pub mod command;
pub mod study;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

pub use command::Said;

/// Folders of one test, and what must not outlive it.
pub struct House {
    dir: TempDir,
    before: leaks::Before,
    left_by_kill: bool,
    _turn: MutexGuard<'static, ()>,
}

/// As whom a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// As whom the tests run.
    Caller,
    /// As an ordinary user, for which the tests must run as root.
    Nobody,
}

/// Caller, and an ordinary user too where the caller can become one.
pub fn everybody() -> Vec<Who> {
    if is_root() {
        vec![Who::Caller, Who::Nobody]
    } else {
        vec![Who::Caller]
    }
}

pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// User and group of [`Who::Nobody`]: what Linux calls the overflow user.
pub const NOBODY: u32 = 65534;

static TURN: Mutex<()> = Mutex::new(());

impl House {
    pub fn new() -> House {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = tempfile::Builder::new()
            .prefix("commute-test-")
            .tempdir()
            .unwrap();
        let house = House {
            before: leaks::Before::look(),
            dir,
            left_by_kill: false,
            _turn: turn,
        };
        open_to_all(house.dir(), 0o755);
        for (name, mode) in [("tmp", 0o1777), ("home", 0o755), ("work", 0o1777)] {
            fs::create_dir(house.dir().join(name)).unwrap();
            open_to_all(&house.dir().join(name), mode);
        }
        house
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The working folder of commands, writable by all.
    pub fn work(&self) -> PathBuf {
        self.dir().join("work")
    }

    /// The folder with `stacks/`.
    pub fn home(&self) -> PathBuf {
        self.dir().join("home")
    }

    /// Writes a file into the working folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.work().join(name);
        fs::write(&path, text).unwrap();
        open_to_all(&path, 0o644);
        path
    }

    /// `commute` with these arguments, ready to start in the working folder.
    pub fn commute(&self, args: &[&str]) -> Command {
        self.commute_as(Who::Caller, args)
    }

    pub fn commute_as(&self, who: Who, args: &[&str]) -> Command {
        let mut command = Command::new(self.binary(who));
        command.args(args);
        self.furnish(&mut command, who);
        command
    }

    /// Gives a command the folders of this house, and its user.
    pub fn furnish(&self, command: &mut Command, who: Who) {
        command
            .current_dir(self.work())
            .env("TMPDIR", self.dir().join("tmp"))
            .env("COMMUTE_HOME", self.home());
        if who == Who::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
    }

    /// Runs `commute` to its end.
    pub fn run(&self, args: &[&str]) -> Said {
        Said::of(self.commute(args))
    }

    /// The binary; for an ordinary user a copy that it can reach, drivers beside it.
    fn binary(&self, who: Who) -> PathBuf {
        let built = PathBuf::from(env!("CARGO_BIN_EXE_commute"));
        if who == Who::Caller {
            return built;
        }
        let bin = self.dir().join("bin");
        if !bin.exists() {
            fs::create_dir(&bin).unwrap();
            open_to_all(&bin, 0o755);
            fs::copy(&built, bin.join("commute")).unwrap();
            for name in DRIVERS {
                fs::copy(driver(name), bin.join(name)).unwrap();
            }
        }
        bin.join("commute")
    }

    /// Asserts that no process, interface or namespace of this test is left at this moment.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        let left = self.before.what_is_left();
        assert!(left.is_empty(), "left behind:\n{}", left.join("\n"));
    }

    /// A command of this test was killed in mid-cell: its temporary folder may be left.
    pub fn kill_leaves_temporary_files(&mut self) {
        self.left_by_kill = true;
    }
}

/// The leak check that every test ends in.
impl Drop for House {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.nothing_is_left();
        let temporary: Vec<_> = names(&self.dir().join("tmp"));
        assert!(
            self.left_by_kill || temporary.is_empty(),
            "left in TMPDIR: {temporary:?}"
        );
    }
}

/// Names in a folder, sorted.
pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const DRIVERS: [&str; 3] = [
    "commute-driver-hyper",
    "commute-driver-quinn",
    "commute-driver-tonic",
];

/// A driver's executable, which lies beside the command's.
pub fn driver(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_commute")).with_file_name(name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build --workspace --bins --examples` first, as `make test` does",
        path.display()
    );
    path
}

/// The checkout these tests belong to.
pub fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// A program of the machine, when it is there.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// The path of a golden file of these tests.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
