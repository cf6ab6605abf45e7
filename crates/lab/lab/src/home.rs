//! Finds the folder with stacks and studies.

use std::path::{Path, PathBuf};

/// Every checkout has it, and hardly any other folder with `stacks/`.
const MARK: &str = "stacks/rust/stack.toml";
/// Where cargo puts the binaries that it builds in a checkout.
const BUILD_FOLDER: &str = "target";

/// The files that commute works with: a checkout's, or those that the binary has unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The folder with `stacks/` and `studies/`.
    pub root: PathBuf,
    /// The `commute` binary, which is also the Rust drivers, the server and the init of benches.
    pub commute: PathBuf,
}

/// The named folder is not a home.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} has no folder `stacks/`: name a checkout of commute with --home or COMMUTE_HOME, or leave \
     them out"
)]
pub struct NoHome(String);

/// No built-in study has this name.
#[derive(Debug, thiserror::Error)]
#[error("no study is named `{name}`{hint}; known: {known}; the name of a file ends in .toml")]
pub struct UnknownStudy {
    name: String,
    /// " (did you mean ...?)" with the nearest name, or empty.
    hint: String,
    known: String,
}

impl Home {
    /// Returns the home in this folder.
    pub fn named(root: &Path, commute: PathBuf) -> Result<Home, NoHome> {
        let no_home = || NoHome(root.display().to_string());
        // Drivers start in folders of their own, where a relative path leads nowhere.
        let root = root.canonicalize().map_err(|_| no_home())?;
        match root.join("stacks").is_dir() {
            true => Ok(Home { root, commute }),
            false => Err(no_home()),
        }
    }

    /// Returns the checkout that the binary was built in: the one below whose `target/` the binary is.
    ///
    /// Others around the binary or the working folder do not count. Either may be in a stranger's repository, and stacks
    /// are programs.
    pub fn of_binary(commute: &Path) -> Option<Home> {
        let was_built_in = |root: &&Path| commute.starts_with(root.join(BUILD_FOLDER));
        let root = checkouts_above(commute).find(was_built_in)?.to_owned();
        let commute = commute.to_owned();
        Some(Home { root, commute })
    }

    /// Returns a checkout around the working folder or the binary that is not this home. All paths are canonical.
    pub fn unused_checkout<'a>(&'a self, cwd: &'a Path) -> Option<&'a Path> {
        let nearest = [cwd, self.commute.as_path()].map(|path| checkouts_above(path).next());
        nearest
            .into_iter()
            .flatten()
            .find(|root| *root != self.root)
    }

    /// Returns the file of a study: `study` itself if it is a path or ends in `.toml`, otherwise the
    /// built-in study of that name.
    pub fn study(&self, study: &Path) -> Result<PathBuf, UnknownStudy> {
        let is_file = study.extension().is_some_and(|end| end == "toml");
        if is_file || study.components().count() > 1 {
            return Ok(study.to_owned());
        }
        let name = study.display().to_string();
        let file = self.root.join("studies").join(format!("{name}.toml"));
        if file.is_file() {
            return Ok(file);
        }
        let known = self.studies();
        Err(UnknownStudy {
            hint: config::did_you_mean(&name, known.iter().map(String::as_str)),
            known: known.join(", "),
            name,
        })
    }

    /// Returns the names of the built-in studies, sorted.
    pub fn studies(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.root.join("studies"));
        let paths = files
            .into_iter()
            .flatten()
            .flatten()
            .map(|file| file.path());
        let mut names: Vec<String> = paths
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        names
    }
}

/// Returns the checkouts at or above a path, the nearest first.
fn checkouts_above(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().filter(|dir| dir.join(MARK).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMUTE: &str = "/nowhere/bin/commute";

    fn make_checkout(root: &Path) {
        std::fs::create_dir_all(root.join("stacks/rust")).unwrap();
        std::fs::write(root.join(MARK), "").unwrap();
    }

    #[test]
    fn finds_the_checkout_of_the_binary_only() {
        let dir = tempfile::tempdir().unwrap();
        let (own, other) = (dir.path().join("own"), dir.path().join("other"));
        let commute = own.join("target/debug/commute");
        let deep = other.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        // Many projects have a folder of this name.
        std::fs::create_dir_all(own.join("stacks/rust")).unwrap();
        assert_eq!(Home::of_binary(&commute), None);
        make_checkout(&own);
        make_checkout(&other);
        let home = Home::of_binary(&commute).unwrap();
        assert_eq!((&home.root, &home.commute), (&own, &commute));
        assert_eq!(home.unused_checkout(&deep), Some(&*other));
        assert_eq!(home.unused_checkout(&own.join("studies")), None);
        assert_eq!(home.unused_checkout(dir.path()), None);
    }

    #[test]
    fn binaries_put_into_a_checkout_do_not_use_it() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        let stranger = own.join("target/tmp/stranger");
        make_checkout(&own);
        for place in [
            "commute",
            "bin/commute",
            "targets/commute",
            "a/target/commute",
        ] {
            let commute = own.join(place);
            assert_eq!(Home::of_binary(&commute), None, "{place}");
            let root = dir.path().join("unpacked");
            let home = Home { root, commute };
            assert_eq!(home.unused_checkout(dir.path()), Some(&*own), "{place}");
        }
        make_checkout(&stranger);
        let home = Home::of_binary(&stranger.join("commute")).unwrap();
        assert_eq!(home.root, own);
        assert_eq!(home.unused_checkout(&own), Some(&*stranger));
    }

    #[test]
    fn named_folders_must_have_stacks() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let named = |root: &Path| Home::named(root, COMMUTE.into());
        assert!(
            named(&dir)
                .unwrap_err()
                .to_string()
                .contains("COMMUTE_HOME")
        );
        assert!(named(&dir.join("none")).is_err());
        std::fs::create_dir(dir.join("stacks")).unwrap();
        assert_eq!(named(&dir).unwrap().root, dir);
        assert_eq!(named(&dir.join("stacks/..")).unwrap().root, dir);
    }

    #[test]
    fn studies_are_named_or_files() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home {
            root: dir.path().to_owned(),
            commute: COMMUTE.into(),
        };
        let study = |name: &str| home.study(Path::new(name)).map_err(|e| e.to_string());
        let folder = dir.path().join("studies");
        std::fs::create_dir(&folder).unwrap();
        for name in ["apps.toml", "quickstart.toml", "README.md"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(study("quickstart"), Ok(folder.join("quickstart.toml")));
        assert_eq!(study("mine.toml"), Ok("mine.toml".into()));
        assert_eq!(study("/dev/fd/63"), Ok("/dev/fd/63".into()));
        assert_eq!(
            study("quikstart").unwrap_err(),
            "no study is named `quikstart` (did you mean `quickstart`?); known: apps, quickstart; the \
             name of a file ends in .toml"
        );
    }
}
