//! The machine's files that programs under test can read besides those of the system.
//!
//! No folder is among them that is a user's home or has one in it. Of a program in such a folder, the file alone is.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use driver::env::SEARCH_PATH;
use rustix::process::geteuid;

use crate::home::Home;
use crate::lab::Lab;
use crate::stacks::Driver;

/// Programs below these folders are there for every user.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/opt", "/lib"];
/// The library of the binding for OkHttp. cargo builds it beside the binary, where its driver loads it.
const LIBRARY: &str = "libcommute_client_jvm.so";
/// The machine's users (passwd(5)).
const USERS: &str = "/etc/passwd";

/// Returns the files and folders that every driver and server may need: the stacks, which share code, the binary and the
/// library beside it. Where the binary was built in a checkout, there are also the other programs of its folder.
pub(crate) fn to_all(lab: &Lab) -> Vec<PathBuf> {
    let commute = &lab.home.commute;
    let mut paths = BTreeSet::from([
        lab.home.root.join("stacks"),
        commute.clone(),
        commute.with_file_name(LIBRARY),
    ]);
    let built_in = Home::of_binary(commute).and_then(|_| commute.parent());
    let built_in = built_in.filter(|folder| may_be_entered(folder));
    paths.extend(built_in.map(Path::to_owned));
    // One may be a link to somewhere else.
    let folders = lab.stacks.folders();
    paths.extend(folders.filter_map(|folder| folder.path.canonicalize().ok()));
    Homes::of_machine().without(paths)
}

/// Returns what a driver needs besides: its folder and [what its command needs](to_command).
pub(crate) fn to_driver(driver: &Driver) -> Vec<PathBuf> {
    let mut paths = Homes::of_machine().without([driver.folder.path.clone()]);
    paths.extend(to_command(&driver.command));
    paths
}

/// Returns what a command needs besides: the runtime of its program, and the files and folders that it names.
pub(crate) fn to_command(command: &[String]) -> Vec<PathBuf> {
    let homes = Homes::of_machine();
    let words = command.iter().map(PathBuf::from);
    let named = words.filter(|word| word.is_absolute());
    let program = command.first().map(Path::new);
    let runtime = program.and_then(|program| runtime(program, &homes));
    homes.without(named.chain(runtime))
}

/// Returns the folder of the runtime that a program belongs to, e.g. that of Python for the `bin/python3` of a virtual
/// environment, which is a link. Returns the program's own file where programs under test may not see that folder.
fn runtime(program: &Path, homes: &Homes) -> Option<PathBuf> {
    let mut dirs = SEARCH_PATH.split(':').map(Path::new);
    let file = match program.is_absolute() {
        true => program.canonicalize().ok()?,
        false => dirs.find_map(|dir| dir.join(program).canonicalize().ok())?,
    };
    if SYSTEM.iter().any(|dir| file.starts_with(dir)) {
        return None;
    }
    let dir = file.parent()?;
    let prefix = match dir.file_name() {
        Some(name) if name == "bin" => dir.parent()?,
        _ => dir,
    };
    match may_be_entered(prefix) && !homes.are_in(prefix) {
        true => Some(prefix.to_owned()),
        false => Some(file),
    }
}

/// Reports whether drivers may enter a folder. Mounted again, one that only root may enter would hide what is in it.
fn may_be_entered(dir: &Path) -> bool {
    let others_enter = dir.metadata().is_ok_and(|found| found.mode() & 0o001 != 0);
    !geteuid().is_root() || others_enter
}

/// The homes of users and all folders around them.
struct Homes(HashSet<FolderId>);

/// A folder's device and inode. Links and mounts give it further paths.
type FolderId = (u64, u64);

impl Homes {
    /// Returns those of the caller and of all users that the machine itself has.
    fn of_machine() -> Homes {
        let users = fs::read_to_string(USERS).unwrap_or_default();
        let caller = std::env::home_dir();
        Homes::of(caller.into_iter().chain(homes_of_users(&users)))
    }

    fn of(homes: impl IntoIterator<Item = PathBuf>) -> Homes {
        let homes = homes.into_iter();
        let mut folders = HashSet::new();
        for home in homes.filter_map(|home| home.canonicalize().ok()) {
            folders.extend(home.ancestors().filter_map(folder_id));
        }
        Homes(folders)
    }

    /// Reports whether a folder is a home or has one in it.
    fn are_in(&self, folder: &Path) -> bool {
        folder_id(folder).is_some_and(|id| self.0.contains(&id))
    }

    /// Returns the paths that exist, without the folders that homes are in.
    fn without(&self, paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
        let paths = paths.into_iter().filter(|path| path.exists());
        paths.filter(|path| !self.are_in(path)).collect()
    }
}

fn folder_id(path: &Path) -> Option<FolderId> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// Returns the sixth field of each line, where it is the path of a folder.
fn homes_of_users(users: &str) -> impl Iterator<Item = PathBuf> {
    let homes = users.lines().filter_map(|line| line.split(':').nth(5));
    let paths = homes.filter(|home| home.starts_with('/'));
    paths.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Makes a home, a link beside it to the folder around it, and a program in its `bin/`.
    fn make_home(dir: &Path) -> PathBuf {
        let home = dir.join("real/user");
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::write(home.join("bin/python3"), "").unwrap();
        // Whatever the caller's file mode mask is.
        fs::set_permissions(&home, Permissions::from_mode(0o755)).unwrap();
        symlink("real", dir.join("link")).unwrap();
        home
    }

    #[test]
    fn homes_are_found_behind_links() {
        let dir = tempfile::tempdir().unwrap();
        let home = make_home(dir.path());
        for name in [home.clone(), dir.path().join("link/user")] {
            let homes = Homes::of([name]);
            for inside in [
                "real/user",
                "real",
                "link",
                "link/user",
                "link/user/bin/..",
                ".",
            ] {
                assert!(homes.are_in(&dir.path().join(inside)), "{inside}");
            }
            let other = [home.join("bin"), home.join("bin/python3")];
            let around = [PathBuf::from("/"), home.clone(), home.join("none")];
            assert_eq!(homes.without([&other[..], &around].concat()), other);
        }
    }

    #[test]
    fn homes_are_those_of_all_users() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# none\nnis::::::\n\nu:x:1:1:U, V:/srv/u:\n";
        let found: Vec<PathBuf> = homes_of_users(users).collect();
        assert_eq!(found, ["/root", "/srv/u"].map(PathBuf::from));
        assert!(Homes::of_machine().are_in(Path::new("/")));
    }

    #[test]
    fn runtime_in_a_home_is_its_file_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = make_home(dir.path()).canonicalize().unwrap();
        let program = home.join("bin/python3");
        let environment = dir.path().join("python");
        symlink(&program, &environment).unwrap();
        for program_or_link in [&program, &environment] {
            let runtime = |homes: &[&Path]| {
                let homes = Homes::of(homes.iter().map(|home| (*home).to_owned()));
                runtime(program_or_link, &homes)
            };
            assert_eq!(runtime(&[]), Some(home.clone()));
            assert_eq!(runtime(&[dir.path()]), Some(home.clone()));
            assert_eq!(runtime(&[&home]), Some(program.clone()));
            assert_eq!(runtime(&[&home.join("bin")]), Some(program.clone()));
        }
    }
}
