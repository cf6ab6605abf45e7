//! Where a run's records are: the argument of `--out`, `--resume` and of the verbs that read runs.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use object_store::path::Path;
use record::RecordName;
use url::Url;

use crate::error::RemoteError;

const SCHEMES: [&str; 4] = ["s3", "gs", "az", "file"];

/// A folder of this machine, or a prefix in a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A folder, named by its path.
    Folder(PathBuf),
    /// A prefix, named by its URL.
    Prefix(Prefix),
}

impl Location {
    /// Parses an argument: what contains `://` is a prefix, all else is a folder.
    pub fn parse(argument: OsString) -> Result<Self, RemoteError> {
        match argument.to_str() {
            Some(text) if text.contains("://") => Prefix::parse(text).map(Self::Prefix),
            _ => Ok(Self::Folder(argument.into())),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(dir) => dir.display().fmt(f),
            Self::Prefix(prefix) => prefix.fmt(f),
        }
    }
}

/// A prefix in a bucket, below which objects are. It holds no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Without a slash at its end.
    text: String,
    url: Url,
    path: Path,
}

impl Prefix {
    /// Parses the URL of a prefix, e.g. `s3://bucket/runs/monday`.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
        if !SCHEMES.contains(&scheme) {
            return Err(RemoteError::Scheme {
                scheme: scheme.to_owned(),
            });
        }
        let url = Url::parse(text).map_err(|_| RemoteError::Url {
            reason: "it is not a valid URL",
        })?;
        let wrong = |reason| Err(RemoteError::Url { reason });
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return wrong(
                "it must not have credentials or a query, which would be seen by all users of this machine; credentials \
                 come from the environment or from the machine's role",
            );
        }
        if url.fragment().is_some() {
            return wrong("it must not contain `#`");
        }
        match (scheme, url.host_str()) {
            ("file", None) if url.path() == "/" => return wrong("it names no folder"),
            ("file", None) => {}
            ("file", Some(_)) => return wrong("write file:///FOLDER, with three slashes"),
            (_, None | Some("")) => return wrong("it names no bucket"),
            _ => {}
        }
        // Not as it was typed: that may have `..`, which is resolved.
        let text = url.as_str().trim_end_matches('/').to_owned();
        let path = Path::from_url_path(url.path()).map_err(|_| RemoteError::Url {
            reason: "its path has an empty part, `.` or `..`",
        })?;
        Ok(Self { text, url, path })
    }

    /// Returns the prefix `below` this one.
    #[must_use]
    pub fn join(&self, below: &str) -> Self {
        let mut url = self.url.clone();
        url.set_path(&format!(
            "{}/{below}",
            self.url.path().trim_end_matches('/')
        ));
        Self {
            text: format!("{}/{below}", self.text),
            url,
            path: self.path.clone().join(below),
        }
    }

    /// Returns the name of a record below this prefix, for messages.
    pub(crate) fn object(&self, name: &RecordName) -> String {
        format!("{self}/{name}")
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_of_files(&self) -> bool {
        self.url.scheme() == "file"
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn prefixes_are_split_into_bucket_and_path() {
        for (text, shown, path) in [
            ("s3://bucket/a/b", "s3://bucket/a/b", "a/b"),
            ("s3://bucket/a/b/", "s3://bucket/a/b", "a/b"),
            ("s3://bucket", "s3://bucket", ""),
            ("gs://bucket/a", "gs://bucket/a", "a"),
            ("az://container/a", "az://container/a", "a"),
            ("s3://bucket/a/../b", "s3://bucket/b", "b"),
            ("file:///tmp/a%20b", "file:///tmp/a%20b", "tmp/a b"),
        ] {
            let prefix = Prefix::parse(text).unwrap();
            assert_eq!(prefix.to_string(), shown);
            assert_eq!(prefix.path().as_ref(), path);
            let shard = prefix.join("shard-1-of-2");
            assert_eq!(shard.to_string(), format!("{shown}/shard-1-of-2"));
            assert_eq!(Prefix::parse(&shard.to_string()).unwrap(), shard, "{text}");
        }
    }

    #[test]
    fn what_is_no_prefix_is_refused_without_quoting_it() {
        for text in [
            "https://key:hunter2@bucket/a",
            "hunter2://bucket/a?b",
            "s3://key:hunter2@bucket/a",
            "s3://hunter2@bucket/a",
            "az://container:hunter2@account/a",
            "az://hunter2@account/a",
            "file:///?hunter2",
            "file:///",
            "az://container/a?sig=hunter2",
            "s3://bucket/a#hunter2",
            "s3:///hunter2",
            "s3://bucket//hunter2",
            "file://hunter2/a",
            "s3://[hunter2",
        ] {
            let error = Prefix::parse(text).unwrap_err().to_string();
            let quotes_scheme = text.starts_with("hunter2");
            assert_eq!(error.contains("hunter2"), quotes_scheme, "{text}: {error}");
        }
    }

    #[test]
    fn all_else_is_a_folder() {
        for text in ["runs/a-1", "/tmp/a", "s3:/bucket", "a:b"] {
            let location = Location::parse(text.into()).unwrap();
            assert_eq!(location, Location::Folder(text.into()));
        }
    }
}
