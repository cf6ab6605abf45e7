//! `commute trace`: what it imports, prints and writes, and that a network reads it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use common::{CommandOutput, Sandbox, User};
use link::Trace;

/// Two rows in the same second, a row without a rate, and a gap of nine seconds.
const IRISH: &str = "Timestamp,Operatorname,NetworkMode,DL_bitrate,UL_bitrate\n\
    2020.02.27_18.39.27,A,5G,12000,300\n\
    2020.02.27_18.39.28,A,5G,9000,310\n\
    2020.02.27_18.39.28,A,5G,7000,330\n\
    2020.02.27_18.39.29,\"A, B\",5G,24000,20\n\
    2020.02.27_18.39.30,A,LTE,-,20\n\
    2020.02.27_18.39.39,A,LTE,700,20\n";
const NETWORK: &str =
    "about = 'a'\nsource = 's'\n[down]\ntrace = 'a.trace'\nqueue_ms = 500\n[up]\n";

fn read(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.work().join(name)).unwrap()
}

fn trace(sandbox: &Sandbox, name: &str) -> Trace {
    Trace::parse(&read(sandbox, name)).unwrap()
}

/// Runs a script in which `$0` is commute.
fn script(sandbox: &Sandbox, script: &str) -> CommandOutput {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_commute")]);
    sandbox.configure(&mut command, User::Caller);
    CommandOutput::of(command)
}

#[test]
fn a_network_reads_what_is_imported() {
    let sandbox = Sandbox::new();
    sandbox.write("bus.txt", "0.0 12\n0.5 24\n1.0 0\n1.5 6\n");
    let import = "trace import bus.txt --format pensieve --out a.trace";
    let output = sandbox.run(&import.split(' ').collect::<Vec<_>>());
    output.exits_with(0).stderr_contains(
        "a.trace: written, 2 s at 10.5 Mbit/s in the mean; in a network file: trace = \"a.trace\"",
    );
    let imported = trace(&sandbox, "a.trace");
    assert_eq!(imported.period_ms(), 2000);
    assert_eq!(imported.times_ms().len(), 1750);
    sandbox.write("net.toml", NETWORK);
    let output = sandbox.run(&["networks", "net.toml", "--format", "json"]);
    let network: serde_json::Value = serde_json::from_str(&output.exits_with(0).stdout).unwrap();
    let text = network.to_string();
    let times = serde_json::to_string(imported.times_ms()).unwrap();
    assert!(text.contains(&times), "{text}");
}

#[test]
fn the_irish_set_is_read_with_its_gaps() {
    let sandbox = Sandbox::new();
    sandbox.write("irish.csv", IRISH);
    let import = |more: &[&str]| {
        let args = ["trace", "import", "irish.csv", "--format", "g-nettrack"];
        sandbox.run(&[&args, more, &["--out", "a.trace"]].concat())
    };
    import(&[]).exits_with(1).stderr_contains(
        "irish.csv: line 6: the row has no rate; state what holds then: --gaps hold",
    );
    assert!(!sandbox.work().join("a.trace").exists());
    let held = import(&["--gaps", "hold"]).exits_with(0);
    testing::golden(common::golden_path("trace-import.txt"), &held.stderr);
    // 12 for 1 s, 8 for 1 s, 24 for 10 s, 0.7 Mbit/s for 1 s.
    assert_eq!(trace(&sandbox, "a.trace").mean_bps(), 260_700_000 / 13);
    import(&["--gaps", "zero", "--force"]).exits_with(0);
    let zero = trace(&sandbox, "a.trace");
    assert_eq!(zero.period_ms(), 13_000);
    assert_eq!(zero.mean_bps() / 1000, 44_700 / 13);
    let upload = ["--rate-column", "UL_bitrate", "--max-gap", "9s", "--force"];
    import(&upload)
        .exits_with(0)
        .stderr_contains("rate in kbit/s from column \"UL_bitrate\"")
        .stderr_contains("less than GPRS at its best (171 kbit/s); check the unit");
}

#[test]
fn columns_are_read_as_they_are_stated() {
    let sandbox = Sandbox::new();
    let rows = "run,ms,rate\n1,0,1.5\n2,0,9\n1,1000,1.5\n2,1000,9\n";
    sandbox.write("runs.csv", rows);
    let args = "trace import runs.csv --format columns --time-column ms --time-unit ms \
                --rate-column 3 --rate-unit MB/s --where run=1 --from 500ms --for 1s --out -";
    let output = sandbox.run(&args.split_whitespace().collect::<Vec<_>>());
    let text = &output.exits_with(0).stdout;
    let times: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
    assert_eq!(*text, times);
    // From standard input.
    let output = script(
        &sandbox,
        "printf '5\\n7\\n' | \"$0\" trace import - --format mahimahi --out -",
    );
    assert_eq!(output.exits_with(0).stdout, "5\n7\n");
}

#[test]
fn mistakes_name_what_would_be_right() {
    let sandbox = Sandbox::new();
    sandbox.write("bus.txt", "0 1\n1 2\n");
    sandbox.write("evil.csv", "t,\u{1b}[2J\u{202e}r\n0,1\n");
    sandbox.write("big.txt", "0 1\n1 99999\n");
    sandbox.write("wide.txt", "0 549 59.8\n");
    for (code, args, answer) in [
        (
            2,
            "import none.txt --format pensieve --out a",
            "cannot read none.txt: No such file",
        ),
        (2, "import bus.txt --out a", "--format <FORMAT>"),
        (
            2,
            "import bus.txt --format columns --time-column 1 --rate-unit bit/s --out a",
            "--format columns assumes nothing; state --time-unit, --rate-column",
        ),
        (
            2,
            "import bus.txt --format mahimahi --gaps hold --out a",
            "--gaps is for columns, and --format mahimahi has none",
        ),
        (
            1,
            "import bus.txt --format mahimahi --out a",
            "bus.txt: line 1: \"0 1\" is not a whole number of milliseconds, e.g. 12; for columns of time and rate",
        ),
        (
            1,
            "import evil.csv --format lumos5g --out a",
            "evil.csv: line 1: the header has no column \"seq_num\"; it has \"t\", \"\\u{1b}[2J\\u{202e}r\"",
        ),
        (
            1,
            "import big.txt --format pensieve --out a",
            "big.txt: line 2: column 2: \"99999\" Mbit/s is more than 20 Gbit/s",
        ),
        (
            1,
            "import . --format pensieve --out a",
            ".: cannot be read: Is a directory",
        ),
        (
            2,
            "import bus.txt --format pensieve --from 5 --out a",
            "write a number and a unit, e.g. 500ms or 30s",
        ),
        (
            2,
            "import bus.txt --format pensieve --for 0s --out a",
            "the shortest is 1ms",
        ),
        (
            2,
            "import bus.txt --format pensieve --where run --out a",
            "write COLUMN=VALUE, e.g. run_num=3",
        ),
        (
            2,
            "import bus.txt --format pensieve --out none/a",
            "cannot write none/a: No such file",
        ),
        (
            2,
            "summarise bus.txt --outage 99999999999999999999s",
            "the longest is 86400s",
        ),
        (
            2,
            "import bus.txt --format pensieve --for 1.5ms --out a",
            "write whole milliseconds, e.g. 12ms",
        ),
        (
            1,
            "import wide.txt --format pensieve --out a",
            "wide.txt: line 1: the row has 3 columns, separated by spaces, and the format has 2",
        ),
        (
            1,
            "summarise bus.txt",
            "bus.txt: line 1 of the trace is not a whole number",
        ),
        (
            1,
            "plot bus.txt",
            "bus.txt: line 1 of the trace is not a whole number",
        ),
        (2, "plot bus.txt --force", "--out <FILE>"),
        (
            2,
            "generate --mean 5 --duration 60s --out a",
            "write a number and a unit, e.g. 10Mbit/s",
        ),
        (
            2,
            "generate --mean 5Mbit/s --cv 4 --duration 60s --out a",
            "the coefficient of variation must be from 0 to 3",
        ),
        (
            2,
            "generate --mean 5Gbit/s --cv 0 --duration 60s --out a",
            "the trace has 25000000 opportunities of 1500 bytes, and a network reads at most 5000000; give a \
             lower --mean or --duration",
        ),
        (
            2,
            "generate --mean 5Mbit/s --good 1s --duration 60s --out a",
            "--bad <TIME>",
        ),
    ] {
        let args: Vec<&str> = ["trace"].into_iter().chain(args.split(' ')).collect();
        let output = sandbox.run(&args).exits_with(code).stderr_contains(answer);
        assert!(!output.stderr.contains('\u{1b}'), "{output}");
        assert_eq!(common::file_names(&sandbox.work()).len(), 4, "{output}");
    }
}

#[test]
fn nothing_is_overwritten_by_chance_or_by_half() {
    let sandbox = Sandbox::new();
    sandbox.write("bus.txt", "0 12\n1 12\n");
    sandbox.write("a.trace", "mine");
    sandbox.write("page.html", "mine");
    let import = "trace import bus.txt --format pensieve --out";
    let run = |command: &str, file: &str, more: &[&str]| {
        let args: Vec<&str> = command.split(' ').chain([file]).collect();
        sandbox.run(&[&args, more].concat())
    };
    for (command, file) in [
        (import, "a.trace"),
        (
            "trace generate --mean 1Mbit/s --duration 1s --out",
            "a.trace",
        ),
        ("trace plot bus.txt --out", "page.html"),
    ] {
        run(command, file, &[]).exits_with(2).stderr_contains(
            "exists already; name another file with --out, or overwrite it with --force",
        );
        assert_eq!(read(&sandbox, file), "mine", "{command}");
    }
    // A link stays one.
    symlink("a.trace", sandbox.work().join("link")).unwrap();
    run(import, "link", &["--force"]).exits_with(0);
    assert!(sandbox.work().join("link").is_symlink());
    assert_eq!(trace(&sandbox, "a.trace").mean_bps(), 12_000_000);
    let mode = fs::metadata(sandbox.work().join("a.trace"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o666 & !umask(&sandbox), "{mode:o}");
    // A link to nothing is refused, and rights are kept.
    symlink("none/x", sandbox.work().join("dangling")).unwrap();
    run(import, "dangling", &["--force"]).exits_with(2);
    assert!(sandbox.work().join("dangling").is_symlink());
    fs::remove_file(sandbox.work().join("dangling")).unwrap();
    let private = sandbox.work().join("a.trace");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    run(import, "a.trace", &["--force"]).exits_with(0);
    let mode = fs::metadata(&private).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Not even --force replaces what is not a file.
    run(import, ".", &["--force"])
        .exits_with(2)
        .stderr_contains("--out .: not a file");
    run(import, "/dev/null", &["--force"])
        .exits_with(2)
        .stderr_contains("--out /dev/null: not a file");
    // A mistake in the file leaves the old trace as it is.
    sandbox.write("bus.txt", "0 12\n1 x\n");
    run(import, "a.trace", &["--force"]).exits_with(1);
    assert_eq!(trace(&sandbox, "a.trace").mean_bps(), 12_000_000);
    let left = ["a.trace", "bus.txt", "link", "page.html"];
    assert_eq!(common::file_names(&sandbox.work()), left);
}

fn umask(sandbox: &Sandbox) -> u32 {
    let printed = script(sandbox, "umask").exits_with(0).stdout;
    u32::from_str_radix(printed.trim(), 8).unwrap()
}

#[test]
fn a_summary_is_text_or_json() {
    let sandbox = Sandbox::new();
    let times: String = (1..=1000)
        .chain((1502..=2000).step_by(2))
        .map(|ms| format!("{ms}\n"))
        .collect();
    sandbox.write("a.trace", &times);
    let text = sandbox
        .run(&["trace", "summarise", "a.trace"])
        .exits_with(0);
    testing::golden(common::golden_path("trace-summary.txt"), &text.stdout);
    let json = sandbox
        .run(&[
            "trace",
            "summarise",
            "a.trace",
            "--format",
            "json",
            "--outage",
            "502ms",
        ])
        .exits_with(0);
    testing::golden(common::golden_path("trace-summary.json"), &json.stdout);
    let plot = sandbox.run(&["trace", "plot", "a.trace"]).exits_with(0);
    testing::golden(common::golden_path("trace-plot.txt"), &plot.stdout);
    sandbox
        .run(&["trace", "plot", "a.trace", "--out", "page.html"])
        .exits_with(0)
        .stderr_contains("page.html: written");
    let page = read(&sandbox, "page.html");
    assert!(page.contains("<h1>The trace a.trace</h1>"), "{page}");
}

#[test]
fn a_seed_generates_the_same_trace() {
    let sandbox = Sandbox::new();
    let generate = |seed: &str| {
        let args =
            "trace generate --mean 5Mbit/s --good 2s --bad 500ms --duration 10s --out - --seed";
        let args: Vec<&str> = args.split(' ').chain([seed]).collect();
        sandbox.run(&args).exits_with(0)
    };
    let first = generate("7");
    assert_eq!(first.stdout, generate("7").stdout);
    assert_ne!(first.stdout, generate("8").stdout);
    assert_eq!(
        first.stderr,
        "note: the file does not hold its model: log-normal rate, mean 5 Mbit/s, CV 0.5, correlation time 1 s; fades \
         of 500 ms after 2 s each, in the mean; seed 7\n"
    );
    assert_eq!(Trace::parse(&first.stdout).unwrap().period_ms(), 10_000);
}
