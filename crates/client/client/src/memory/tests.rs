//! The memory file among hostile files and several processes.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command};

use route::Config;
use sha2::{Digest as _, Sha256};

use super::*;

const VICTIM: &[u8] = b"precious";
/// Set for a child process: what it does, and in which folder.
const ROLE: &str = "COMMUTE_MEMORY_TEST_ROLE";
const FOLDER: &str = "COMMUTE_MEMORY_TEST_FOLDER";
const WRITERS: usize = 4;
const WRITING: Duration = Duration::from_secs(3);

/// Places something at a path; a second path is a file outside of the folder.
type Place = fn(&Path, &Path);

struct Folder {
    all: tempfile::TempDir,
    folder: PathBuf,
    victim: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        let (folder, victim) = (all.path().join("memory"), all.path().join("victim"));
        fs::create_dir(&folder).unwrap();
        fs::write(&victim, VICTIM).unwrap();
        Self {
            all,
            folder,
            victim,
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("route.v1")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Loads the file as an engine does at its start. Returns whether anything was recalled.
    fn load(&self) -> bool {
        let mut router = router([1; 16]);
        let before = router.memory(WallSeconds(0));
        MemoryFile::new(self.folder.clone()).load(&mut router);
        router.memory(WallSeconds(0)) != before
    }

    fn save(&self) {
        write(&self.file(), &whole());
    }
}

fn router(salt: [u8; 16]) -> Router {
    Router::new(Config {
        salt,
        ..Config::default()
    })
}

/// Returns a file that no other process of these tests would write.
fn whole() -> Vec<u8> {
    router([2; 16]).memory(wall_seconds())
}

/// Returns a whole file of this length. A byte string that readers skip pads its CBOR array.
fn whole_with_padding(length: usize) -> Vec<u8> {
    const HEAD: usize = 10;
    const SUM: usize = 8;
    let whole = whole();
    let mut cbor = whole[HEAD..whole.len() - SUM].to_vec();
    // One more element of the array: its type, four bytes of its length, zeros.
    cbor[0] += 1;
    let padding = length - HEAD - SUM - cbor.len() - 5;
    cbor.push(0x5a);
    cbor.extend(u32::try_from(padding).unwrap().to_be_bytes());
    cbor.resize(cbor.len() + padding, 0);
    let cbor_length = u32::try_from(cbor.len()).unwrap().to_be_bytes();
    let sum = Sha256::digest(&cbor);
    [&whole[..6], &cbor_length, &cbor, &sum[..SUM]].concat()
}

#[test]
fn a_file_is_private_and_replaced_as_a_whole() {
    let folder = Folder::new();
    let inner = Folder {
        folder: folder.folder.join("a/b"),
        ..folder
    };
    inner.save();
    inner.save();
    assert_eq!(inner.names(), ["route.v1"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner.file()), 0o600);
    assert_eq!(mode(&inner.folder), 0o700);
    assert!(inner.load());
}

#[test]
fn what_is_no_regular_file_is_neither_read_nor_followed() {
    let places: [(&str, Place); 8] = [
        ("a link", |at, victim| symlink(victim, at).unwrap()),
        ("a link to a whole file", |at, victim| {
            fs::write(victim, whole()).unwrap();
            symlink(victim, at).unwrap();
        }),
        ("a dangling link", |at, victim| {
            symlink(victim.with_extension("none"), at).unwrap();
        }),
        ("a link to /dev/zero", |at, _| {
            symlink("/dev/zero", at).unwrap();
        }),
        ("a link to itself", |at, _| symlink(at, at).unwrap()),
        ("a FIFO", |at, _| fifo(at)),
        ("a socket", |at, _| drop(UnixListener::bind(at).unwrap())),
        ("a folder", |at, _| fs::create_dir(at).unwrap()),
    ];
    for (what, place) in places {
        let folder = Folder::new();
        place(&folder.file(), &folder.victim);
        let victim = fs::read(&folder.victim).unwrap();
        assert!(!folder.load(), "{what} was read");
        assert_eq!(folder.names(), ["route.v1"], "{what} was set aside");
        folder.save();
        assert_eq!(fs::read(&folder.victim).unwrap(), victim, "{what}");
        assert!(!folder.victim.with_extension("none").exists(), "{what}");
        assert_eq!(folder.names(), ["route.v1"], "{what}");
        // All but a folder is replaced.
        assert_eq!(folder.load(), what != "a folder", "{what}");
    }
}

#[test]
fn what_lies_at_the_place_of_a_damaged_file_is_not_followed() {
    let places: [(&str, Place); 3] = [
        ("a link", |at, victim| symlink(victim, at).unwrap()),
        ("a FIFO", |at, _| fifo(at)),
        ("a folder", |at, _| fs::create_dir(at).unwrap()),
    ];
    for (what, place) in places {
        let folder = Folder::new();
        fs::write(folder.file(), b"damaged").unwrap();
        place(&folder.folder.join("route.bad"), &folder.victim);
        assert!(!folder.load(), "{what}");
        assert_eq!(fs::read(&folder.victim).unwrap(), VICTIM, "{what}");
        assert_eq!(folder.names(), ["route.bad"], "{what}");
        folder.save();
        assert!(folder.load(), "{what}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_changes_nothing() {
    let folder = Folder::new();
    let link = folder.all.path().join("loop");
    symlink(&link, &link).unwrap();
    for not_a_folder in [folder.victim.clone(), link, PathBuf::from("/proc/self")] {
        let wrong = MemoryFile::new(not_a_folder);
        wrong.load(&mut router([1; 16]));
        write(&wrong.path(), &whole());
        assert!(!wrong.path().exists());
    }
    assert_eq!(fs::read(&folder.victim).unwrap(), VICTIM);
}

#[test]
fn a_file_cut_at_any_length_is_set_aside_and_nothing_else_is() {
    let folder = Folder::new();
    let whole = whole();
    for length in 0..whole.len() {
        fs::write(folder.file(), &whole[..length]).unwrap();
        assert!(!folder.load(), "{length}");
        let expected = if length == 0 { "route.v1" } else { "route.bad" };
        assert_eq!(folder.names(), [expected], "{length}");
        fs::remove_file(folder.folder.join(expected)).unwrap();
    }
    fs::write(folder.file(), &whole).unwrap();
    assert!(folder.load());
    assert_eq!(folder.names(), ["route.v1"]);
}

#[test]
fn a_huge_file_is_set_aside_without_being_read() {
    let folder = Folder::new();
    let huge = fs::File::create(folder.file()).unwrap();
    huge.set_len(1 << 40).unwrap();
    assert!(!folder.load());
    assert_eq!(folder.names(), ["route.bad"]);
}

/// Otherwise a longer file whose beginning is a whole one would be recalled.
#[test]
fn a_file_longer_than_the_limit_is_set_aside() {
    let folder = Folder::new();
    let mut file = whole_with_padding(MAX_MEMORY_BYTES);
    fs::write(folder.file(), &file).unwrap();
    assert!(folder.load());
    file.push(0);
    fs::write(folder.file(), &file).unwrap();
    assert!(!folder.load());
    assert_eq!(folder.names(), ["route.bad"]);
}

/// Only root can give files away.
#[test]
fn a_file_of_another_user_is_not_read() {
    let folder = Folder::new();
    folder.save();
    if std::os::unix::fs::chown(folder.file(), Some(65_534), None).is_err() {
        return;
    }
    assert!(!folder.load());
    assert_eq!(folder.names(), ["route.v1"]);
    folder.save();
    assert!(folder.load());
}

/// Otherwise a reader that was slow would set aside what another process has just written.
#[test]
fn a_file_that_replaced_a_damaged_one_stays() {
    let folder = Folder::new();
    fs::write(folder.file(), b"damaged").unwrap();
    let damaged = disk::read(&folder.file(), MAX_MEMORY_BYTES).unwrap();
    folder.save();
    let aside = folder.file().with_extension("bad");
    disk::set_aside(&folder.file(), &damaged, &aside).unwrap();
    assert_eq!(folder.names(), ["route.v1"]);
    assert!(folder.load());
}

#[test]
fn temporary_files_of_dead_processes_are_removed() {
    let folder = Folder::new();
    let mut dead = Command::new("true").spawn().unwrap();
    let dead_pid = dead.id();
    dead.wait().unwrap();
    let own_pid = std::process::id();
    let temporary = |pid: u32, n: u32| format!("route.{pid}.{n:016x}.new");
    for n in 0..100 {
        fs::write(folder.folder.join(temporary(dead_pid, n)), b"half").unwrap();
    }
    symlink(
        &folder.victim,
        folder.folder.join(temporary(dead_pid, 1_000)),
    )
    .unwrap();
    let old = fs::File::create(folder.folder.join(temporary(own_pid, 2))).unwrap();
    old.set_modified(SystemTime::now() - Duration::from_secs(7_200))
        .unwrap();
    let mut kept = [
        temporary(own_pid, 1),
        "route.0.0000000000000001.new".to_owned(),
        "route.1.new".to_owned(),
        "route.bad".to_owned(),
        format!("route.{dead_pid}.short.new"),
    ];
    for name in &kept {
        fs::write(folder.folder.join(name), b"not ours").unwrap();
    }
    folder.save();
    kept.sort();
    let names = folder.names();
    let (memory, rest): (Vec<_>, Vec<_>) = names.iter().partition(|name| *name == "route.v1");
    assert_eq!(memory.len(), 1);
    assert_eq!(rest, kept.iter().collect::<Vec<_>>());
    assert_eq!(fs::read(&folder.victim).unwrap(), VICTIM);
}

#[test]
fn a_write_that_fails_half_way_leaves_the_old_file_and_no_other() {
    let folder = Folder::new();
    folder.save();
    let old = fs::read(folder.file()).unwrap();
    let child = child("full", &folder.folder).wait().unwrap();
    assert!(child.success());
    assert_eq!(folder.names(), ["route.v1"]);
    assert_eq!(fs::read(folder.file()).unwrap(), old);
}

#[test]
fn processes_that_write_at_once_leave_no_torn_file() {
    let folder = Folder::new();
    folder.save();
    let mut writers: Vec<_> = (0..WRITERS)
        .map(|_| child("writer", &folder.folder))
        .collect();
    let mut looks = 0;
    while writers
        .iter_mut()
        .any(|writer| writer.try_wait().unwrap().is_none())
    {
        let bytes = fs::read(folder.file()).unwrap();
        assert_eq!(
            router([1; 16]).recall(&bytes, wall_seconds()),
            RecallOutcome::Whole,
            "torn at look {looks}"
        );
        looks += 1;
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert!(looks > 100, "{looks}");
    assert_eq!(folder.names(), ["route.v1"]);
}

/// Runs in the child processes of the tests above.
#[test]
fn child_process() {
    let (Ok(role), Some(folder)) = (std::env::var(ROLE), std::env::var_os(FOLDER)) else {
        return;
    };
    let memory = MemoryFile::new(folder.into());
    match role.as_str() {
        "full" => {
            no_space();
            write(&memory.path(), &whole());
        }
        _ => {
            let began = Instant::now();
            while began.elapsed() < WRITING {
                let mut router = router(random().unwrap());
                memory.load(&mut router);
                write(&memory.path(), &router.memory(wall_seconds()));
            }
        }
    }
}

fn child(role: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::tests::child_process"])
        .env(ROLE, role)
        .env(FOLDER, folder)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Makes every file of this process end after ten bytes.
fn no_space() {
    let limit = libc::rlimit {
        rlim_cur: 10,
        rlim_max: 10,
    };
    // SAFETY: the limit is initialized, and no handler is installed.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

fn fifo(at: &Path) {
    let at = CString::new(at.to_str().unwrap()).unwrap();
    // SAFETY: it is a path.
    assert_eq!(unsafe { libc::mkfifo(at.as_ptr(), 0o600) }, 0);
}
