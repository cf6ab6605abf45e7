//! A copy of the binary outside a checkout: it carries its studies and stacks, and the Rust drivers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::command::Running;
use common::{CommandOutput, Sandbox, User, file_names};

/// What the binary carries, as in `build.rs`.
const CARRIED: [&str; 5] = [
    "bindings/okhttp/library/src",
    "bindings/unity/Runtime",
    "crates/shared/messages/proto",
    "stacks",
    "studies",
];
const CHECK_HYPER: [&str; 5] = ["stacks", "check", "hyper", "--case", "unknown"];

/// Returns a copy of the binary in a folder of its own, for its owner only as that of root is.
fn installed(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.work().join("private");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let program = folder.join("commute");
    fs::copy(env!("CARGO_BIN_EXE_commute"), &program).unwrap();
    program
}

/// Returns the command, which unpacks into the folder `data`, whatever the caller's file mode mask is.
fn command(sandbox: &Sandbox, program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 077; exec \"$0\" \"$@\""]);
    command.arg(program).args(args);
    sandbox.configure(&mut command, User::Caller);
    command
        .env_remove("COMMUTE_HOME")
        .env("XDG_DATA_HOME", data(sandbox));
    command
}

fn data(sandbox: &Sandbox) -> PathBuf {
    sandbox.work().join("private/data")
}

/// Returns the only home that was unpacked.
fn unpacked(sandbox: &Sandbox) -> PathBuf {
    let commute = data(sandbox).join("commute");
    let names = file_names(&commute);
    let [name] = &names[..] else {
        panic!("not one home: {names:?}")
    };
    commute.join(name)
}

#[test]
fn every_file_of_the_repository_that_stacks_need_is_unpacked() {
    let sandbox = Sandbox::new();
    let list = Command::new("git")
        .args(["ls-files", "--"])
        .args(CARRIED)
        .current_dir(common::repository())
        .output();
    let Some(list) = list.ok().filter(|output| output.status.success()) else {
        return testing::skip("only git lists the files of the repository");
    };
    let text = String::from_utf8(list.stdout).unwrap();
    let is_carried = |path: &&str| {
        let is_data = ["stacks/rust/stack.toml", "stacks/rust/remedies.toml"].contains(path);
        let rust = path.starts_with("stacks/rust/") && !is_data;
        !rust && !path.starts_with("stacks/android-app/") && !path.contains("/.")
    };
    let expected: BTreeSet<PathBuf> = text.lines().filter(is_carried).map(Into::into).collect();

    let program = installed(&sandbox);
    let stacks = command(
        &sandbox,
        &program,
        &["run", "quickstart-native", "--dry-run"],
    );
    CommandOutput::of(stacks)
        .exits_with(0)
        .stderr_contains("unpacked the studies and stacks into")
        .stdout_contains("of 168 cells");
    let home = unpacked(&sandbox);
    let mut found = BTreeSet::new();
    add_files(&home, &home, &mut found);
    let difference: Vec<_> = expected.symmetric_difference(&found).collect();
    assert_eq!(difference, Vec::<&PathBuf>::new());
    for path in &expected {
        let mode = |root: &Path| fs::metadata(root.join(path)).unwrap().permissions().mode();
        let executable = [common::repository(), home.clone()].map(|root| mode(&root) & 0o111);
        assert_eq!(executable[0], executable[1], "{}", path.display());
    }
}

fn add_files(root: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(root, &path, found);
        } else {
            found.insert(path.strip_prefix(root).unwrap().to_owned());
        }
    }
}

/// As root, drivers are nobody, who may enter neither the binary's folder nor that of the stacks.
#[test]
fn drivers_and_codec_runner_start_where_only_the_owner_may_enter() {
    let sandbox = Sandbox::new();
    let program = installed(&sandbox);
    let run = |args: &[&str]| CommandOutput::of(command(&sandbox, &program, args)).exits_with(0);
    let list = run(&["stacks", "--format", "json"]).stdout;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    // The driver of `example` is a file that was unpacked.
    for name in ["hyper", "client", "quinn", "tonic", "example"] {
        let found = list.as_array().unwrap().iter().find(|s| s["name"] == name);
        assert!(found.unwrap()["stack"].is_string(), "{name}: {list}");
    }
    run(&["stacks", "check", "hyper", "--case", "unknown"]);
    run(&[
        "codec",
        "--runtime",
        "rust",
        "--codec",
        "json",
        "--rounds",
        "6",
        "--budget",
        "1",
        "--cold",
        "1",
    ]);
}

#[test]
fn processes_that_unpack_at_the_same_time_agree() {
    let sandbox = Sandbox::new();
    let program = installed(&sandbox);
    let dry_run = ["run", "quickstart-native", "--dry-run"];
    let running: Vec<Running> = (0..8)
        .map(|_| Running::start(command(&sandbox, &program, &dry_run)))
        .collect();
    for run in running {
        run.finish().exits_with(0);
    }
    // Panics if one has left its temporary folder.
    unpacked(&sandbox);
}

#[test]
fn what_cannot_be_unpacked_is_explained_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let program = installed(&sandbox);
    let dry_run = ["run", "quickstart-native", "--dry-run"];
    // Not even root can make a folder there.
    let mut nowhere = command(&sandbox, &program, &dry_run);
    nowhere.env("XDG_DATA_HOME", "/proc");
    CommandOutput::of(nowhere)
        .exits_with(1)
        .stderr_contains("cannot unpack the studies and stacks into /proc/commute/")
        .stderr_contains("XDG_DATA_HOME names another folder");
    if !common::is_root() {
        return testing::skip("only root can mount a small disk");
    }
    fs::create_dir(data(&sandbox)).unwrap();
    let script = "mount -t tmpfs -o size=64k none private/data && \
        \"$0\" \"$@\"; code=$?; ls -A private/data/commute; exit $code";
    let mut full = Command::new("unshare");
    full.args(["-m", "sh", "-c", script])
        .arg(&program)
        .args(dry_run);
    sandbox.configure(&mut full, User::Caller);
    full.env_remove("COMMUTE_HOME")
        .env("XDG_DATA_HOME", data(&sandbox));
    let output = CommandOutput::of(full)
        .exits_with(1)
        .stderr_contains("No space left on device");
    assert_eq!(output.stdout, "", "left behind");
}

#[test]
fn unknown_studies_and_drivers_are_named() {
    let sandbox = Sandbox::new();
    let program = installed(&sandbox);
    CommandOutput::of(command(&sandbox, &program, &["run", "quikstart"]))
        .exits_with(2)
        .stderr_contains("no study is named `quikstart` (did you mean `quickstart`?)");
    CommandOutput::of(command(&sandbox, &program, &["driver", "okhttp"]))
        .exits_with(2)
        .stderr_contains("no driver is named `okhttp`; known: hyper, client, quinn, tonic");
}

/// Writes a checkout whose hyper has HTTP/1.1 only. Returns its folder.
fn repository(sandbox: &Sandbox) -> PathBuf {
    let repository = sandbox.work().join("repository");
    let stack = repository.join("stacks/rust");
    let manifest = "[stack]\nneeds = \"sh\"\n[[driver]]\nname = \"hyper\"\n\
                    command = [\"{stack}/driver\", \"{commute}\"]\n\
                    protocols = [\"h1\"]\n";
    fs::create_dir_all(&stack).unwrap();
    fs::write(stack.join("stack.toml"), manifest).unwrap();
    let driver = stack.join("driver");
    fs::write(&driver, "#!/bin/sh\nexec \"$1\" driver hyper\n").unwrap();
    fs::set_permissions(&driver, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(repository.join("studies")).unwrap();
    repository.canonicalize().unwrap()
}

/// Checks the driver hyper, and asserts that it is the built-in one or that of the repository.
#[track_caller]
fn assert_hyper(check: Command, is_built_in: bool, repository: &Path) {
    let output = CommandOutput::of(check).exits_with(0);
    assert_eq!(output.stdout.contains("hyper h2"), is_built_in, "{output}");
    let folder = repository.display();
    let note = format!(
        "note: {folder} has stacks of its own, which are not used: this commute is not below \
         {folder}/target. To use them, add --home '{folder}'"
    );
    let notes = output.stderr.matches(&note).count();
    assert_eq!(notes, usize::from(is_built_in), "{output}");
}

/// The working folder may be a stranger's repository. Its stacks are programs, and so are those for codecs.
#[test]
fn stacks_of_the_working_folder_are_used_only_if_named() {
    let sandbox = Sandbox::new();
    let program = installed(&sandbox);
    let repository = repository(&sandbox);
    let run = |more: &[&str], is_built_in: bool| {
        let mut check = command(&sandbox, &program, &[&CHECK_HYPER[..], more].concat());
        check.current_dir(repository.join("studies"));
        assert_hyper(check, is_built_in, &repository);
    };
    run(&[], true);
    // A relative path is one for drivers, too, which start in other folders.
    run(&["--home", ".."], false);
}

/// Jobs of CI unpack programs into the repository that they test.
#[test]
fn stacks_around_the_binary_are_used_only_if_it_was_built_there() {
    let sandbox = Sandbox::new();
    let program = installed(&sandbox);
    let repository = repository(&sandbox);
    for (place, is_built_in) in [("", true), ("target/release", false)] {
        let folder = repository.join(place);
        fs::create_dir_all(&folder).unwrap();
        let put = folder.join("commute");
        fs::copy(&program, &put).unwrap();
        let check = command(&sandbox, &put, &CHECK_HYPER);
        assert_hyper(check, is_built_in, &repository);
    }
}
