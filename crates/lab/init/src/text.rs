//! The text of a study, with comments.

use crate::group::{self, Group, Grouped, Origin};
use crate::notes::Notes;
use crate::seen::{Body, Seen};
use crate::workload::{self, Step, Times};
use crate::{Arms, Options, Scope, Written};

/// Everything above the arms, but the name.
const HEAD: &str = include_str!("head.toml");
/// The workload of the template.
const EXAMPLE: &str = include_str!("example.toml");

pub(crate) fn template(name: &str, arms: Arms) -> String {
    format!(
        "{}\n{EXAMPLE}",
        head(name, "A study is one question.", arms, Scope::FULL)
    )
}

/// Returns the study of these requests, which are in order of their starts. Returns the reasons if none can be sent.
pub(crate) fn study(
    from: &str,
    seen: &[Seen],
    options: &Options<'_>,
    notes: Notes,
) -> Result<Written, Vec<String>> {
    written(from, seen, None, options, notes)
}

/// Returns the study of the requests that went to this server, for a run against it.
pub(crate) fn study_of_server(
    server: &str,
    from: &str,
    mut seen: Vec<Seen>,
    options: &Options<'_>,
    mut notes: Notes,
) -> Result<Written, Vec<String>> {
    seen.retain(|request| {
        let is_there = request.origin == server;
        if !is_there {
            notes.left_out(format!("a request to {}", request.origin));
        }
        is_there
    });
    if seen.is_empty() {
        return Err(notes.lines());
    }
    notes.remark(
        "credentials were left out, as far as their names tell: add those that your server asks for, e.g. \
         headers = { authorization = \"Bearer ...\" }",
    );
    written(from, &seen, Some(server), options, notes)
}

fn written(
    from: &str,
    seen: &[Seen],
    server: Option<&str>,
    options: &Options<'_>,
    mut notes: Notes,
) -> Result<Written, Vec<String>> {
    let Grouped {
        groups,
        origins,
        group_of,
    } = group::group(seen, server.is_some(), options.origin, &mut notes);
    if groups.is_empty() {
        return Err(notes.lines());
    }
    let packed = groups
        .iter()
        .filter(|group| group.typical.response.is_packed);
    let packed: Vec<&str> = packed.map(|group| group.name.as_str()).collect();
    if server.is_none() && !packed.is_empty() {
        notes.remark(format!(
            "the JSON of {} came compressed, and has that length in the study; `commute codec` compares codecs on the \
             decoded JSON",
            packed.join(", ")
        ));
    }
    let steps = workload::steps(seen, &group_of, &mut notes);
    let requests: u64 = groups.iter().map(|group| group.times).sum();
    let about = format!(
        "Written from {from}: {requests} request{} in {} group{}.",
        plural(requests),
        groups.len(),
        plural(groups.len() as u64)
    );
    let mut study = head(options.name, &about, options.arms, options.scope);
    study += &server.map_or_else(|| origins_table(&origins), server_table);
    study += "\n# What the app does, in order. Requests that overlapped are made all at once.\n";
    let mut writer = Writer {
        groups: &groups,
        folder: options.folder,
        has_responses: server.is_none(),
        files: Vec::new(),
        explained: vec![false; groups.len()],
    };
    for step in &steps {
        study += &writer.step(step);
    }
    let files = writer.files;
    Ok(Written {
        study,
        files,
        notes: notes.lines(),
        values: notes.values(),
    })
}

/// Returns the study's text above its workload.
fn head(name: &str, about: &str, arms: Arms, scope: Scope) -> String {
    let head = HEAD
        .replace("NETWORKS", &format!("{:?}", scope.networks))
        .replace("BLOCKS", &scope.blocks.to_string());
    let arms = match arms {
        Arms::Apps => include_str!("apps.toml"),
        Arms::BuiltIn => include_str!("built_in.toml"),
    };
    let about = neutral::plain(about);
    format!(
        "# {about}\n\
         # Every key is in docs/reference/studies.md. `commute run FILE --dry-run` checks this file and estimates the\n\
         # time, `commute run FILE` measures.\n\
         name = {}\n{head}{arms}",
        string(name)
    )
}

fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn origins_table(origins: &[Origin]) -> String {
    if origins.is_empty() {
        return String::new();
    }
    let mut text = "\n# Hosts besides that of the first request. \"same-server\": clients may use one connection for\n\
                    # both; \"own-server\": they cannot.\n[origins]\n"
        .to_owned();
    for Origin {
        name,
        shares_connections,
    } in origins
    {
        let at = if *shares_connections {
            "same-server"
        } else {
            "own-server"
        };
        text += &format!("{} = \"{at}\"\n", key(name));
    }
    text
}

fn server_table(url: &str) -> String {
    format!(
        "\n# Your own server. Its responses are what they are: the study says nothing of them.\n\
         [server]\nurl = {}\n",
        string(url)
    )
}

/// Writes steps, and a payload file for each body that is JSON.
struct Writer<'a> {
    groups: &'a [Group<'a>],
    folder: Option<&'a str>,
    /// Whether the study says what the server answers.
    has_responses: bool,
    files: Vec<(String, String)>,
    /// Whether a group's comment has been written.
    explained: Vec<bool>,
}

impl Writer<'_> {
    fn step(&mut self, step: &Step) -> String {
        match step {
            Step::PauseMs(ms) => format!("\n[[step]]\npause_ms = {ms}\n"),
            Step::Calls(calls) => {
                let pairs = self.call(*calls).join("\n");
                format!("\n{}[[step]]\n{pairs}\n", self.comment(calls.0))
            }
            Step::Parallel(all) => {
                let mut text = String::from("\n");
                for (group, _) in all {
                    text += &self.comment(*group);
                }
                text += "[[step]]\nparallel = true\nsteps = [\n";
                for calls in all {
                    text += &format!("    {{ {} }},\n", self.call(*calls).join(", "));
                }
                text + "]\n"
            }
        }
    }

    /// Returns the comment that describes a group. It is empty after the first step of the group.
    fn comment(&mut self, index: usize) -> String {
        if std::mem::replace(&mut self.explained[index], true) {
            return String::new();
        }
        let group = &self.groups[index];
        let Seen {
            method, request, ..
        } = group.typical;
        let mut text = neutral::plain(&format!("# {}: {method}", group.name));
        let guess = |body: &Body| {
            if body.is_guess {
                " (a guess: change it)"
            } else {
                ""
            }
        };
        if request.bytes > 0 {
            text += &format!(" with {} bytes{}", request.bytes, guess(request));
        }
        let response = &group.typical.response;
        text += &format!(
            ", answered with {} bytes{}",
            group.response_bytes,
            guess(response)
        );
        if !group.alike {
            let what = if response.is_json() {
                "a typical one of"
            } else {
                "the mean of"
            };
            text += &format!(", {what} {}", group.times);
        }
        text + ".\n"
    }

    /// Returns the keys of a call with their values.
    fn call(&mut self, (index, times): Times) -> Vec<String> {
        let group = &self.groups[index];
        let typical = group.typical;
        let mut pairs = vec![
            format!("call = {}", string(&group.name)),
            format!("method = \"{}\"", typical.method),
            format!("path = {}", string(&group.path)),
        ];
        if let Some(origin) = &group.origin {
            pairs.push(format!("origin = {}", string(origin)));
        }
        if !typical.headers.is_empty() {
            let fields = typical.headers.iter();
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{} = {}", key(name), string(value)))
                .collect();
            pairs.push(format!("headers = {{ {} }}", fields.join(", ")));
        }
        let bytes = typical.request.bytes;
        pairs.extend(self.body(
            &group.name,
            "request",
            "content_type",
            &typical.request,
            bytes,
        ));
        if self.has_responses {
            let bytes = group.response_bytes;
            pairs.extend(self.body(
                &group.name,
                "response",
                "response_type",
                &typical.response,
                bytes,
            ));
        }
        if times > 1 {
            pairs.push(format!("times = {times}"));
        }
        pairs
    }

    fn body(
        &mut self,
        group: &str,
        what: &str,
        type_key: &str,
        body: &Body,
        bytes: u64,
    ) -> Vec<String> {
        if bytes == 0 {
            return Vec::new();
        }
        let content_type = body.content_type.as_deref();
        let is_plain_json = content_type.is_none_or(|t| t == "application/json");
        let pair_of_type = |t: &str| format!("{type_key} = {}", string(t));
        let of_file = match (&body.json, &body.form) {
            (Some(json), _) => Some(("json", json, content_type.filter(|_| !is_plain_json))),
            (None, Some(form)) => Some(("txt", form, content_type)),
            (None, None) => None,
        };
        match (self.folder, of_file) {
            (Some(folder), Some((extension, content, content_type))) => {
                let file = format!("{folder}/{group}-{what}.{extension}");
                let pair = format!("{what} = {}", string(&file));
                if !self.files.iter().any(|(known, _)| *known == file) {
                    self.files.push((file, content.clone()));
                }
                std::iter::once(pair)
                    .chain(content_type.map(pair_of_type))
                    .collect()
            }
            _ => {
                let json = body.json.as_ref().map(|_| "application/json");
                let of_type = content_type.or(json).map(pair_of_type);
                std::iter::once(format!("{what}_bytes = {bytes}"))
                    .chain(of_type)
                    .collect()
            }
        }
    }
}

/// Formats a string of TOML. What a terminal would act on is escaped: the study may be printed.
fn string(text: &str) -> String {
    if !text.contains(neutral::is_interpreted) {
        return toml::Value::from(text).to_string();
    }
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        c if neutral::is_interpreted(c) => format!("\\U{:08X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Formats a key of TOML, in quotes where it needs them.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => string(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_have_escapes_for_what_a_terminal_acts_on() {
        let text = "a\"\\\n\u{1b}[2J\u{202e}\u{e0041}";
        let written = string(text);
        assert_eq!(written, r#""a\"\\\n\U0000001B[2J\U0000202E\U000E0041""#);
        let read: toml::Table = format!("x = {written}").parse().unwrap();
        assert_eq!(read["x"].as_str(), Some(text));
        assert_eq!(string("häuser"), "\"häuser\"");
    }
}
