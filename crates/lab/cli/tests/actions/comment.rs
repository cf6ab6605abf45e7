//! The script that comments a report.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::Job;
use super::common::{self, CommandOutput};

/// The first line of a comment.
const MARKER: &str = "<!-- commute: checkout -->\n";

impl Job {
    /// Returns the script that comments, with what it needs.
    fn ready_to_comment() -> Job {
        let mut job = Job::new();
        job.set("GH_TOKEN", "token");
        job.set("NUMBER", "7");
        job.set("NAME", "checkout");
        fs::write(job.temp("commute.md"), "### Answer\n\nnone\n").unwrap();
        job.has_comments(&[]);
        job
    }

    /// Sets what the pull request was commented with: whether by this account, the text and the number.
    fn has_comments(&self, comments: &[(bool, &str, u32)]) {
        let comments: Vec<_> = (comments.iter())
            .map(|(mine, body, number)| {
                let url = format!("https://github.example/owner/name/pull/7#issuecomment-{number}");
                serde_json::json!({"viewerDidAuthor": mine, "body": body, "url": url})
            })
            .collect();
        let text = serde_json::json!({ "comments": comments }).to_string();
        fs::write(self.sandbox.dir().join("log-gh.comments"), text).unwrap();
    }

    fn comment(&self) -> CommandOutput {
        let file = self.temp("commute.md");
        self.step("comment/comment", &[file.to_str().unwrap()])
    }
}

#[test]
fn a_report_is_commented() {
    let job = Job::ready_to_comment();
    // A stranger's copy of the marker, a report of another name, and another comment of the same account.
    let other = "<!-- commute: checkout-2 -->\n";
    job.has_comments(&[(false, MARKER, 11), (true, other, 12), (true, "hello", 13)]);
    job.comment().exits_with(0);
    let received = job.received("gh");
    let arguments: Vec<&str> = received.lines().skip(9).collect();
    let (file, before) = arguments.split_last().unwrap();
    assert_eq!(
        before,
        ["pr", "comment", "7", "--repo", "owner/name", "--body-file"]
    );
    assert_eq!(body(&job), format!("{MARKER}\n### Answer\n\nnone\n"));
    assert!(!Path::new(file).exists(), "the copy is deleted");
}

#[test]
fn a_report_replaces_the_comment_of_its_name_and_no_other() {
    if common::find_program("jq").is_none() {
        return testing::skip("jq, which gh has built in, is missing");
    }
    let job = Job::ready_to_comment();
    let old = format!("{MARKER}\nold");
    job.has_comments(&[(true, &old, 11), (true, "hello", 12), (false, MARKER, 13)]);
    job.comment().exits_with(0);
    let received = job.received("gh");
    let (_, patch) = received.split_once("\napi\n").unwrap();
    let patch: Vec<&str> = patch.lines().collect();
    let (_, before) = patch.split_last().unwrap();
    let path = "repos/owner/name/issues/comments/11";
    assert_eq!(before, ["--silent", "--method", "PATCH", path, "--field"]);
    assert_eq!(body(&job), format!("{MARKER}\n### Answer\n\nnone\n"));
}

#[test]
fn a_long_report_is_cut_after_a_line() {
    let job = Job::ready_to_comment();
    fs::write(job.temp("commute.md"), "aé\n".repeat(50_000)).unwrap();
    job.comment().exits_with(0);
    let body = body(&job);
    assert!(body.len() < 65_536);
    assert!(body.starts_with(&format!("{MARKER}\naé\naé\n")));
    assert!(
        body.ends_with(
            "aé\n\n\n*The report was cut here. The summary of the job has all of it.*\n"
        )
    );
}

#[test]
fn nothing_is_commented_without_token_number_or_report() {
    for (name, value, message) in [
        ("GH_TOKEN", "", "no token"),
        ("NUMBER", "", "no number"),
        ("NUMBER", "7 --body x", "no number"),
        ("NUMBER", "--help", "no number"),
        ("NAME", "", "name the comment"),
        ("NAME", "a\")) | x", "name the comment"),
    ] {
        let mut job = Job::ready_to_comment();
        job.set(name, value);
        job.comment().exits_with(1).stderr_contains(message);
        assert_eq!(job.received("gh"), "");
    }
    let job = Job::ready_to_comment();
    let file = job.temp("commute.md");
    let line = "x".repeat(70_000);
    for (content, message) in [("", "empty"), (line.as_str(), "longer than")] {
        fs::write(&file, content).unwrap();
        job.comment().exits_with(1).stderr_contains(message);
    }
    fs::remove_file(&file).unwrap();
    symlink("/etc/passwd", &file).unwrap();
    job.comment()
        .exits_with(1)
        .stderr_contains("there is no report");
    assert_eq!(job.received("gh"), "");
}

/// Returns what the stub of gh was to comment.
fn body(job: &Job) -> String {
    fs::read_to_string(job.sandbox.dir().join("log-gh.body")).unwrap()
}
