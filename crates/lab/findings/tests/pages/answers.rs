//! The answers that pages give: which arm they name, and when they name none.

use std::fs;
use std::path::Path;

use findings::build;

use crate::copy::Copy;

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

/// One that may be faster is as good as the baseline, and the row says by how much it is not slower.
#[test]
fn rows_say_whom_an_arm_is_not_slower_than() {
    let copy = Copy::new();
    let margin = "hyper h1,hyper h2,difference,12483511.7";
    let was = format!("{margin},16243867,15372160,");
    let run = "made-up/made-up.csv";
    copy.edit(run, &was, &format!("{margin},-16243867,-15372160,"));
    let run = copy.0.path().join("made-up/made-up.json");
    let mut value: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&run).unwrap()).unwrap();
    let need = &mut value["networks"][1]["needs"][2];
    assert_eq!(need["label"], "image");
    need["best"] = serde_json::json!(["hyper h2", "hyper h1"]);
    need["undecided"] = serde_json::json!([]);
    fs::write(run, value.to_string()).unwrap();
    let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
    let words = "| hyper h1 is not slower than hyper h2 by more than 12 ms, 6 blocks;";
    assert!(index.contains(words), "{index}");
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
    let one_sender = "; one sender for each protocol |";
    let is = |copy: &Copy, words: &str| row(copy).contains(&format!("| {words}{one_sender}"));
    assert!(is(
        &copy,
        "hyper h2 | no other is faster; undecided: hyper h1"
    ));
    copy.edit(claims, words, &with("[\"hyper h1\"]"));
    assert!(is(&copy, "hyper h2 | no other is faster"));
    let copy = Copy::new();
    copy.edit(claims, words, &with("[\"hyper h2\"]"));
    assert!(is(&copy, "undecided | among hyper h1"));
    let copy = Copy::new();
    let error = copy.edit(claims, words, &with("[\"hyper h4\"]")).error();
    assert!(
        error.contains("claims.toml:105: unknown arm `hyper h4`"),
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
    // Compared with several arms, each end names its own.
    let table = "[[table]]\nname = \"images\"";
    let other = "[[need.sender]]\nstudy = \"made-up\"\nrun = \"made-up\"\nnetwork = \"lan\"\nnamed = \"4g-tether\"\n\
                 measure = \"first request\"\narms = [\"hyper h1\"]\nagainst = \"quinn h3\"\n\n";
    copy.edit(claims, table, &(other.to_owned() + table));
    let both = row(&index());
    let range =
        "| 44 ms slower (hyper h1 against quinn h3) to 45 ms faster (quinn h3 against hyper h2) |";
    assert!(both.contains(range), "{both}");
    for (from, to, error) in [
        (
            "run = \"made-up\"",
            "run = \"other\"",
            "claims.toml:108: this run was not made yet",
        ),
        (
            "named = \"4g-tether\"",
            "named = \"4g\"",
            "claims.toml:112: 4g has no comparison of it with `hyper h2`",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit(claims, from, to).error();
        assert!(found.contains(error), "{to}: {found}");
    }
}

/// A download's answer rests on its sender, unless several were compared.
#[test]
fn downloads_with_one_sender_say_so() {
    let need = |bulk: &str| {
        let words = "words = \"a list\"";
        format!("[[need]]\nmeasure = \"warm requests\"\n{words}\n{bulk}\n\n[[table]]")
    };
    let rows = |bulk: &str, asked: &str| {
        let copy = Copy::new();
        copy.edit("made-up/claims.toml", "[[table]]", &need(bulk));
        copy.edit("made-up/made-up.json", "h1, msgpack, tls", asked);
        let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
        let rows = index.lines().filter(|line| line.contains("| a list |"));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    for (bulk, asked, expected) in [
        ("bulk = true", "h1, msgpack, tls", true),
        ("", "h1, msgpack, tls", false),
        ("bulk = true", "h1, msgpack, tls, server go", false),
        ("bulk = true", "h1, msgpack, tls, congestion bbr", false),
    ] {
        for row in rows(bulk, asked) {
            let is_said = row.contains("; one sender for each protocol |");
            assert_eq!(is_said, expected, "{row}");
        }
        assert_eq!(rows(bulk, asked).len(), 2);
    }
}

/// A row has figures of the study that it names.
#[test]
fn rows_name_the_studies_of_their_figures() {
    let copy = Copy::new();
    for (from, to) in [
        ("made-up/made-up.json", "servers/made-up.json"),
        ("made-up/made-up.csv", "servers/made-up.csv"),
    ] {
        fs::create_dir_all(copy.0.path().join("servers")).unwrap();
        fs::copy(copy.0.path().join(from), copy.0.path().join(to)).unwrap();
    }
    copy.write_study_without_figures("servers");
    let claims = "made-up/claims.toml";
    copy.edit(claims, "study = \"made-up\"", "study = \"servers\"");
    let row = || {
        let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
        let mut rows = index.lines().filter(|line| line.starts_with("| lan "));
        rows.next().unwrap().to_owned()
    };
    assert!(
        row().ends_with(", against hyper h2 | servers |"),
        "{}",
        row()
    );
    let (both, one) = (
        "arms = [\"quinn h3\", \"hyper h1\"]",
        "arms = [\"quinn h3\"]",
    );
    copy.edit(claims, both, one);
    assert!(row().contains("; by server"), "{}", row());
    assert!(row().ends_with("| made-up and servers |"), "{}", row());
}

#[test]
fn rows_say_where_the_a_a_check_is_inconclusive() {
    let rows = |undecided: &str| {
        let copy = Copy::new();
        copy.edit("made-up/made-up.json", "lan: first request", undecided);
        let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
        ["| lan ", "| 4g-tether "].map(|network| {
            let mut rows = index.lines().filter(|line| line.starts_with(network));
            rows.next().unwrap().contains("; A/A check inconclusive")
        })
    };
    assert_eq!(rows("lan: first request"), [false, false]);
    assert_eq!(rows("4g-tether: image"), [false, true]);
    // The row of the other network has its figures from this measure.
    assert_eq!(rows("4g-tether: first request"), [true, false]);
}
