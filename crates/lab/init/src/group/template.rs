//! The template of a path: what the paths of requests of one kind have in common.

use crate::seen::Seen;

/// The path without what differs between requests of one kind.
pub(super) struct PathTemplate {
    pub(super) path: String,
    /// The names of the query's parameters.
    query: Vec<String>,
}

impl std::fmt::Display for PathTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}?{}", self.path, self.query.join("&"))
    }
}

impl PathTemplate {
    /// Returns the template's path with the query of this request.
    pub(super) fn path_with_query(&self, request: &Seen) -> String {
        match request.path.split_once('?') {
            Some((_, query)) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }
}

pub(super) fn template(request: &Seen) -> PathTemplate {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let is_data = request.response.json.is_some() || request.response.is_packed;
    let path = match file.rsplit_once('.') {
        // Images, styles and scripts of one folder are one group, whatever their names.
        Some((_, extension)) if !is_data && is_static(extension) => {
            format!("{folder}/file.{extension}")
        }
        _ => path.to_owned(),
    };
    let name = |part: &str| match part.split_once('=') {
        Some((name, _)) => format!("{name}="),
        // What has no name is x, of any length.
        None if part.bytes().all(|b| b == b'x') => "x".to_owned(),
        None => part.to_owned(),
    };
    PathTemplate {
        path,
        query: query.split('&').map(name).collect(),
    }
}

/// Reports whether a file with this extension is served as it is stored. `.do`, `.php` and `.aspx` are programs.
fn is_static(extension: &str) -> bool {
    const STATIC: &[&str] = &[
        "aac",
        "avif",
        "bin",
        "bmp",
        "bundle",
        "css",
        "csv",
        "cur",
        "eot",
        "flac",
        "gif",
        "glb",
        "gltf",
        "gz",
        "heic",
        "ico",
        "jpeg",
        "jpg",
        "js",
        "jxl",
        "ktx2",
        "m3u8",
        "m4a",
        "m4s",
        "map",
        "md",
        "mjs",
        "mov",
        "mp3",
        "mp4",
        "mpd",
        "oga",
        "ogg",
        "ogv",
        "opus",
        "otf",
        "pbf",
        "pdf",
        "png",
        "svg",
        "ts",
        "ttf",
        "txt",
        "unity3d",
        "vtt",
        "wasm",
        "wav",
        "webm",
        "webmanifest",
        "webp",
        "woff",
        "woff2",
        "zip",
    ];
    STATIC.contains(&extension.to_ascii_lowercase().as_str())
}
