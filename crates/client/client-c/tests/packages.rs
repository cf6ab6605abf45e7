//! The client's packages of a release, each used by a sample of `release/client/samples` against a real server.
//! `make client-packages` builds the packages, and names their folder in `COMMUTE_CLIENT_PACKAGES`.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

#[path = "../../client/tests/common/mod.rs"]
mod common;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{TestServer, start};
use server::Config;
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
const PACKAGES: &str = "COMMUTE_CLIENT_PACKAGES";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A server, and a folder for a package and its sample.
struct Bench {
    server: TestServer,
    folder: TempDir,
}

impl Bench {
    async fn new() -> Bench {
        Bench {
            server: start(Config::default()).await,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Unpacks a package into the folder.
    async fn unpack(&self, name: &str) {
        let package = packages().join(name);
        assert!(
            package.is_file(),
            "{package:?} is missing: make client-packages"
        );
        let mut tar = Command::new("tar");
        tar.arg("-xzf")
            .arg(package)
            .arg("-C")
            .arg(self.folder.path());
        run(tar).await;
    }

    /// Runs a sample, which gets a URL of the server and its root. Returns what it prints.
    async fn get(&self, mut sample: Command) -> String {
        sample
            .arg(self.server.url("/health"))
            .arg(self.server.folder.path().join("ca.pem"));
        run(sample).await
    }
}

fn packages() -> PathBuf {
    let folder = std::env::var_os(PACKAGES);
    PathBuf::from(
        folder.unwrap_or_else(|| panic!("{PACKAGES} names no folder: make client-packages")),
    )
}

/// Runs a command that must succeed, while the server goes on serving. Returns its standard output.
async fn run(mut command: Command) -> String {
    let output = tokio::task::spawn_blocking(move || {
        let output = command.output();
        (
            format!("{command:?}"),
            output.unwrap_or_else(|error| panic!("{command:?}: {error}")),
        )
    });
    let (command, output) = output.await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Returns a command with arguments.
fn command(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Reports whether all programs are there; skips the test if not.
fn are_here(programs: &[&str]) -> bool {
    let missing = programs
        .iter()
        .find(|program| Command::new(program).arg("--version").output().is_err());
    if let Some(missing) = missing {
        testing::skip(&format!("{missing} is missing"));
    }
    missing.is_none()
}

/// Returns the name of the tarball for C of this machine, and of the folder in it.
fn tarball() -> String {
    format!(
        "commute-client-{VERSION}-{}-unknown-linux-gnu",
        std::env::consts::ARCH
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs packages: make client-packages"]
async fn the_c_tarball_is_found_by_pkg_config() {
    if !are_here(&["cc", "pkg-config"]) {
        return;
    }
    let bench = Bench::new().await;
    bench.unpack(&format!("{}.tar.gz", tarball())).await;
    // Where it was not built for.
    let moved = bench.path("else where");
    std::fs::rename(bench.path(&tarball()), &moved).unwrap();
    let sample = bench.path("sample");
    let script = r#"
        cd "$1"
        test "$(pkg-config --modversion commute-client)" = "$2"
        eval "cc -std=c99 -Wall -Wextra -Werror example.c $(pkg-config --cflags --libs commute-client) -o \"$3\""
        # Only compilers need it.
        rm lib/libcommute_client.so
    "#;
    let mut build = command("sh", &["-euc", script, "sh"]);
    build.args([moved.as_os_str(), VERSION.as_ref(), sample.as_ref()]);
    build.env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig"));
    run(build).await;
    let mut sample = Command::new(&sample);
    sample.env("LD_LIBRARY_PATH", moved.join("lib"));
    assert_eq!(bench.get(sample).await, "200\nok\n");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs packages: make client-packages"]
async fn the_c_tarball_is_found_by_cmake() {
    if !are_here(&["cc", "cmake"]) {
        return;
    }
    let bench = Bench::new().await;
    bench.unpack(&format!("{}.tar.gz", tarball())).await;
    let build = bench.path("build");
    let mut configure = command("cmake", &["-S"]);
    configure
        .arg(sample_folder("c"))
        .arg("-B")
        .arg(&build)
        .arg(format!(
            "-DCMAKE_PREFIX_PATH={}",
            bench.path(&tarball()).display()
        ));
    run(configure).await;
    let mut make = command("cmake", &["--build"]);
    make.arg(&build);
    run(make).await;
    for sample in ["sample-client", "sample-client-static"] {
        let answer = bench.get(Command::new(build.join(sample))).await;
        assert_eq!(answer, "200\nok\n", "{sample}");
    }
    // A project that needs another version does not get this one.
    for (wanted, is_found) in [("0.1", true), ("0.1.0", true), ("0.2", false), ("1", false)] {
        let project = bench.path("project");
        std::fs::create_dir_all(&project).unwrap();
        let text = format!(
            "cmake_minimum_required(VERSION 3.13)\nproject(p NONE)\nfind_package(commute-client {wanted} REQUIRED)\n"
        );
        std::fs::write(project.join("CMakeLists.txt"), text).unwrap();
        let found = command("cmake", &["-S", ".", "-B", "build"])
            .arg(format!(
                "-DCMAKE_PREFIX_PATH={}",
                bench.path(&tarball()).display()
            ))
            .current_dir(&project)
            .output()
            .unwrap();
        assert_eq!(found.status.success(), is_found, "{wanted}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs packages: make client-packages"]
async fn the_unity_package_compiles_and_finds_its_library() {
    if !are_here(&["mcs", "mono"]) {
        return;
    }
    if !Path::new("/usr/lib/mono/4.5/System.Net.Http.dll").exists() {
        return testing::skip("libmono-system-net-http4.0-cil is missing");
    }
    let bench = Bench::new().await;
    bench
        .unpack(&format!("com.commute.client-{VERSION}.tgz"))
        .await;
    let package = bench.path("package");
    let sample = bench.path("Sample.exe");
    let mut build = command(
        "mcs",
        &[
            "-langversion:7.2",
            "-warnaserror+",
            "-r:System.Net.Http.dll",
        ],
    );
    build
        .arg(format!("-out:{}", sample.display()))
        .arg(format!("{}/Runtime/*.cs", package.display()))
        .arg(sample_folder("upm").join("Sample.cs"));
    run(build).await;
    let mut mono = Command::new("mono");
    mono.arg(sample)
        .env("LD_LIBRARY_PATH", package.join("Runtime/Plugins/x86_64"));
    assert_eq!(bench.get(mono).await, "200, h2: ok\n");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs packages: make client-packages"]
async fn maven_takes_the_jar_from_its_repository() {
    if !are_here(&["mvn", "javac"]) {
        return;
    }
    let bench = Bench::new().await;
    let name = format!("commute-client-{VERSION}-maven");
    bench.unpack(&format!("{name}.tar.gz")).await;
    let project = bench.path("project");
    let mut copy = command("cp", &["-R"]);
    copy.arg(sample_folder("maven")).arg(&project);
    run(copy).await;
    let root = Path::new(ROOT);
    let mut maven = Command::new(root.join("stacks/maven/verified"));
    maven
        .arg(root.join("bindings/okhttp/maven.sha256"))
        .args(["--quiet", "--batch-mode", "--file"])
        .arg(project.join("pom.xml"))
        .arg(format!("-Dpacked={}", bench.path(&name).display()))
        .args(["compile", "dependency:copy-dependencies"]);
    run(maven).await;
    let mut java = command(
        "java",
        &["-cp", "target/classes:target/dependency/*", "Sample"],
    );
    java.current_dir(project);
    assert_eq!(bench.get(java).await, "200, HTTP/2 by the engine: ok\n");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs packages: make client-packages"]
async fn an_app_builds_with_the_crates() {
    let bench = Bench::new().await;
    let project = bench.path("project");
    let mut copy = command("cp", &["-R"]);
    copy.arg(sample_folder("crates")).arg(&project);
    run(copy).await;
    // The versions that the client was tested with.
    std::fs::copy(
        Path::new(ROOT).join("Cargo.lock"),
        project.join("Cargo.lock"),
    )
    .unwrap();
    let mut cargo = command(env!("CARGO"), &["run", "--quiet"]);
    for package in std::fs::read_dir(packages()).unwrap() {
        let file = package.unwrap().file_name().into_string().unwrap();
        let Some(folder) = file.strip_suffix(".crate") else {
            continue;
        };
        bench.unpack(&file).await;
        let (name, _) = folder.rsplit_once('-').unwrap();
        let path = bench.path(folder).display().to_string();
        cargo
            .arg("--config")
            .arg(format!("patch.crates-io.{name}.path='{path}'"));
    }
    // Kept, so that the next run builds less.
    cargo
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .arg("--target-dir")
        .arg(env!("CARGO_TARGET_TMPDIR"))
        .arg("--")
        .current_dir(&project);
    assert_eq!(bench.get(cargo).await, "200, H2: ok\n");
}

fn sample_folder(name: &str) -> PathBuf {
    Path::new(ROOT).join("release/client/samples").join(name)
}
