//! The fixture, and copies of it to make mistakes in.

use std::fs;
use std::path::{Path, PathBuf};

use findings::{FindingsError, build};

/// Returns the folder of a made-up study with a small real run, and of one that was not run.
pub(crate) fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/findings")
}

/// A copy of the fixture to make mistakes in.
pub(crate) struct Copy(pub(crate) tempfile::TempDir);

impl Copy {
    pub(crate) fn new() -> Copy {
        let copy = Copy(tempfile::tempdir().unwrap());
        for file in [
            "published/made-up.csv",
            "published/waiting.csv",
            "made-up/claims.toml",
            "made-up/made-up.json",
            "made-up/made-up.csv",
            "made-up/codec.json",
            "waiting/claims.toml",
            "figures.md",
            "front.toml",
        ] {
            let to = copy.0.path().join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(fixture().join(file), to).unwrap();
        }
        copy
    }

    /// Replaces a text in a file, once.
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) -> &Copy {
        let path = self.0.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        self
    }

    /// Writes the claims of a study that answers others without any published figure.
    pub(crate) fn write_study_without_figures(&self, name: &str) {
        let root = self.0.path();
        let figures = fs::read_to_string(root.join("published/made-up.csv")).unwrap();
        let (header, _) = figures.split_once('\n').unwrap();
        fs::write(
            root.join(format!("published/{name}.csv")),
            format!("{header}\n"),
        )
        .unwrap();
        let claims = "title = \"Servers?\"\nstudy = \"a paper\"\nlink = \"https://example.org\"\n\
                      runs = [\"made-up\"]\n[[claim]]\nsays = \"a\"\nbecause = \"b\"\nchanges = \"c\"\n";
        fs::write(root.join(name).join("claims.toml"), claims).unwrap();
    }

    pub(crate) fn error(&self) -> String {
        match build(self.0.path()).unwrap_err() {
            // Without the column and the line that is shown.
            FindingsError::Claims(e) => format!("{}:{}: {}", e.file, e.line, e.message),
            other => other.to_string(),
        }
    }

    pub(crate) fn page(&self) -> String {
        build(self.0.path()).unwrap()[Path::new("made-up/README.md")].clone()
    }
}
