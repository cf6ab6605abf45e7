//! Pages are made again from what is kept, byte for byte.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use findings::{FindingsError, build, differing, write_all};
use flate2::read::GzDecoder;
use testing::{HOSTILE_NAME, INTERPRETED, golden};

/// Returns the folder of a made-up study with a small real run, and of one that was not run.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/findings")
}

/// A copy of the fixture to make mistakes in.
struct Copy(tempfile::TempDir);

impl Copy {
    fn new() -> Copy {
        let copy = Copy(tempfile::tempdir().unwrap());
        for file in [
            "published/made-up.csv",
            "published/waiting.csv",
            "made-up/claims.toml",
            "made-up/made-up.json",
            "made-up/made-up.csv",
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
    fn edit(&self, file: &str, from: &str, to: &str) -> &Copy {
        let path = self.0.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        self
    }

    fn error(&self) -> String {
        match build(self.0.path()).unwrap_err() {
            // Without the column and the line that is shown.
            FindingsError::Claims(e) => format!("{}:{}: {}", e.file, e.line, e.message),
            other => other.to_string(),
        }
    }

    fn page(&self) -> String {
        build(self.0.path()).unwrap()[Path::new("made-up/README.md")].clone()
    }
}

#[test]
fn the_made_up_pages_are_made_again() {
    let files = build(&fixture()).unwrap();
    let names: Vec<&str> = files.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "README.md",
            "figures.md",
            "made-up/README.md",
            "made-up/figure.svg"
        ]
    );
    for (path, text) in &files {
        golden(fixture().join(path), text);
    }
}

/// The gate's check of `findings/`: what is committed is what `commute findings` makes.
#[test]
fn the_committed_pages_are_made_again() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../findings");
    let files = build(&root).unwrap();
    let differing = differing(&root, &files);
    assert!(differing.is_empty(), "run `make findings`: {differing:?}");
}

#[test]
fn files_that_differ_or_are_missing_are_found() {
    let copy = Copy::new();
    let files = build(copy.0.path()).unwrap();
    assert_eq!(differing(copy.0.path(), &files).len(), 3);
    write_all(copy.0.path(), &files).unwrap();
    assert!(differing(copy.0.path(), &files).is_empty());
    fs::write(copy.0.path().join("README.md"), "other").unwrap();
    assert_eq!(differing(copy.0.path(), &files), [Path::new("README.md")]);
}

#[test]
fn mistakes_in_claims_are_errors_with_file_and_line() {
    let file = "made-up/claims.toml";
    for (from, to, error) in [
        (
            "arm = \"quinn h3\"",
            "arm = \"quin h3\"",
            "made-up/claims.toml:21: unknown arm `quin h3` (did you mean `quinn h3`?)",
        ),
        (
            "\"4g-tether\"",
            "\"4g-tehter\"",
            "made-up/claims.toml:19: unknown network `4g-tehter` (did you mean",
        ),
        (
            "measure = \"image\"",
            "measure = \"imag\"",
            "made-up/claims.toml:20: unknown measure `imag` (did you mean",
        ),
        (
            "network = \"4G\"",
            "network = \"5G\"",
            "made-up/claims.toml:9: no published figure",
        ),
        (
            "network = \"4G\"",
            "platform = \"phone\"",
            "made-up/claims.toml:9: 2 published figures",
        ),
        (
            "{quic}",
            "{quick}",
            "made-up/claims.toml:13: nothing is named `quick` (did you mean `quic`?)",
        ),
        (
            "{image.speedup}",
            "{image.sped}",
            "made-up/claims.toml:14: nothing is named `image.sped`",
        ),
        ("at_least = 1.2", "at_lest = 1.2", "unknown field `at_lest`"),
        (
            "at_least = 1.2",
            "within_ms = 2",
            "made-up/claims.toml:23: `within` and `within_ms` go together",
        ),
        (
            "[\"image\", \"bytes on the wire\"]",
            "[\"imag\"]",
            "made-up/claims.toml:117: unknown measure `imag` (did you mean",
        ),
        (
            "arms = [\"hyper h2\", \"quinn h3\"]",
            "arms = [\"hyper h2\", \"quin h3\"]",
            "made-up/claims.toml:118: unknown arm `quin h3` (did you mean",
        ),
        (
            "arms = [\"hyper h2\", \"quinn h3\"]",
            "arms = [\"hyper h2\"]",
            "made-up/claims.toml:115: a table has two arms or more",
        ),
        (
            "page = \"figures.md\"",
            "",
            "made-up/claims.toml:115: a table needs a `page` to stand in",
        ),
        (
            "name = \"images\"",
            "name = \"image\"",
            "figures.md:5: made-up/claims.toml has no [[table]] named `images`",
        ),
        (
            "[\"lan\", \"4g-tether\"]",
            "[]\nname = \"two\"",
            "a named answer has a single network",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit(file, from, to).error();
        assert!(found.contains(error), "{to}: {found}");
    }
}

#[test]
fn published_figures_that_no_claim_selects_are_errors_with_file_and_line() {
    let copy = Copy::new();
    let selected = "made-up,loading,phone,LAN,";
    let added = "made-up,battery,phone,,QUIC,image,energy,,,,,12,percent,,,document,ok,,\n";
    let both = added.to_owned() + selected;
    copy.edit("published/made-up.csv", selected, &both);
    assert_eq!(
        copy.error(),
        "published/made-up.csv:3: no claim selects this figure of table `battery`: select it in \
         made-up/claims.toml or delete it"
    );
    let copy = Copy::new();
    let claims = "made-up/claims.toml";
    copy.edit(claims, "codec = { table = \"claims\" }", "")
        .edit(claims, "near = \"codec\"", "");
    let error = copy.error();
    assert!(error.starts_with("published/made-up.csv:4: "), "{error}");
}

/// The archive has what claims select, and the tables that they do not repeat.
#[test]
fn archived_tables_are_selected_or_not_repeated() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../findings");
    let mut archive = String::new();
    let file = fs::File::open(root.join("published/all.csv.gz")).unwrap();
    GzDecoder::new(file).read_to_string(&mut archive).unwrap();
    let rows: BTreeSet<&str> = archive.lines().skip(1).collect();
    let archived: BTreeSet<String> = rows.iter().map(|row| study_and_table(row)).collect();
    let studies: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.split(',').next())
        .collect();
    let mut claimed = BTreeSet::new();
    for study in studies {
        let selected = fs::read_to_string(root.join(format!("published/{study}.csv"))).unwrap();
        for row in selected.lines().skip(1) {
            assert!(rows.contains(row), "not in the archive: {row}");
            claimed.insert(study_and_table(row));
        }
        let claims = fs::read_to_string(root.join(study).join("claims.toml")).unwrap();
        let claims: toml::Table = claims.parse().unwrap();
        for entry in claims["not_repeated"].as_array().unwrap() {
            for table in entry["tables"].as_array().unwrap() {
                claimed.insert(format!("{study},{}", table.as_str().unwrap()));
            }
        }
    }
    assert_eq!(archived, claimed);
}

/// Returns the first two columns of a row of published figures.
fn study_and_table(row: &str) -> String {
    row.split(',').take(2).collect::<Vec<_>>().join(",")
}

/// A pair that no file has must be extracted, not guessed.
#[test]
fn pairs_that_were_not_extracted_are_errors() {
    let copy = Copy::new();
    let blocks = fs::read_to_string(copy.0.path().join("made-up/made-up.csv")).unwrap();
    let pair = ",hyper h1,quinn h3,";
    let kept: Vec<&str> = blocks.lines().filter(|line| !line.contains(pair)).collect();
    assert!(kept.len() < blocks.lines().count());
    fs::write(copy.0.path().join("made-up/made-up.csv"), kept.join("\n")).unwrap();
    let error = copy.error();
    assert!(
        error.contains("does not compare `hyper h1` with `quinn h3`: extract"),
        "{error}"
    );
}

/// Where the baseline differs from its copy, nothing is concluded, however clear it looks.
#[test]
fn networks_whose_results_must_not_be_used_decide_nothing() {
    let copy = Copy::new();
    // A front says what such a network no longer shows.
    fs::remove_file(copy.0.path().join("front.toml")).unwrap();
    assert!(copy.page().contains("Ours: **not the same**"));
    let run = "made-up/made-up.json";
    let text = fs::read_to_string(copy.0.path().join(run)).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for network in value["networks"].as_array_mut().unwrap() {
        network["advice"] = serde_json::json!({ "advice": "invalid" });
    }
    fs::write(copy.0.path().join(run), value.to_string()).unwrap();
    let page = copy.page();
    assert!(page.contains("Ours: **not decided**") && !page.contains("Ours: **not the same**"));
    let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
    assert!(index.contains("the results must not be used"));
}

#[test]
fn mistakes_in_a_page_with_tables_are_errors_with_file_and_line() {
    for (from, to, error) in [
        (
            "<!-- end -->",
            "",
            "figures.md:5: table `images` has no end",
        ),
        (
            "<!-- findings: images -->",
            "",
            "made-up/claims.toml:115: figures.md has no line `<!-- findings: images -->`",
        ),
        (
            "And this.",
            "<!-- findings: images -->",
            "made-up/claims.toml has no [[table]] named `images`, or the page has it twice",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit("figures.md", from, to).error();
        assert!(found.contains(error), "{found}");
    }
}

#[test]
fn mistakes_in_the_front_are_errors_with_file_and_line() {
    for (from, to, error) in [
        (
            "columns = [\"4G\", \"LAN\"]",
            "columns = []",
            "front.toml:10: a row has a network for each of the 0 columns",
        ),
        (
            "study = \"made-up\"",
            "study = \"mad-up\"",
            "front.toml:8: unknown study `mad-up` (did you mean `made-up`?)",
        ),
        (
            "study = \"made-up\"",
            "study = \"waiting\"",
            "front.toml:8: run waiting was not made yet",
        ),
        (
            "\"lan\"]\nmeasure = \"image\"",
            "\"lam\"]\nmeasure = \"image\"",
            "front.toml:9: unknown network `lam`",
        ),
        (
            "measure = \"image\"",
            "measure = \"imag\"",
            "front.toml:10: unknown measure `imag`",
        ),
        (
            "arm = \"hyper h2\"",
            "arm = \"hyper h4\"",
            "front.toml:11: unknown arm `hyper h4`",
        ),
        (
            "{image.2}",
            "{image.3}",
            "front.toml:13: nothing is named `image.3`",
        ),
        (
            "{image.1}",
            "{image}",
            "front.toml:2: nothing is named `image`",
        ),
        (
            "within_ms = 5",
            "within_ms = 0.001",
            "front.toml:31: the run no longer shows this: ",
        ),
        ("take =", "tak =", "unknown field `tak`"),
    ] {
        let copy = Copy::new();
        let found = copy.edit("front.toml", from, to).error();
        assert!(found.contains(error), "{to}: {found}");
    }
}

/// An arm that no app should take is not named, however fast it is.
#[test]
fn excepted_arms_are_not_recommended() {
    let copy = Copy::new();
    let claims = "made-up/claims.toml";
    let row = |copy: &Copy| {
        let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
        let mut rows = index
            .lines()
            .filter(|line| line.starts_with("| 4g-tether "));
        rows.next().unwrap().to_owned()
    };
    let words = "words = \"an image\"";
    let with = |arms: &str| format!("{words}\nexcept = {arms}");
    assert!(row(&copy).contains("| hyper h2 | no other is faster; undecided: hyper h1 |"));
    copy.edit(claims, words, &with("[\"hyper h1\"]"));
    assert!(row(&copy).contains("| hyper h2 | no other is faster |"));
    let copy = Copy::new();
    copy.edit(claims, words, &with("[\"hyper h2\"]"));
    assert!(row(&copy).contains("| undecided | among hyper h1 |"));
    let copy = Copy::new();
    let error = copy.edit(claims, words, &with("[\"hyper h4\"]")).error();
    assert!(
        error.contains("claims.toml:104: unknown arm `hyper h4`"),
        "{error}"
    );
}

/// An answer that servers disagree on names none.
#[test]
fn answers_depend_on_the_server_where_servers_disagree() {
    let copy = Copy::new();
    let index = || build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
    let row = |index: &str| {
        let mut rows = index.lines().filter(|line| line.starts_with("| lan "));
        rows.next().unwrap().to_owned()
    };
    let disagree = row(&index());
    assert!(disagree.contains("| depends on the server |"), "{disagree}");
    let (slowest, fastest) = disagree.split_once(" to ").unwrap();
    assert!(
        slowest.ends_with("| no difference (hyper h1)"),
        "{disagree}"
    );
    assert!(
        fastest.contains("faster (quinn h3), against hyper h2"),
        "{disagree}"
    );
    let claims = "made-up/claims.toml";
    copy.edit(
        claims,
        "arms = [\"quinn h3\", \"hyper h1\"]",
        "arms = [\"quinn h3\"]",
    );
    let agree = row(&index());
    assert!(!agree.contains("depends on the server"), "{agree}");
    assert!(agree.contains("by server"), "{agree}");
    for (from, to, error) in [
        (
            "run = \"made-up\"",
            "run = \"other\"",
            "claims.toml:107: this run was not made yet",
        ),
        (
            "named = \"4g-tether\"",
            "named = \"4g\"",
            "claims.toml:111: 4g has no comparison of it with `hyper h2`",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit(claims, from, to).error();
        assert!(found.contains(error), "{to}: {found}");
    }
}

/// The lines between the marks are the command's, the others stay.
#[test]
fn tables_in_a_page_follow_their_data() {
    let copy = Copy::new();
    let page = || build(copy.0.path()).unwrap()[Path::new("figures.md")].clone();
    let before = page();
    copy.edit("figures.md", "| lan |", "| by hand |");
    assert_eq!(page(), before);
    copy.edit("figures.md", "And this.", "And that.");
    assert_eq!(page(), before.replace("And this.", "And that."));
}

/// Other data, other page: no number of it is written by hand.
#[test]
fn pages_follow_their_data() {
    let copy = Copy::new();
    let before = copy.page();
    copy.edit("published/made-up.csv", ",1.47,", ",1.31,");
    let after = copy.page();
    assert!(before.contains("1.47x") && after.contains("1.31x") && !after.contains("1.47x"));
}

/// Names come from records and claims that anyone may write.
#[test]
fn names_do_nothing_in_a_browser() {
    let copy = Copy::new();
    let claims = "made-up/claims.toml";
    let hostile = serde_json::to_string(HOSTILE_NAME).unwrap();
    for (key, name) in [
        ("title", "\"HTTP/2 or HTTP/3 for a list and an image?\""),
        ("title", "\"Times as fast as HTTP/2\""),
        ("label", "\"lan\""),
        ("words", "\"an image\""),
        ("what", "\"energy\""),
    ] {
        copy.edit(
            claims,
            &format!("{key} = {name}"),
            &format!("{key} = {hostile}"),
        );
    }
    let run = copy.0.path().join("made-up/made-up.json");
    let text = fs::read_to_string(&run).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in ["question", "commute"] {
        value[key] = HOSTILE_NAME.into();
    }
    value["repeat"] = format!("commute run\n```\n{HOSTILE_NAME}").into();
    for key in ["hosts", "notes"] {
        value[key] = serde_json::json!([HOSTILE_NAME]);
    }
    value["networks"][0]["numbers"] = HOSTILE_NAME.into();
    for key in ["client", "caveats"] {
        value["arms"][0][key] = serde_json::json!([HOSTILE_NAME]);
    }
    fs::write(&run, value.to_string()).unwrap();
    let files = build(copy.0.path()).unwrap();
    for (path, text) in &files {
        let name = path.display().to_string();
        assert!(!text.contains(INTERPRETED), "{name}: {text}");
        // The study's own figure.
        let lines = text.lines().filter(|line| !line.ends_with("](figure.svg)"));
        match path.extension().is_some_and(|end| end == "svg") {
            true => testing::check_harmless(&name, text),
            false => {
                let markdown: String = lines.map(|line| format!("{line}\n")).collect();
                testing::check_harmless(&name, &testing::rendered(&markdown));
            }
        }
    }
}
