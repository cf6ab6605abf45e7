//! Records in which every text is hostile: no format but JSON may write what a terminal or a page would act on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use std::collections::{BTreeMap, BTreeSet};

use invented::{data, exchanging, explained, quickstart};
use record::{
    Audit, CallPath, CallResult, Cell, ExternalServer, Level, Outcome, PathStep, Run, RunData,
    ServerOption,
};
use report::{PathOf, Wanted, call_path, compare_runs, why};
use serde_json::Value;

/// Escape sequences, one of them a colour of the report, a bell, marks of direction, a character without a width, and a
/// line of its own.
const HOSTILE: &str =
    "\u{1b}]0;t\u{7}\u{1b}[32m\u{1b}[8m\u{9b}31m\u{202e}\u{2066}\u{200b}\u{2028}\r\nforged";
/// The number of runs with a part of the texts made hostile. A text is hostile wherever it is.
const PARTS: usize = 9;
const COLOURS: [&str; 4] = ["\u{1b}[32m", "\u{1b}[31m", "\u{1b}[2m", "\u{1b}[0m"];

/// Returns a run with a text wherever a record can have one.
fn run_with_every_text() -> RunData {
    let mut arms = quickstart();
    arms[3].time_out_every = 5;
    let data = explained(&exchanging(&data(&arms, &["metro", "tether"], 6, 1)));
    let mut run = data.run().clone();
    let text = |text: &str| Some(format!("{text} (invented)"));
    let arm = &mut run.arms[2];
    for field in [
        &mut arm.fault,
        &mut arm.congestion,
        &mut arm.key,
        &mut arm.chain,
        &mut arm.discovery,
        &mut arm.policy,
        &mut arm.auth,
        &mut arm.connections,
        &mut arm.access,
        &mut arm.role,
        &mut arm.caveat,
        &mut run.networks[0].basis,
        &mut run.host.git,
        &mut run.host.hypervisor,
    ] {
        *field = text("text");
    }
    arm.server = text("server");
    for (network, value) in run.networks.iter_mut().zip(["1 %", "2 %"]) {
        network.base = Some("base".into());
        network.levels = vec![Level {
            setting: "loss".into(),
            value: value.into(),
        }];
    }
    run.settings.payloads = BTreeMap::from([("p".into(), "digest".into())]);
    run.settings.external = Some(ExternalServer {
        url: "https://invented.test".into(),
        address: text("address"),
        ca_pem: None,
    });
    run.settings.server_option = Some(ServerOption {
        server: "https://invented.test".into(),
        address: text("address"),
        ca: text("ca"),
    });
    run.host.boot = "boot".into();
    run.host.stacks = BTreeMap::from([("stack".into(), "version".into())]);
    let mut cells = data.cells().to_vec();
    for (i, cell) in cells.iter_mut().enumerate() {
        give_texts(cell, i);
    }
    RunData::new(run, cells).unwrap()
}

fn give_texts(cell: &mut Cell, i: usize) {
    cell.stack.version = "1 (invented)".into();
    cell.stack.tls = "tls (invented)".into();
    cell.stack.settings = BTreeMap::from([("retries".into(), "0 (invented)".into())]);
    for connection in &mut cell.connections {
        for field in [
            &mut connection.alpn,
            &mut connection.tls_version,
            &mut connection.cipher,
            &mut connection.group,
            &mut connection.certificate,
        ] {
            // Not the same in all cells: a report names what differs.
            *field = format!("{} (invented)", ["one", "two"][i % 2]);
        }
    }
    if let Some(call) = cell.calls.get_mut(3)
        && i % 7 == 2
    {
        call.result = CallResult::Error {
            kind: "reset".into(),
            detail: "gone (invented)".into(),
        };
    }
    if let Some(call) = cell.calls.first_mut() {
        let step = |part: &str, from_ns, to_ns| PathStep {
            part: part.into(),
            from_ns,
            to_ns,
            packet: None,
        };
        call.path = Some(CallPath {
            steps: vec![
                step("client", 0, 1_000),
                step("later (invented)", 1_000, call.end_ns),
            ],
            left_out: 0,
        });
    }
    match i % 11 {
        5 => {
            cell.outcome = Outcome::Noisy {
                reasons: vec!["steal 3 % (invented)".into()],
            };
        }
        7 => {
            cell.outcome = Outcome::Failed {
                reason: "it broke (invented)".into(),
            };
        }
        _ => {}
    }
    cell.audit = Audit {
        packets: 700,
        ..Audit::default()
    };
}

/// A text of a record: where it is, without indices, and what it is.
type Place = (String, String);

/// Calls a function with the place of every string of a document, and puts the result in its place.
fn map_strings(value: &mut Value, path: &str, map: &mut dyn FnMut(&str, &str) -> String) {
    match value {
        Value::String(text) => *text = map(path, text),
        Value::Array(list) => {
            for item in list {
                map_strings(item, path, map);
            }
        }
        Value::Object(object) => {
            // Its keys are texts, too.
            let is_map = path == "cell.stack.settings";
            let entries = std::mem::take(object);
            for (key, mut item) in entries {
                map_strings(&mut item, &format!("{path}.{key}"), map);
                let key = match is_map {
                    true => map(&format!("{path}{{key}}"), &key),
                    false => key,
                };
                object.insert(key, item);
            }
        }
        _ => {}
    }
}

/// Records as documents.
#[derive(Clone)]
struct Documents {
    run: Value,
    cells: Vec<Value>,
}

impl Documents {
    fn of(data: &RunData) -> Documents {
        let cells = data.cells().iter();
        Documents {
            run: serde_json::to_value(data.run()).unwrap(),
            cells: cells
                .map(|cell| serde_json::to_value(cell).unwrap())
                .collect(),
        }
    }

    fn map(&mut self, map: &mut dyn FnMut(&str, &str) -> String) {
        map_strings(&mut self.run, "run", map);
        for cell in &mut self.cells {
            map_strings(cell, "cell", map);
        }
    }

    fn places(&mut self) -> BTreeSet<Place> {
        let mut places = BTreeSet::new();
        self.map(&mut |path, text| {
            places.insert((path.to_owned(), text.to_owned()));
            text.to_owned()
        });
        places
    }

    /// Returns the records with these texts made hostile; none if they are no records then.
    fn with_hostile(&self, chosen: &BTreeSet<Place>) -> Option<RunData> {
        let mut documents = self.clone();
        documents.map(
            &mut |path, text| match chosen.contains(&(path.to_owned(), text.to_owned())) {
                true => format!("{text}{HOSTILE}"),
                false => text.to_owned(),
            },
        );
        let run: Run = serde_json::from_value(documents.run).ok()?;
        let cells = documents.cells.into_iter();
        let cells: Result<Vec<Cell>, _> = cells.map(serde_json::from_value).collect();
        RunData::new(run, cells.ok()?).ok()
    }
}

/// Asserts that every format of these records is harmless.
#[track_caller]
fn assert_harmless(data: &RunData, what: &str) {
    let summary = report::summarise(data);
    let mut texts = vec![
        ("markdown", report::markdown(&summary, data)),
        ("html", report::html(&summary, data)),
        ("card", report::card(&summary)),
        ("csv", report::csv(data).replace("\r\n", "\n")),
    ];
    let mut printed = Vec::new();
    for (width, color) in [(60, false), (160, true)] {
        printed.push(("human", color, report::human(&summary, width, color)));
        printed.push(("brief", color, report::brief(&summary, width, color)));
    }
    let wanted = Wanted {
        network: None,
        arm: None,
        against: None,
        call: None,
    };
    if let Ok(why) = why(data, &wanted) {
        printed.push(("why", false, why.human(100)));
        texts.push(("why markdown", why.markdown()));
        texts.push(("why csv", why.csv().replace("\r\n", "\n")));
    }
    let run = data.run();
    let wanted = PathOf {
        call: 1,
        network: run.networks.first().map(|n| n.name.as_str()),
        arm: run.arms.first().map(|arm| arm.name.as_str()),
        block: None,
    };
    match call_path(data, &wanted) {
        Ok(path) => printed.push(("path", false, path.human())),
        Err(e) => assert!(e.contains("path"), "{what}: {e}"),
    }
    if let Ok(changes) = compare_runs(data, data) {
        printed.push(("changes", false, changes.human(100)));
        texts.push(("changes markdown", changes.markdown()));
    }
    for (format, color, mut text) in printed {
        for code in COLOURS {
            text = if color { text.replace(code, "") } else { text };
        }
        let line = text.lines().find(|line| line.trim().starts_with("forged"));
        assert_eq!(line, None, "{what}: {format}");
        texts.push((format, text));
    }
    for (format, text) in texts {
        let found = text.find(|c| c != '\n' && neutral::is_interpreted(c));
        let near = found.map(|at| {
            let start = text.floor_char_boundary(at.saturating_sub(60));
            text[start..].chars().take(100).collect::<String>()
        });
        assert_eq!(near, None, "{what}: {format}");
    }
}

#[test]
fn no_text_of_a_record_is_interpreted_in_any_format() {
    let data = run_with_every_text();
    assert_harmless(&data, "nothing is hostile");
    let mut documents = Documents::of(&data);
    let places = documents.places();
    // A text that is the name of a variant cannot be another one.
    let is_free = |place: &Place| {
        let (path, _) = place;
        let alone = BTreeSet::from([place.clone()]);
        let mut changed = documents.clone();
        changed.map(
            &mut |path, text| match alone.contains(&(path.to_owned(), text.to_owned())) {
                true => format!("{text}{HOSTILE}"),
                false => text.to_owned(),
            },
        );
        match path.starts_with("run") {
            true => serde_json::from_value::<Run>(changed.run).is_ok(),
            false => {
                let cells = changed.cells.into_iter();
                let cells: Result<Vec<Cell>, _> = cells.map(serde_json::from_value).collect();
                cells.is_ok()
            }
        }
    };
    // The ids of cells are names of files, which have rules of their own.
    let places: BTreeSet<Place> = (places.into_iter())
        .filter(|(path, _)| path != "cell.id" && path != "run.plan.id")
        .collect();
    let mut by_path: BTreeMap<&str, &Place> = BTreeMap::new();
    for place in &places {
        by_path.entry(&place.0).or_insert(place);
    }
    let free_paths: BTreeSet<&str> = (by_path.iter())
        .filter(|(_, place)| is_free(place))
        .map(|(path, _)| *path)
        .collect();
    let free: BTreeSet<Place> = (places.iter())
        .filter(|(path, _)| free_paths.contains(path.as_str()))
        .cloned()
        .collect();
    for path in [
        "run.arms.name",
        "run.groups.about",
        "run.networks.levels.value",
        "run.host.git",
        "cell.connections.server_library",
        "cell.connections.congestion",
        "cell.calls.result.detail",
        "cell.outcome.reason",
        "cell.outcome.reasons",
        "cell.calls.path.steps.part",
        "cell.stack.settings{key}",
    ] {
        assert!(free_paths.contains(path), "{path}: {free_paths:?}");
    }
    let all = documents.with_hostile(&free).unwrap();
    assert_harmless(&all, "everything");
    // Where everything is hostile, much is not understood and left out. So a part of the texts at a time.
    let texts: BTreeSet<&str> = free.iter().map(|(_, text)| text.as_str()).collect();
    for part in 0..PARTS {
        let is_in =
            |text: &str| texts.iter().position(|other| *other == text).unwrap() % PARTS == part;
        let chosen: BTreeSet<Place> = (free.iter())
            .filter(|(_, text)| is_in(text))
            .cloned()
            .collect();
        let hostile = documents.with_hostile(&chosen);
        let hostile = hostile.unwrap_or_else(|| panic!("no record with {chosen:?}"));
        assert_harmless(&hostile, &format!("{chosen:?}"));
    }
}
