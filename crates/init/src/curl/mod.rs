//! A `curl` command line, as browsers write it with "copy as cURL" and people by hand.

mod options;
mod words;

use http::Method;

use crate::notes::Notes;
use crate::seen::{Body, Head, Seen};
use options::{IGNORED_FLAGS, LEFT_OUT_WITH_VALUE, takes_value};

/// What is assumed of a response that nobody has seen.
const ASSUMED_RESPONSE_BYTES: u64 = 2000;
const FORM: &str = "application/x-www-form-urlencoded";

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
    /// An option is not known, or cannot be taken over.
    #[error("curl's option {0} cannot be taken over; leave it out")]
    Option(String),
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
    /// Parts are joined by `&`.
    data: Vec<Vec<u8>>,
    is_json: bool,
    data_in_query: bool,
}

/// Reads a command.
pub(crate) fn read(
    command: &str,
    keep_values: bool,
    read_file: &dyn Fn(&str) -> Result<Vec<u8>, String>,
    notes: &mut Notes,
) -> Result<Seen, CurlError> {
    let command = Command::parse(
        words::split(command).ok_or(CurlError::Quotes)?,
        read_file,
        notes,
    )?;
    command.seen(keep_values, notes)
}

impl Command {
    fn parse(
        words: Vec<String>,
        read_file: &dyn Fn(&str) -> Result<Vec<u8>, String>,
        notes: &mut Notes,
    ) -> Result<Command, CurlError> {
        let mut command = Command::default();
        let mut words = words.into_iter().peekable();
        words.next_if(|word| word == "curl");
        while let Some(word) = words.next() {
            let (option, attached) = match word.as_str() {
                long if long.starts_with("--") => match long.split_once('=') {
                    Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
                    None => (word, None),
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

    /// Takes short flags. Returns the option with a value that ends them, and what follows it.
    fn short_options(&mut self, word: &str) -> Result<Option<(String, String)>, CurlError> {
        for (at, letter) in word.char_indices().skip(1) {
            let option = format!("-{letter}");
            if takes_value(&option) {
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
            other => return IGNORED_FLAGS.contains(&other),
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
                // `name;` is a field without a value, `name:` one that curl leaves out.
                if let Some((name, value)) = value.split_once(':')
                    && !value.trim().is_empty()
                {
                    self.headers
                        .push((name.trim().to_owned(), value.trim().to_owned()));
                }
            }
            "--data-raw" => self.data.push(value.into_bytes()),
            "--data-binary" => self.data.push(content(&value)?),
            "-d" | "--data" | "--data-ascii" => {
                let mut data = content(&value)?;
                if value.starts_with('@') {
                    data.retain(|b| !b"\r\n\0".contains(b));
                }
                self.data.push(data);
            }
            "--json" => {
                self.data.push(content(&value)?);
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
        // `--json` is data without a separator.
        let separator: &[u8] = if self.is_json { b"" } else { b"&" };
        let mut data = (!self.data.is_empty()).then(|| self.data.join(separator));
        if self.data_in_query
            && let Some(data) = data.take()
        {
            let begin = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{begin}{}", String::from_utf8_lossy(&data));
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
                Ok(text) => Body::of_text(text, media_type, keep_values, notes),
                Err(_) => Body::of_bytes(data.len() as u64, media_type),
            },
            None => Body::default(),
        };
        notes.remark(format!(
            "the command does not tell the response; {ASSUMED_RESPONSE_BYTES} bytes of JSON are assumed: \
             change `response_bytes`"
        ));
        Ok(Seen {
            start_ns: 0,
            end_ns: 0,
            origin: head.origin,
            connection: None,
            method: head.method,
            path: head.path,
            headers: head.headers,
            request,
            response: Body::of_bytes(ASSUMED_RESPONSE_BYTES, Some("application/json")),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(command: &str) -> Result<Seen, CurlError> {
        let file = |name: &str| match name {
            "body.json" => Ok(b"{\"a\":\n1}".to_vec()),
            _ => Err("there is no such file".to_owned()),
        };
        read(command, true, &file, &mut Notes::default())
    }

    #[test]
    fn a_command_of_a_browser_is_read() {
        let seen = parse(
            "curl 'https://app.example/v1/orders?page=2' \\\n  -H 'accept: application/json' \\\n  \
             -H 'content-type: application/json; charset=utf-8' \\\n  -b 'id=1' \\\n  \
             --data-raw $'{\"note\":\"it\\'s\\u0021\\\\n\"}' --compressed",
        )
        .unwrap();
        assert_eq!(
            (seen.method.as_str(), seen.path.as_str()),
            ("POST", "/v1/orders?page=x")
        );
        assert_eq!(seen.origin, "https://app.example:443");
        assert_eq!(
            seen.headers,
            [("accept".to_owned(), "application/json".to_owned())]
        );
        assert_eq!(
            seen.request.content_type.as_deref(),
            Some("application/json")
        );
        let body = r#"{"note":"it's!\n"}"#;
        assert_eq!(seen.request.json.as_deref(), Some(body));
        assert_eq!(seen.request.bytes, body.len() as u64);
    }

    #[test]
    fn methods_and_bodies_follow_curl() {
        for (command, method, path, bytes) in [
            ("app.example/a", "GET", "/a", 0),
            (
                "curl -sSXPUT -d a=1 -db=2 http://app.example",
                "PUT",
                "/",
                7,
            ),
            (
                "curl --request=DELETE --url http://app.example/x",
                "DELETE",
                "/x",
                0,
            ),
            (
                "curl -G -d q=abc http://app.example/x",
                "GET",
                "/x?q=xxx",
                0,
            ),
            ("curl -d @body.json http://app.example/x", "POST", "/x", 7),
            (
                "curl --data-binary @body.json http://app.example/x",
                "POST",
                "/x",
                8,
            ),
            (
                "curl --json @body.json http://app.example/x",
                "POST",
                "/x",
                8,
            ),
        ] {
            let seen = parse(command).unwrap_or_else(|e| panic!("{command}: {e}"));
            let got = (seen.method.as_str(), seen.path.as_str(), seen.request.bytes);
            assert_eq!(got, (method, path, bytes), "{command}");
        }
        let form = parse("curl -d a=1 http://app.example").unwrap().request;
        assert_eq!(
            (form.content_type.as_deref(), form.json),
            (Some(FORM), None)
        );
        let json = parse("curl --json @body.json http://app.example").unwrap();
        assert!(json.request.json.is_some());
        assert_eq!(
            json.headers,
            [("accept".to_owned(), "application/json".to_owned())]
        );
    }

    #[test]
    fn what_cannot_be_taken_over_is_named() {
        for (command, error) in [
            ("curl", "the command has no URL"),
            ("curl 'http://a", "quotes do not match"),
            ("curl $'http://a", "quotes do not match"),
            (
                "curl http://a http://b",
                "more than one URL, http://a and http://b",
            ),
            (
                "curl -F a=b http://a",
                "curl's option -F cannot be taken over",
            ),
            (
                "curl -sF a=b http://a",
                "curl's option -F cannot be taken over",
            ),
            (
                "curl --upload-file x http://a",
                "curl's option --upload-file cannot",
            ),
            ("curl http://a -H", "curl's option -H needs a value"),
            ("curl -d @none http://a", "-d @none: there is no such file"),
            ("curl -I http://a", "curl's option -I cannot be taken over"),
            ("curl -X BREW http://a", "its method is none of GET"),
            ("curl ftp://a", "not one of http or https"),
            ("curl 'http://a b'", "its URL cannot be parsed"),
        ] {
            let got = parse(command).unwrap_err().to_string();
            assert!(got.contains(error), "{command}: {got}");
        }
    }

    #[test]
    fn credentials_are_left_out() {
        let mut notes = Notes::default();
        let command = "curl -u jo:secret -b id=1 -H 'Authorization: Bearer x' http://a";
        let seen = read(command, true, &|_| Err(String::new()), &mut notes).unwrap();
        assert_eq!(seen.headers, []);
        let lines = notes.lines().join("\n");
        for left_out in ["-u", "-b", "authorization"] {
            assert!(lines.contains(left_out), "{lines}");
        }
    }

    proptest! {
        #[test]
        fn any_command_is_read_or_refused(command in "(curl )?[-$'\"\\\\ a-zHXd@:/.=\\n]{0,60}") {
            drop(parse(&command));
        }
    }
}
