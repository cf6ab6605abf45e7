//! A `curl` command line, as browsers write it with "copy as cURL" and people by hand.

mod options;
mod url;
mod words;

use http::Method;

use crate::notes::Notes;
use crate::seen::{ASSUMED_BYTES, Body, FORM, Head, Seen};
use options::{IGNORED_FLAGS, LEFT_OUT_WITH_VALUE, MAKES_BODY, takes_value, whole};
use url::{url_encoded, with_query, without_glob};

/// Why a command cannot become a study.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CurlError {
    /// It cannot be split into words.
    #[error("the command's quotes do not match; copy it as for a POSIX shell (bash)")]
    Quotes,
    /// It has no URL.
    #[error("the command has no URL; write e.g. --curl 'curl https://app.example/orders'")]
    NoUrl,
    /// It has several URLs, or is more than one command.
    #[error("the command has more than one URL, {first} and {second}; give one request")]
    TwoUrls {
        /// The first.
        first: String,
        /// The second, or what follows the first.
        second: String,
    },
    /// Its URL is a pattern.
    #[error(
        "curl makes several requests of {0} in the URL; give the URL of one, or --globoff if that is part of it"
    )]
    Glob(String),
    /// An option is not known, or cannot be taken over.
    #[error("curl's option {0} cannot be taken over; leave it out")]
    Option(String),
    /// An option makes a body that only curl can make.
    #[error(
        "a study states the body that {0} makes by its size: write -X POST --data-binary @FILE instead, with \
         -H 'content-type: multipart/form-data' if it is a form, where FILE has as many bytes"
    )]
    BodyOption(String),
    /// It is no command for a POSIX shell.
    #[error("this is {0}; copy the request as \"cURL (bash)\"")]
    Shell(&'static str),
    /// Its body follows the command.
    #[error(
        "the body is in a here-document (<<), which cannot be read; put it in a file, and write --data @FILE"
    )]
    HereDocument,
    /// An option lacks its value.
    #[error("curl's option {0} needs a value")]
    NoValue(String),
    /// A file that the command names cannot be read.
    #[error("{option} @{file}: {reason}")]
    File {
        /// The option.
        option: String,
        /// The file.
        file: String,
        /// Why not.
        reason: String,
    },
    /// No study can send the request.
    #[error("{0}")]
    Request(String),
}

/// A command, word by word.
#[derive(Default)]
struct Command {
    url: Option<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    data: Option<Vec<u8>>,
    is_json: bool,
    data_in_query: bool,
    /// What goes to the query, unless the data do.
    url_query: Option<Vec<u8>>,
    /// Braces and brackets in the URL are part of it.
    globoff: bool,
}

/// Reads a command.
pub(crate) fn read(
    command: &str,
    keep_values: bool,
    read_file: &dyn Fn(&str) -> Result<Vec<u8>, String>,
    notes: &mut Notes,
) -> Result<Seen, CurlError> {
    let command = words::first_command(command)?;
    let words = words::split(&command).ok_or(CurlError::Quotes)?;
    let command = Command::parse(words, read_file, notes)?;
    command.seen(keep_values, notes)
}

impl Command {
    fn parse(
        words: Vec<String>,
        read_file: &dyn Fn(&str) -> Result<Vec<u8>, String>,
        notes: &mut Notes,
    ) -> Result<Command, CurlError> {
        let mut command = Command::default();
        // What a shell shows before a command, and variables that are set for it.
        let is_before =
            |word: &String| matches!(word.as_str(), "$" | "#" | "%") || is_assignment(word);
        let begin = words.iter().position(|word| !is_before(word)).unwrap_or(0);
        let begin = if words.get(begin).is_some_and(|word| word == "curl") {
            begin
        } else {
            0
        };
        let mut words = words.into_iter().skip(begin).peekable();
        words.next_if(|word| word == "curl");
        while let Some(word) = words.next() {
            let (option, attached) = match word.as_str() {
                // No option follows.
                "--" => {
                    words.try_for_each(|url| command.add_url(url))?;
                    break;
                }
                long if long.starts_with("--") => match long.split_once('=') {
                    Some((option, value)) => (whole(option), Some(value.to_owned())),
                    None => (whole(long), None),
                },
                "-" => return Err(CurlError::Option(word)),
                // `-sSXPOST`: flags, then an option with the rest as its value.
                short if short.starts_with('-') => match command.short_options(short)? {
                    Some((option, rest)) => (option, (!rest.is_empty()).then_some(rest)),
                    None => continue,
                },
                _ => {
                    command.add_url(word)?;
                    continue;
                }
            };
            if command.flag(&option) {
                continue;
            }
            if MAKES_BODY.contains(&option.as_str()) {
                return Err(CurlError::BodyOption(option));
            }
            if !takes_value(&option) {
                return Err(CurlError::Option(option));
            }
            let value = match attached.or_else(|| words.next()) {
                Some(value) => value,
                None => return Err(CurlError::NoValue(option)),
            };
            command.option(&option, value, read_file, notes)?;
        }
        Ok(command)
    }

    /// Takes short flags. Returns the option with a value that ends them, and the rest of the word.
    fn short_options(&mut self, word: &str) -> Result<Option<(String, String)>, CurlError> {
        for (at, letter) in word.char_indices().skip(1) {
            let option = format!("-{letter}");
            if takes_value(&option) || MAKES_BODY.contains(&option.as_str()) {
                return Ok(Some((option, word[at + letter.len_utf8()..].to_owned())));
            }
            if !self.flag(&option) {
                return Err(CurlError::Option(option));
            }
        }
        Ok(None)
    }

    /// Takes an option without a value; returns whether it is one.
    fn flag(&mut self, option: &str) -> bool {
        match option {
            "-G" | "--get" => self.data_in_query = true,
            "-g" | "--globoff" => self.globoff = true,
            other => {
                let positive = other.strip_prefix("--no-").map(|rest| format!("--{rest}"));
                return IGNORED_FLAGS.contains(&other)
                    || positive.is_some_and(|flag| IGNORED_FLAGS.contains(&flag.as_str()));
            }
        }
        true
    }

    fn option(
        &mut self,
        option: &str,
        value: String,
        read_file: &dyn Fn(&str) -> Result<Vec<u8>, String>,
        notes: &mut Notes,
    ) -> Result<(), CurlError> {
        let content = |value: &str| match value.strip_prefix('@') {
            Some(file) => read_file(file).map_err(|reason| CurlError::File {
                option: option.to_owned(),
                file: file.to_owned(),
                reason,
            }),
            None => Ok(value.as_bytes().to_vec()),
        };
        match option {
            "-X" | "--request" => self.method = Some(value),
            "--url" => self.add_url(value)?,
            "-A" | "--user-agent" => self.headers.push(("user-agent".to_owned(), value)),
            "-H" | "--header" => {
                let fields = content(&value)?;
                for field in String::from_utf8_lossy(&fields).split(['\r', '\n']) {
                    // `name;` is a field without a value, `name:` one that curl leaves out.
                    if let Some((name, value)) = field.split_once(':')
                        && !value.trim().is_empty()
                    {
                        self.headers
                            .push((name.trim().to_owned(), value.trim().to_owned()));
                    }
                }
            }
            "--data-raw" => append(&mut self.data, "&", &value.into_bytes()),
            "--data-binary" => append(&mut self.data, "&", &content(&value)?),
            "-d" | "--data" | "--data-ascii" => {
                let mut data = content(&value)?;
                if value.starts_with('@') {
                    data.retain(|b| !b"\r\n\0".contains(b));
                }
                append(&mut self.data, "&", &data);
            }
            "--data-urlencode" => append(&mut self.data, "&", &url_encoded(&value, content)?),
            "--url-query" => {
                // A plus says that it is encoded already.
                let part = match value.strip_prefix('+') {
                    Some(plain) => plain.as_bytes().to_vec(),
                    None => url_encoded(&value, content)?,
                };
                append(&mut self.url_query, "&", &part);
            }
            "--json" => {
                append(&mut self.data, "", &content(&value)?);
                self.is_json = true;
            }
            credential if LEFT_OUT_WITH_VALUE.contains(&credential) => {
                notes.left_out(format!("the credentials of {credential}"));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_url(&mut self, url: String) -> Result<(), CurlError> {
        match self.url.replace(url.clone()) {
            None => Ok(()),
            Some(first) => Err(CurlError::TwoUrls { first, second: url }),
        }
    }

    fn seen(self, keep_values: bool, notes: &mut Notes) -> Result<Seen, CurlError> {
        let mut url = self.url.ok_or(CurlError::NoUrl)?;
        if !url.contains("://") {
            url.insert_str(0, "http://");
        }
        if !self.globoff {
            url = without_glob(&url).map_err(CurlError::Glob)?;
        }
        let mut data = self.data;
        let of_data = data.take_if(|_| self.data_in_query);
        if let Some(part) = of_data.or(self.url_query) {
            url = with_query(&url, &String::from_utf8_lossy(&part));
        }
        let by_default = match data {
            Some(_) => "POST",
            None => "GET",
        };
        let named = |name: &str| {
            let mut fields = self.headers.iter();
            fields
                .find(|(n, _)| n.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.as_str())
        };
        let media_type = named("content-type").or(match self.is_json {
            true => Some("application/json"),
            false => Some(FORM),
        });
        let mut headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        if self.is_json && named("accept").is_none() {
            headers.push(("accept", "application/json"));
        }
        let head = Head {
            method: self.method.as_deref().unwrap_or(by_default),
            url: &url,
            headers,
            content_type: data.is_some().then_some(media_type).flatten(),
            body: data
                .as_deref()
                .and_then(|data| std::str::from_utf8(data).ok()),
        };
        let refuse =
            |reason| CurlError::Request(format!("no study can send the request: {reason}"));
        let head = head.plain(keep_values, notes).map_err(refuse)?;
        if data.is_some() && matches!(head.method, Method::GET | Method::DELETE) {
            data = None;
            notes.left_out(format!("the body of a {}", head.method));
        }
        let request = match data {
            Some(data) => match std::str::from_utf8(&data) {
                Ok(text) => Body::of_request(text, media_type, keep_values, notes),
                Err(_) => Body::of_bytes(data.len() as u64, media_type),
            },
            None => Body::default(),
        };
        notes.remark(format!(
            "the command does not show the response; {ASSUMED_BYTES} bytes of JSON are assumed: \
             change `response_bytes`"
        ));
        Ok(Seen {
            request,
            response: Body::assumed(Some("application/json")),
            ..head
        })
    }
}

/// Reports whether a word sets a variable.
fn is_assignment(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = word.split_once('=').map_or("", |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_part)
}

/// Appends a part, after a separator if it is not the first.
fn append(whole: &mut Option<Vec<u8>>, separator: &str, part: &[u8]) {
    match whole {
        None => *whole = Some(part.to_vec()),
        Some(whole) => {
            whole.extend(separator.as_bytes());
            whole.extend(part);
        }
    }
}

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
