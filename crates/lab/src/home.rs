//! Finds the folder with stacks and studies.

use std::path::{Path, PathBuf};

/// The checkout or installation that commute works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The folder with `stacks/` and `studies/`.
    pub root: PathBuf,
    /// The folder with the `commute` binary and the Rust drivers.
    pub bin: PathBuf,
}

/// No such folder was found.
#[derive(Debug, thiserror::Error)]
#[error(
    "no folder with `stacks/` at or above {start}: run inside a checkout of commute, or name it \
     with --home or COMMUTE_HOME"
)]
pub struct NoHome {
    start: String,
}

impl Home {
    /// Returns the named folder, or the nearest one at or above the working folder, then at or above
    /// the binary.
    pub fn find(named: Option<&Path>, cwd: &Path, exe: &Path) -> Result<Home, NoHome> {
        let bin = exe.parent().unwrap_or(Path::new("/")).to_owned();
        let starts = match named {
            Some(dir) => vec![dir],
            None => cwd.ancestors().chain(bin.ancestors()).collect(),
        };
        match starts.iter().find(|dir| dir.join("stacks").is_dir()) {
            Some(root) => Ok(Home {
                root: (*root).to_owned(),
                bin,
            }),
            None => Err(NoHome {
                start: named.unwrap_or(cwd).display().to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest_folder_with_stacks() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let exe = Path::new("/nowhere/bin/commute");
        let missing = Home::find(Some(&deep), &deep, exe).unwrap_err();
        assert!(missing.to_string().contains("COMMUTE_HOME"));
        std::fs::create_dir(dir.path().join("stacks")).unwrap();
        let home = Home::find(None, &deep, exe).unwrap();
        assert_eq!(home.root, dir.path());
        assert_eq!(home.bin, Path::new("/nowhere/bin"));
    }
}
