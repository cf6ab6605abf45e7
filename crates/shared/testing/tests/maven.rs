//! `stacks/maven/verified` runs a plugin only where every artifact is as its list says. The plugin and a library of its
//! come from a repository of files, so no network is needed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A goal that leaves a file.
const PROBE: &str = r#"
public class Probe extends org.apache.maven.plugin.AbstractMojo {
    public void execute() {
        try {
            java.nio.file.Files.createFile(java.nio.file.Paths.get("ran"));
        } catch (java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
"#;
const DESCRIPTOR: &str = "<plugin>
<groupId>test</groupId><artifactId>probe</artifactId><version>1</version><goalPrefix>probe</goalPrefix>
<mojos><mojo><goal>run</goal><implementation>Probe</implementation><language>java</language>
<instantiationStrategy>per-lookup</instantiationStrategy></mojo></mojos>
</plugin>";
const PROJECT: &str = "<project>
<modelVersion>4.0.0</modelVersion>
<groupId>test</groupId><artifactId>project</artifactId><version>1</version><packaging>pom</packaging>
<build><plugins><plugin>
<groupId>test</groupId><artifactId>probe</artifactId><version>1</version>
<executions><execution><phase>validate</phase><goals><goal>run</goal></goals></execution></executions>
</plugin></plugins></build>
</project>";
/// What the build loads. A plugin without plexus-utils would get some version of it from Maven 3.8.
const ARTIFACTS: [&str; 4] = [
    "org/codehaus/plexus/plexus-utils/1/plexus-utils-1.jar",
    "org/codehaus/plexus/plexus-utils/1/plexus-utils-1.pom",
    "test/probe/1/probe-1.jar",
    "test/probe/1/probe-1.pom",
];
const HELPER: &str = ARTIFACTS[0];

/// A home with a repository that Maven fetches from, its own local one, and a project.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench {
            folder: tempfile::tempdir().unwrap(),
        };
        let version = run(Command::new("mvn").args(["--version", "-Dstyle.color=never"]));
        let version = String::from_utf8(version.stdout).unwrap();
        let maven = (version.lines().find_map(|l| l.strip_prefix("Maven home: "))).unwrap();
        bench.write("classes/META-INF/maven/plugin.xml", DESCRIPTOR);
        bench.write("Probe.java", PROBE);
        run(Command::new("javac")
            .args(["--release", "8", "-Xlint:-options", "-classpath"])
            .args([&format!("{maven}/lib/*"), "-d"])
            .args([bench.path("classes"), bench.path("Probe.java")]));
        let helper = "<groupId>org.codehaus.plexus</groupId><artifactId>plexus-utils</artifactId><version>1</version>";
        let probe = "<groupId>test</groupId><artifactId>probe</artifactId><version>1</version>\
                     <packaging>maven-plugin</packaging>";
        let dependencies =
            format!("<dependencies><dependency>{helper}</dependency></dependencies>");
        let probe = format!("{probe}{dependencies}");
        for (jar, content, pom) in [
            (ARTIFACTS[0], "Probe.java", helper),
            (ARTIFACTS[2], "classes", &probe),
        ] {
            let jar = format!("remote/{jar}");
            let pom = format!("<project><modelVersion>4.0.0</modelVersion>{pom}</project>");
            bench.write(&jar.replace(".jar", ".pom"), &pom);
            let content = bench.path(content);
            let (folder, name) = match content.is_dir() {
                true => (content.as_path(), Path::new(".")),
                false => (bench.folder.path(), Path::new("Probe.java")),
            };
            run(Command::new("jar")
                .arg("cf")
                .arg(bench.path(&jar))
                .arg("-C")
                .args([folder, name]));
        }
        for artifact in ARTIFACTS {
            bench.publish(artifact);
        }
        let remote = bench.path("remote");
        let settings = format!(
            "<settings><mirrors><mirror><id>files</id><mirrorOf>*</mirrorOf><url>file://{}</url></mirror></mirrors></settings>",
            remote.display()
        );
        bench.write(".m2/settings.xml", &settings);
        bench.write("project/pom.xml", PROJECT);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes the SHA-1 that Maven compares a download with.
    fn publish(&self, artifact: &str) {
        let file = self.path(&format!("remote/{artifact}"));
        let sum = run(Command::new("sha1sum").arg(&file));
        let sum = String::from_utf8(sum.stdout).unwrap();
        self.write(&format!("remote/{artifact}.sha1"), &sum[..40]);
    }

    fn list(&self) -> String {
        fs::read_to_string(self.path("list")).unwrap()
    }

    /// Builds the project, and returns what was printed if the build failed. The plugin must then not have run.
    fn build(&self, record: bool) -> Result<(), String> {
        let project = self.path("project");
        let mut verified = Command::new(root().join("stacks/maven/verified"));
        verified
            .arg(self.path("list"))
            .args(["--quiet", "--batch-mode", "validate"])
            .current_dir(&project)
            .env(
                "MAVEN_OPTS",
                format!("-Duser.home={}", self.folder.path().display()),
            )
            .env("MAVEN_SKIP_RC", "1")
            // Starts faster.
            .env(
                "JAVA_TOOL_OPTIONS",
                "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            )
            .env("COMMUTE_MAVEN_RECORD", if record { "1" } else { "" });
        let output = verified.output().unwrap();
        let ran = fs::remove_file(project.join("ran")).is_ok();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        // Recording refuses after the build.
        assert!(
            record || output.status.success() == ran,
            "ran: {ran}\n{text}"
        );
        if output.status.success() {
            Ok(())
        } else {
            Err(text.into_owned())
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Runs a command that must succeed.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

/// Returns a list with another hash for an artifact.
fn other_hash(list: &str, artifact: &str) -> String {
    let line = list.lines().find(|line| line.ends_with(artifact)).unwrap();
    list.replace(line, &format!("{}  {artifact}", "0".repeat(64)))
}

#[test]
fn maven_runs_no_plugin_unless_all_artifacts_are_as_listed() {
    for tool in ["mvn", "javac"] {
        if Command::new(tool).arg("-version").output().is_err() {
            return testing::skip(&format!("{tool} is missing"));
        }
    }
    let bench = Bench::new();
    bench.build(true).unwrap();
    let list = bench.list();
    let paths: Vec<&str> = list.lines().map(|line| &line[66..]).collect();
    assert_eq!(paths, ARTIFACTS);
    bench.build(false).unwrap();

    bench.write("list", &other_hash(&list, HELPER));
    let message = bench.build(false).unwrap_err();
    assert!(
        message.contains("plexus-utils-1.jar has the SHA-256"),
        "{message}"
    );
    assert!(message.contains("no plugin ran"), "{message}");
    let message = bench.build(true).unwrap_err();
    assert!(
        message.contains("plexus-utils-1.jar has another hash"),
        "{message}"
    );

    let without = list.lines().filter(|line| !line.ends_with(HELPER));
    bench.write(
        "list",
        &without.map(|line| format!("{line}\n")).collect::<String>(),
    );
    let message = bench.build(false).unwrap_err();
    assert!(message.contains("plexus-utils:jar:1"), "{message}");

    bench.write("list", &list);
    fs::write(bench.path(".m2/repository").join(HELPER), "changed").unwrap();
    let message = bench.build(false).unwrap_err();
    assert!(
        message.contains("plexus-utils-1.jar has the SHA-256"),
        "{message}"
    );
}
