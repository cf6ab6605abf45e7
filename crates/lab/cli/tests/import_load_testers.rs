//! `commute import`: the files of load testers.

mod common;

use common::Sandbox;

/// Six runs of each arm, in turns: HTTP/3 is 30 ms faster.
#[test]
fn files_of_load_testers_are_blocks_of_arms() {
    let sandbox = Sandbox::new();
    let mut args = vec!["import".to_owned()];
    for block in 0..6_u64 {
        for (arm, ms) in [("h2", 130), ("new:h3", 100)] {
            let mut log = String::new();
            for request in 0..3 {
                let us = ms * 1000 + block * 137 % 400 + request;
                log += &format!("{}\t200\t{us}\n", 1_795_710_372_562_981 + request);
            }
            // Failures are quick, and no responses.
            log += "1795710372562999\t-1\t100\n1795710372562999\t503\t200\n";
            let name = format!("{}-{block}.tsv", &arm[..2]);
            sandbox.write(&name, &log);
            args.push(format!("{arm}={name}"));
        }
    }
    args.extend(["--network", "office", "--out", "load"].map(str::to_owned));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    sandbox
        .run(&args)
        .exits_with(0)
        .stderr_contains("60 requests in 12 cells")
        .stderr_contains("note: h2load opens its connections before its clock starts");
    sandbox
        .run(&["report", "load", "-v"])
        .exits_with(0)
        .stdout_contains("h2load opens its connections before");
    let records = sandbox.records("load");
    let failed = |cell: &record::Cell| {
        let is_failed = |call: &&record::Call| call.result != record::CallResult::Ok;
        cell.calls.iter().filter(is_failed).count()
    };
    assert!(records.cells().iter().all(|cell| failed(cell) == 2));
    sandbox
        .run(&["report", "load"])
        .exits_with(0)
        .stdout_contains("Use new on office.");
}

#[test]
fn what_a_load_tester_does_not_write_must_be_said() {
    let sandbox = Sandbox::new();
    let log = "1795710372562981\t200\t12824\n";
    sandbox.write("log.tsv", log);
    sandbox.write("h3.tsv", log);
    sandbox.write("broken.tsv", &format!("{log}1795710372562981\t200\tsoon\n"));
    sandbox.write(
        "field.csv",
        "network,arm,protocol,block,end_ns\nn,a,h2,0,9000000\n",
    );
    sandbox.write(
        "gob",
        "\u{7f}\u{3}\u{1}\u{1}\u{6}Result\u{1} and what follows in it",
    );
    sandbox.write(
        "oha.json",
        "{\n  \"summary\": {},\n  \"latencyPercentiles\": {}\n}\n",
    );
    let gzip = sandbox.work().join("k6.gz");
    std::fs::write(&gzip, [0x1f, 0x8b, 8, 0]).unwrap();
    for (file, error) in [
        (
            "log.tsv",
            "log.tsv: line 1: h2load's log does not say which protocol was used; write ARM:PROTOCOL=FILE",
        ),
        (
            "a:h2=broken.tsv",
            "broken.tsv: line 2: `elapsed time` is \"soon\", expected a number",
        ),
        ("a=field.csv", "field.csv: no known load tester writes this"),
        ("k6.gz", "k6.gz: it is compressed: gunzip -c k6.gz > FILE"),
        (
            "gob",
            "vegeta's results in its own encoding: vegeta encode gob > FILE",
        ),
        (
            "h1=oha.json",
            "oha's JSON has no row for each request; write one: oha --output-format csv",
        ),
    ] {
        sandbox
            .run(&["import", file, "--out", "wrong"])
            .exits_with(1)
            .stderr_contains(error);
    }
    sandbox
        .run(&["import", "new:http3=log.tsv", "--out", "wrong"])
        .exits_with(2)
        .stderr_contains("`http3` is not one of h1, h2, h3, grpc, auto");
    sandbox
        .run(&["import", "h3.tsv", "new:h3=log.tsv", "--out", "two"])
        .exits_with(0)
        .stderr_contains("note: each file is one block, an arm has 1, and verdicts need 6");
    let records = sandbox.records("two");
    let arms: Vec<&str> = records
        .cells()
        .iter()
        .map(|cell| cell.arm.as_str())
        .collect();
    assert_eq!(arms, ["h3", "new"]);
}

/// From the missing file on, an arm's files would be compared with those of other moments.
#[test]
fn arms_have_equally_many_files() {
    let sandbox = Sandbox::new();
    for file in ["a.tsv", "b.tsv", "c.tsv"] {
        sandbox.write(file, "1795710372562981\t200\t12824\n");
    }
    let files = ["old:h2=a.tsv", "new:h3=b.tsv", "new:h3=c.tsv"];
    let [old, first, second] = files;
    sandbox
        .run(&["import", old, first, second, "--out", "three"])
        .exits_with(2)
        .stderr_contains("`old` has 1 file and `new` has 2 files");
}
