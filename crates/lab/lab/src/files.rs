//! Files that a study or a network names: bodies of requests, networks, traces and certificate authorities.
//!
//! A study is data that a stranger may have written. It may name files below its own folder, after all links are
//! resolved, and those that its user allows ([`AllowedFiles`]). A file is opened once, and what was opened is checked:
//! between a check of a path and its use, a link could be put there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use study::{Study, Trust};

use crate::error::LabError;
use crate::toml_file;

/// What a certificate begins and ends with in PEM (RFC 7468 section 5.1).
const PEM_BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const PEM_END: &str = "-----END CERTIFICATE-----";
/// The system's authorities are some 200 kB.
const MAX_PEM_BYTES: u64 = 4 << 20;

/// The files outside its own folder that a study or a network may read.
#[derive(Debug, Default)]
pub struct AllowedFiles {
    /// Paths after all links.
    allowed: BTreeSet<PathBuf>,
    /// Those of them that were read.
    read: RefCell<BTreeSet<PathBuf>>,
}

impl AllowedFiles {
    /// Allows these files. Fails if one of them is none.
    pub fn new(files: &[PathBuf]) -> Result<AllowedFiles, LabError> {
        let real = |file: &PathBuf| {
            let opened = open_if(file, |_| Ok(()));
            let (_, path) = opened.map_err(|source| LabError::Read {
                path: file.clone(),
                source,
            })?;
            Ok(path)
        };
        Ok(AllowedFiles {
            allowed: files.iter().map(real).collect::<Result<_, LabError>>()?,
            read: RefCell::default(),
        })
    }

    /// Returns the files outside its folder that a study has read so far, by their paths after all links.
    pub fn read(&self) -> Vec<PathBuf> {
        self.read.borrow().iter().cloned().collect()
    }
}

/// Reads, parses and checks a study, with the files below its folder.
pub fn parse_study(file: &Path) -> Result<Study, LabError> {
    let none = AllowedFiles::default();
    let (text, opened) = toml_file::read(file, toml_file::Kind::Study)?;
    let scope = FileScope::of_file(Owner::Study, &opened, &none);
    let read = |path: &str, limit: u64| scope.read(path, limit);
    Ok(Study::parse_with(
        &file.display().to_string(),
        &text,
        &read,
    )?)
}

/// Whose files are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    Study,
    Network,
}

/// What a study or a network may read.
#[derive(Debug)]
pub(crate) struct FileScope<'a> {
    owner: Owner,
    /// The folder of its file after all links; none where it comes from a pipe, which is in no folder.
    folder: Option<PathBuf>,
    allowed: &'a AllowedFiles,
}

impl<'a> FileScope<'a> {
    /// Returns the scope of a file that is open.
    pub(crate) fn of_file(owner: Owner, file: &File, allowed: &'a AllowedFiles) -> Self {
        let folder = real_path(file).and_then(|path| Some(path.parent()?.to_owned()));
        Self {
            owner,
            folder,
            allowed,
        }
    }

    /// Returns the scope of a file that is not written yet, by the folder where it will be.
    pub(crate) fn of_folder(owner: Owner, folder: &Path, allowed: &'a AllowedFiles) -> Self {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        Self {
            owner,
            folder: folder.canonicalize().ok(),
            allowed,
        }
    }

    /// Reads at most `limit` + 1 bytes of a file, by its path relative to the folder.
    pub(crate) fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        read_to(self.open(name)?.0, limit)
    }

    /// Opens a file by its path relative to the folder, and returns its path after all links.
    pub(crate) fn open(&self, name: &str) -> io::Result<(File, PathBuf)> {
        let folder = self.folder.as_deref().unwrap_or(Path::new(""));
        self.open_from(folder, name)
    }

    /// Opens a file by its path relative to another folder. It must be in the scope all the same.
    pub(crate) fn open_from(&self, base: &Path, name: &str) -> io::Result<(File, PathBuf)> {
        open_if(&base.join(name), |path| self.check(path))
    }

    /// Checks that a file, by its path after all links, may be read.
    fn check(&self, path: &Path) -> io::Result<()> {
        if (self.folder.as_ref()).is_some_and(|folder| path.starts_with(folder)) {
            return Ok(());
        }
        if self.allowed.allowed.contains(path) {
            self.allowed.read.borrow_mut().insert(path.to_owned());
            return Ok(());
        }
        let owner = match self.owner {
            Owner::Study => "study",
            Owner::Network => "network",
        };
        let place = match &self.folder {
            Some(folder) => format!("outside the {owner}'s folder, {}", folder.display()),
            None => format!("in no folder of the {owner}, which comes from a pipe"),
        };
        let path = path.display();
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{path} is {place}; to let the {owner} read it, add --allow-file {path}"),
        ))
    }
}

/// Reads at most `limit` + 1 bytes of a regular file.
pub(crate) fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_to(open_if(path, |_| Ok(()))?.0, limit)
}

/// Reads at most `limit` + 1 bytes.
pub(crate) fn read_to(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    Ok(content)
}

/// Opens a regular file if `check` permits its path after all links, which is returned, too.
fn open_if(
    path: &Path,
    check: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<(File, PathBuf)> {
    // A handle that reads nothing: to open a pipe would wait for its writer, to open a device may already do something.
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mode = rustix::fs::fstat(&handle)?.st_mode;
    let path = fs::read_link(link_of(&handle))?;
    check(&path)?;
    if !FileType::from_raw_mode(mode).is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok((File::open(link_of(&handle))?, path))
}

/// Returns the path of an open file after all links; none where there is no such path, e.g. of a pipe.
fn real_path(file: &File) -> Option<PathBuf> {
    let path = fs::read_link(link_of(file)).ok()?;
    let (named, opened) = (path.metadata().ok()?, file.metadata().ok()?);
    // A file without a name has a link all the same: that of a memfd leads to the root folder.
    ((named.dev(), named.ino()) == (opened.dev(), opened.ino())).then_some(path)
}

/// Returns the kernel's link to an open file, which leads to it even where its path meanwhile leads elsewhere.
fn link_of(file: &impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// Returns the authorities with their file's content instead of its path.
pub(crate) fn read_trust(trust: &Trust, scope: &FileScope<'_>) -> Result<Trust, LabError> {
    let (path, content) = match trust {
        Trust::System | Trust::Pem(_) => return Ok(trust.clone()),
        Trust::OfStudy(name) => (name, scope.read(&name.to_string_lossy(), MAX_PEM_BYTES)),
        // The user may name a pipe.
        Trust::File(path) => (
            path,
            File::open(path).and_then(|file| read_to(file, MAX_PEM_BYTES)),
        ),
    };
    let content = content.map_err(|source| LabError::Read {
        path: path.clone(),
        source,
    })?;
    let pem = certificates(&String::from_utf8_lossy(&content));
    match pem.is_empty() {
        false => Ok(Trust::Pem(pem)),
        true => Err(LabError::Unreachable(format!(
            "{}: no certificate in PEM (`{PEM_BEGIN}`)",
            path.display()
        ))),
    }
}

/// Returns the certificates of a PEM file. Keys in it are left out: records and drivers get the authorities.
fn certificates(pem: &str) -> String {
    let mut found = String::new();
    for certificate in pem.split(PEM_BEGIN).skip(1) {
        // Whatever is wrong with one that has no end is for the client to say.
        let body = certificate.split("-----").next().unwrap_or_default();
        found += &format!("{PEM_BEGIN}{body}{PEM_END}\n");
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A study's folder beside a file of the user's.
    struct Files {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Files {
        fn new() -> Files {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            fs::create_dir_all(root.join("study/inner")).unwrap();
            for (file, text) in [
                ("study/study.toml", "study"),
                ("study/inner/body", "body"),
                ("study-2", "beside"),
                ("secret", "secret"),
            ] {
                fs::write(root.join(file), text).unwrap();
            }
            Files { _dir: dir, root }
        }

        fn read(&self, study: &str, allowed: &AllowedFiles, name: &str) -> Result<String, String> {
            let file = File::open(self.root.join(study)).unwrap();
            let scope = FileScope::of_file(Owner::Study, &file, allowed);
            let content = scope.read(name, 100).map_err(|e| e.to_string())?;
            Ok(String::from_utf8(content).unwrap())
        }
    }

    #[test]
    fn files_below_the_folder_are_read() {
        let files = Files::new();
        let links = files.root.join("study");
        symlink("inner/body", links.join("within")).unwrap();
        symlink(files.root.join("study/inner"), links.join("folder")).unwrap();
        let absolute = files.root.join("study/inner/body");
        for name in [
            "inner/body",
            "./inner/../inner/body",
            "../study/inner/body",
            "within",
            "folder/body",
            absolute.to_str().unwrap(),
        ] {
            let read = files.read("study/study.toml", &AllowedFiles::default(), name);
            assert_eq!(read, Ok("body".to_owned()), "{name}");
        }
    }

    #[test]
    fn files_elsewhere_are_read_only_if_allowed() {
        let files = Files::new();
        let links = files.root.join("study");
        symlink("../secret", links.join("link")).unwrap();
        symlink(&files.root, links.join("out")).unwrap();
        let secret = files.root.join("secret");
        let allowed = AllowedFiles::new(&[links.join("link")]).unwrap();
        for name in [
            "../secret",
            "link",
            "out/secret",
            "inner/../../secret",
            secret.to_str().unwrap(),
        ] {
            let refused = files.read("study/study.toml", &AllowedFiles::default(), name);
            let refused = refused.unwrap_err();
            let hint = format!("--allow-file {}", secret.display());
            assert!(refused.contains(&hint), "{name}: {refused}");
            let read = files.read("study/study.toml", &allowed, name);
            assert_eq!(read, Ok("secret".to_owned()), "{name}");
        }
        assert_eq!(allowed.read(), [secret]);
        // A folder whose name begins alike is another.
        for other in ["../study-2", "/etc/passwd"] {
            assert!(files.read("study/study.toml", &allowed, other).is_err());
        }
    }

    #[test]
    fn a_study_behind_a_link_has_the_folder_of_its_file() {
        let files = Files::new();
        symlink("study/study.toml", files.root.join("linked.toml")).unwrap();
        let none = AllowedFiles::default();
        let read = |name: &str| files.read("linked.toml", &none, name);
        assert_eq!(read("inner/body"), Ok("body".to_owned()));
        assert!(read("../secret").unwrap_err().contains("--allow-file"));
    }

    #[test]
    fn a_study_from_a_pipe_has_no_folder() {
        let files = Files::new();
        let (reader, _writer) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(reader));
        let memory = rustix::fs::memfd_create("study", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let secret = files.root.join("secret");
        for file in [pipe, File::from(memory)] {
            let allowed = AllowedFiles::default();
            let scope = FileScope::of_file(Owner::Study, &file, &allowed);
            let refused = scope.read(secret.to_str().unwrap(), 100).unwrap_err();
            assert!(refused.to_string().contains("from a pipe"), "{refused}");
        }
    }

    /// A device or a pipe may have no end, and whoever opens a pipe waits.
    #[test]
    fn only_regular_files_are_read() {
        let files = Files::new();
        let pipe = files.root.join("study/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let none = AllowedFiles::default();
        for name in ["pipe", "inner"] {
            let refused = files.read("study/study.toml", &none, name);
            assert_eq!(refused, Err("not a regular file".to_owned()), "{name}");
        }
        for path in [Path::new("/dev/zero"), &pipe] {
            assert!(read_file(path, 10).is_err());
            assert!(AllowedFiles::new(&[path.to_owned()]).is_err());
        }
        let refused = files.read("study/study.toml", &none, "/dev/zero");
        assert!(refused.unwrap_err().contains("outside the study's folder"));
    }

    #[test]
    fn of_a_pem_file_only_certificates_are_kept() {
        let one = format!("{PEM_BEGIN}\nMIIB\n{PEM_END}\n");
        let key = "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n";
        assert_eq!(
            certificates(&format!("{key}{one}# text\n{key}{one}{key}")),
            format!("{one}{one}")
        );
        assert_eq!(certificates(key), "");
        assert_eq!(
            certificates(&format!("{PEM_BEGIN}\nMIIB{key}")),
            format!("{PEM_BEGIN}\nMIIB{PEM_END}\n")
        );
    }
}
