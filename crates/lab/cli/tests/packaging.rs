//! `release/pack`: wheels, npm packages and Debian packages carry the binary, and the same binary gives the same bytes. A
//! script stands for the binary. `release/common`: tarballs and hashes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{CommandOutput, file_names, find_program, repository};

/// Stands for the binary.
const PROGRAM: &str =
    "#!/bin/sh\n[ \"$1\" != die ] || kill -TERM $$\necho \"packed: $*\"\nexit 7\n";
/// Files of a tarball besides the binary.
const FILES: [&str; 9] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "THIRD-PARTY.txt",
    "commute.cdx.json",
    "completions/commute",
    "completions/commute.fish",
    "completions/_commute",
];
/// Compares the files of a wheel with its list, and its name with its tag.
const CHECK_RECORD: &str = r"
import base64, csv, hashlib, io, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
names = archive.namelist()
record = next(name for name in names if name.endswith('.dist-info/RECORD'))
rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
assert [row[0] for row in rows] == names, (rows, names)
for name, digest, size in rows:
    if name != record:
        content = archive.read(name)
        found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
        assert (digest, size) == ('sha256=' + found, str(len(content))), name
tag = archive.read(record.replace('RECORD', 'WHEEL')).decode().splitlines()[-1]
assert sys.argv[1].endswith(tag.replace('Tag: ', '-') + '.whl'), tag
print('\n'.join(names))
";

/// Writes what `release/build` puts into a tarball. Returns its folder.
fn unpacked(parent: &Path, target: &str) -> PathBuf {
    let folder = parent.join(format!("commute-1.2.3-{target}"));
    for name in ["completions", "man"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    for name in FILES
        .into_iter()
        .chain(["man/commute.1", "man/commute-run.1"])
    {
        fs::write(folder.join(name), format!("The text of {name}.\n")).unwrap();
    }
    let program = folder.join("commute");
    fs::write(&program, PROGRAM).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn pack(folder: &Path, dist: &Path) -> CommandOutput {
    fs::create_dir_all(dist).unwrap();
    let mut command = Command::new("sh");
    // The mode mask must not be seen in packages.
    command.args(["-c", "umask 077; exec \"$0\" \"$@\""]);
    command.arg(repository().join("release/pack"));
    command.args([folder, dist]);
    command.env("SOURCE_DATE_EPOCH", "1700000000");
    CommandOutput::of(command)
}

/// Packs this machine's target with glibc. Returns the folder of the packages.
fn packed(parent: &Path) -> PathBuf {
    let dist = parent.join("dist");
    pack(
        &unpacked(parent, &format!("{ARCH}-unknown-linux-gnu")),
        &dist,
    )
    .exits_with(0);
    dist
}

fn run(program: &str, args: &[&Path]) -> CommandOutput {
    let mut command = Command::new(program);
    command.args(args);
    CommandOutput::of(command)
}

#[test]
fn every_target_has_its_packages() {
    let dir = tempfile::tempdir().unwrap();
    let table = fs::read_to_string(repository().join("release/targets")).unwrap();
    let dist = dir.path().join("dist");
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let target = line.split_whitespace().next().unwrap();
        pack(&unpacked(dir.path(), target), &dist).exits_with(0);
    }
    let expected = [
        "commute-1.2.3-py3-none-manylinux_2_28_aarch64.whl",
        "commute-1.2.3-py3-none-manylinux_2_28_x86_64.whl",
        "commute-1.2.3-py3-none-musllinux_1_2_aarch64.whl",
        "commute-1.2.3-py3-none-musllinux_1_2_x86_64.whl",
        "commute-1.2.3.tgz",
        "commute-linux-arm64-gnu-1.2.3.tgz",
        "commute-linux-arm64-musl-1.2.3.tgz",
        "commute-linux-x64-gnu-1.2.3.tgz",
        "commute-linux-x64-musl-1.2.3.tgz",
        "commute_1.2.3_amd64.deb",
        "commute_1.2.3_arm64.deb",
    ];
    let mut found = file_names(&dist);
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn folder_and_time_are_not_in_the_packages() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second/longer"].map(|name| {
        let folder = dir.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        packed(&folder)
    });
    let names = file_names(&first);
    assert_eq!(names.len(), 4, "{names:?}");
    for name in names {
        let [one, two] = [&first, &second].map(|dist| fs::read(dist.join(&name)).unwrap());
        assert!(one == two, "{name} differs");
    }
}

#[test]
fn pip_installs_the_wheel() {
    let dir = tempfile::tempdir().unwrap();
    let dist = packed(dir.path());
    let names = file_names(&dist);
    let wheel = dist.join(names.iter().find(|name| name.ends_with(".whl")).unwrap());
    let list = run(
        "python3",
        &[Path::new("-c"), Path::new(CHECK_RECORD), &wheel],
    )
    .exits_with(0);
    for name in ["licenses/LICENSE-MIT", "sboms/commute.cdx.json", "METADATA"] {
        assert!(
            list.stdout.contains(&format!(".dist-info/{name}\n")),
            "{}",
            list.stdout
        );
    }
    let python = dir.path().join("python");
    run("python3", &["-m".as_ref(), "venv".as_ref(), &python]).exits_with(0);
    // By its name, so that pip judges the tags.
    let mut pip = Command::new(python.join("bin/pip"));
    pip.args(["install", "--no-index", "--find-links"]);
    pip.arg(&dist).arg("commute==1.2.3");
    CommandOutput::of(pip).exits_with(0);
    run(
        python.join("bin/commute").to_str().unwrap(),
        &["networks".as_ref()],
    )
    .exits_with(7)
    .stdout_contains("packed: networks");
    assert!(python.join("share/man/man1/commute-run.1").is_file());
}

#[test]
fn npm_packages_start_the_binary() {
    if find_program("node").is_none() {
        return testing::skip("Node.js is missing");
    }
    let dir = tempfile::tempdir().unwrap();
    let dist = packed(dir.path());
    let modules = dir.path().join("node_modules");
    let unpack = |package: &str| {
        let folder = modules.join(package);
        fs::create_dir_all(&folder).unwrap();
        let archive = dist.join(format!("{package}-1.2.3.tgz"));
        let tar = [
            "-xzf".as_ref(),
            &*archive,
            "--strip-components=1".as_ref(),
            "-C".as_ref(),
        ];
        run("tar", &[&tar[..], &[&folder]].concat()).exits_with(0);
    };
    unpack("commute");
    let launcher = modules.join("commute/bin/commute.js");
    run("node", &[&launcher])
        .exits_with(1)
        .stderr_contains("the npm package commute-linux-")
        .stderr_contains("is missing");
    for (system, advice) in [
        ("darwin", "macOS: it needs Linux, on x64 or arm64. Lima"),
        ("win32", "Windows: it needs Linux, on x64 or arm64. WSL 2"),
        ("freebsd", "or a container is enough"),
    ] {
        let pretend = dir.path().join("pretend.js");
        let code = format!("Object.defineProperty(process, 'platform', {{ value: '{system}' }});");
        fs::write(&pretend, code).unwrap();
        run("node", &["--require".as_ref(), &pretend, &launcher])
            .exits_with(1)
            .stderr_contains("none of its verbs works")
            .stderr_contains(advice);
    }
    let processor = if ARCH == "aarch64" { "arm64" } else { "x64" };
    unpack(&format!("commute-linux-{processor}-gnu"));
    run("node", &[&launcher, "run".as_ref(), "a b".as_ref()])
        .exits_with(7)
        .stdout_contains("packed: run a b");
    // As a shell reports a signal.
    run("node", &[&launcher, "die".as_ref()]).exits_with(128 + 15);
}

#[test]
fn the_debian_package_follows_its_policy() {
    let dir = tempfile::tempdir().unwrap();
    let dist = packed(dir.path());
    let names = file_names(&dist);
    let package = dist.join(names.iter().find(|name| name.ends_with(".deb")).unwrap());
    let list = run("dpkg-deb", &["--contents".as_ref(), &package]).exits_with(0);
    for line in [
        "-rwxr-xr-x root/root",
        "./usr/bin/commute\n",
        "./usr/share/man/man1/commute-run.1.gz\n",
        "./usr/share/doc/commute/copyright\n",
        "./usr/share/doc/commute/changelog.gz\n",
        "./usr/share/bash-completion/completions/commute\n",
    ] {
        assert!(
            list.stdout.contains(line),
            "{line} is not in\n{}",
            list.stdout
        );
    }
    // For all, whatever the mode mask was.
    let entries = list.stdout.lines();
    let closed = entries.filter(|line| {
        !line.contains("r-x root/root") && !line.starts_with("-rw-r--r-- root/root")
    });
    assert_eq!(closed.collect::<Vec<_>>(), Vec::<&str>::new());
    run("dpkg-deb", &["--field".as_ref(), &package])
        .exits_with(0)
        .stdout_contains("Version: 1.2.3\n")
        .stdout_contains("Depends: libc6 (>= 2.28)\n");
}

#[test]
fn other_folders_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for target in ["riscv64gc-unknown-linux-gnu", "x86_64-unknown-linux-gnu.2"] {
        pack(&unpacked(dir.path(), target), &dir.path().join("dist"))
            .exits_with(1)
            .stderr_contains(&format!(
                "commute-1.2.3-{target} is not commute-X.Y.Z-TARGET"
            ));
    }
}

/// Runs lines of a shell in a folder with the functions of `release/common`, for version 1.2.3.
fn run_with_common(folder: &Path, lines: &str) -> CommandOutput {
    let mut command = Command::new("sh");
    let head = "{ . \"$0\"; } 2>/dev/null; set -eu; version=1.2.3; SOURCE_DATE_EPOCH=1700000000";
    command.args(["-c", &format!("{head}\n{lines}")]);
    command
        .arg(repository().join("release/common"))
        .current_dir(folder);
    CommandOutput::of(command)
}

#[test]
fn tarballs_are_the_same_whatever_the_mode_mask_was() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "for mask in 022 077; do
            (umask $mask; mkdir -p $mask/x/man dist; echo 1 >$mask/x/man/a.1; echo 2 >$mask/x/commute; chmod u+x $mask/x/commute)
            archive $mask x
            mv dist/x.tar.gz $mask.tar.gz
        done
        cmp 022.tar.gz 077.tar.gz
        tar -tvf 077.tar.gz
        ls dist";
    let list = run_with_common(dir.path(), lines).exits_with(0).stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 4, "{list}");
    for (line, (mode, name)) in lines.iter().zip([
        ("drwxr-xr-x", "x/"),
        ("-rwxr-xr-x", "x/commute"),
        ("drwxr-xr-x", "x/man/"),
        ("-rw-r--r--", "x/man/a.1"),
    ]) {
        assert!(line.starts_with(mode) && line.ends_with(name), "{list}");
    }
}

#[test]
fn a_tarball_without_its_folder_fails() {
    let dir = tempfile::tempdir().unwrap();
    run_with_common(dir.path(), "mkdir dist; archive . missing; echo made")
        .exits_with(1)
        .stderr_contains("missing: Cannot stat");
    assert_eq!(file_names(&dir.path().join("dist")), Vec::<String>::new());
}

#[test]
fn files_of_another_version_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    run_with_common(dir.path(), "refuse_others").exits_with(0);
    let dist = dir.path().join("dist");
    for target in ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"] {
        pack(&unpacked(dir.path(), target), &dist).exits_with(0);
    }
    run_with_common(dir.path(), "write_hashes; refuse_others").exits_with(0);
    for name in ["commute_1.2.2_amd64.deb", "commute-11.2.3.tgz"] {
        let other = dist.join(name);
        fs::write(&other, "").unwrap();
        run_with_common(dir.path(), "refuse_others")
            .exits_with(1)
            .stderr_contains(&format!(
                "not of version 1.2.3; move them away: dist/{name}"
            ));
        fs::remove_file(&other).unwrap();
    }
}
