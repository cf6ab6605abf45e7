//! What drivers see of a user's home that commute, a runtime or a driver is in: no more than that file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{CommandOutput, Sandbox};

const SECRET: &str = "SECRET-of-the-user";
const DRY_RUN: [&str; 3] = ["run", "small.toml", "--dry-run"];

/// A home that others may enter.
struct Home {
    folder: PathBuf,
    /// The same folder behind a link.
    linked: PathBuf,
    /// A shell command that prints a file of the home that others may read.
    read_secret: String,
}

impl Home {
    fn make(sandbox: &Sandbox) -> Home {
        let folder = sandbox.work().join("real/user");
        let inner = folder.join("bin");
        fs::create_dir_all(&inner).unwrap();
        for dir in inner.ancestors().take(3) {
            fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
        }
        symlink("real", sandbox.work().join("link")).unwrap();
        let secret = sandbox.write("real/user/secret", SECRET);
        Home {
            folder,
            linked: sandbox.work().join("link/user"),
            read_secret: format!("cat '{}' >&2; exit 1", secret.display()),
        }
    }
}

/// Adds a study of the stack hyper, whose driver is this command.
fn add_study(sandbox: &Sandbox, driver: &[&str]) {
    sandbox.add_small_study();
    sandbox.add_stack("hyper", r#""h2""#, driver);
}

/// Asserts that a driver that the command starts does not find the secret. The caller's home is `home`.
#[track_caller]
fn assert_hidden(mut command: Command, home: &Path) {
    command.env("HOME", home);
    let output = CommandOutput::of(command).to_string();
    let is_absent = output.contains("secret: No such file or directory");
    assert!(is_absent && !output.contains(SECRET), "{output}");
}

#[test]
fn drivers_see_the_binary_but_not_its_folder() {
    let sandbox = Sandbox::new();
    let home = Home::make(&sandbox);
    add_study(&sandbox, &["/bin/sh", "-c", &home.read_secret]);
    let program = home.folder.join("commute");
    fs::copy(env!("CARGO_BIN_EXE_commute"), &program).unwrap();
    for user in common::users() {
        // The folder is the caller's home, or that of another user.
        for own in [&home.linked, &sandbox.home()] {
            let mut command = Command::new(&program);
            command.args(DRY_RUN);
            sandbox.configure(&mut command, user);
            assert_hidden(command, own);
        }
    }
}

#[test]
fn drivers_see_a_program_but_not_the_home_that_it_is_in() {
    let sandbox = Sandbox::new();
    let home = Home::make(&sandbox);
    let program = home.folder.join("bin/sh");
    fs::copy("/bin/sh", &program).unwrap();
    let link = sandbox.work().join("sh");
    symlink(&program, &link).unwrap();
    for path in [program, link] {
        add_study(&sandbox, &[path.to_str().unwrap(), "-c", &home.read_secret]);
        for user in common::users() {
            assert_hidden(sandbox.commute_as(user, &DRY_RUN), &home.linked);
        }
    }
}

#[test]
fn drivers_see_their_own_file_but_not_the_home_around_it() {
    let sandbox = Sandbox::new();
    let home = Home::make(&sandbox);
    sandbox.add_small_study();
    let script = format!("#!/bin/sh\n{}\n", home.read_secret);
    let driver = sandbox.write("real/user/driver", &script);
    fs::set_permissions(&driver, Permissions::from_mode(0o755)).unwrap();
    let check = [
        "stacks",
        "check",
        driver.to_str().unwrap(),
        "--case",
        "unknown",
    ];
    for user in common::users() {
        assert_hidden(sandbox.commute_as(user, &check), &home.linked);
    }
}
