//! `commute import`: requests measured elsewhere become a run like any other.

mod common;

use common::Sandbox;

/// Returns invented measurements: twelve blocks in which h3 is 30 ms faster.
fn field_csv() -> String {
    let mut text = String::from("network,arm,protocol,block,group,tls_ns,end_ns,result\n");
    for block in 0..12 {
        let noise = block * 37_000 % 400_000;
        text += &format!(
            "train,ios h2,h2,{block},first,90000000,{},ok\n",
            130_000_000 + noise
        );
        text += &format!(
            "train,ios h3,h3,{block},first,60000000,{},\n",
            100_000_000 + noise
        );
    }
    text
}

#[test]
fn report_of_imported_run_has_verdicts_and_names_its_source() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("field.csv", &field_csv());
    let import = ["import", file.to_str().unwrap(), "--out", "field"];
    sandbox
        .run(&import)
        .exits_with(0)
        .stderr_contains("24 requests in 24 cells");
    sandbox
        .run(&["report", "field"])
        .exits_with(0)
        .stdout_contains("Use ios h3 on train.")
        .stdout_contains("measured elsewhere")
        .stdout_contains("Protocol reported by the client only, not verified: ");
    // Importing the exported CSV restores the cells.
    let exported = sandbox
        .run(&["report", "field", "--format", "csv"])
        .exits_with(0)
        .stdout;
    let file = sandbox.write("exported.csv", &exported);
    let import = ["import", file.to_str().unwrap(), "--out", "reimported"];
    sandbox.run(&import).exits_with(0);
    let (original, reimported) = (sandbox.records("field"), sandbox.records("reimported"));
    assert_eq!(original.cells(), reimported.cells());
}

#[test]
fn groups_without_a_success_are_reported() {
    let sandbox = Sandbox::new();
    let mut text = field_csv();
    for block in 0..12 {
        text += &format!("train,ios h3,h3,{block},lost,,30000000000,timed_out\n");
    }
    sandbox.write("field.csv", &text);
    sandbox
        .run(&["import", "field.csv", "--out", "field"])
        .exits_with(0);
    sandbox
        .run(&["report", "field", "-v"])
        .exits_with(0)
        .stdout_contains("12 of 12 requests timed out");
    let one = "network,arm,protocol,block,end_ns\nn,a,h2,0,9000000\n";
    sandbox.write("one.csv", one);
    sandbox
        .run(&["import", "one.csv", "--out", "one"])
        .exits_with(0)
        .stderr_contains("1 request in 1 cell; next:");
}

#[test]
fn attempts_that_do_not_count_are_left_out() {
    let sandbox = Sandbox::new();
    let mut text = String::from("network,arm,protocol,block,cell_status,end_ns\n");
    for (status, ns) in [("counted", 7), ("", 8), ("repeated", 9), ("superseded", 10)] {
        text += &format!("n,a,h2,0,{status},{ns}000000\n");
    }
    sandbox.write("own.csv", &text);
    sandbox
        .run(&["import", "own.csv", "--out", "own"])
        .exits_with(0)
        .stderr_contains("left out 2 requests of cells that do not count")
        .stderr_contains("2 requests in 1 cell;");
    let records = sandbox.records("own");
    let times: Vec<u64> = records.cells()[0]
        .calls
        .iter()
        .map(|call| call.end_ns)
        .collect();
    assert_eq!(times, [7_000_000, 8_000_000]);
}

#[test]
fn names_cannot_control_the_terminal() {
    let sandbox = Sandbox::new();
    let file = field_csv()
        .replace("ios", "\u{1b}[2Jios")
        .replace("train", "\u{1b}[31mtrain");
    sandbox.write("field.csv", &file);
    sandbox
        .run(&["import", "field.csv", "--out", "field"])
        .exits_with(0);
    let (h2, h3) = ("\u{1b}[2Jios h2", "\u{1b}[2Jios h3");
    let output = sandbox
        .run(&["report", "field", "--regret", h3, "--oracle", h2])
        .exits_with(0)
        .stdout_contains("\u{fffd}[2Jios h3 less the better of");
    assert!(!output.stdout.contains('\u{1b}'), "{output}");
}

#[test]
fn times_are_in_the_unit_of_their_column() {
    let sandbox = Sandbox::new();
    let text = "network,arm,protocol,block,first_byte_us,end_ms\nn,a,h2,0,80000.5,200.25\n";
    sandbox.write("ms.csv", text);
    sandbox
        .run(&["import", "ms.csv", "--out", "ms"])
        .exits_with(0)
        .stderr_contains("no row says whether its request was the first on its connection");
    let lines = "{\"network\": \"n\", \"arm\": \"a\", \"protocol\": \"h2\", \"block\": 0, \"first\": true, \
                 \"first_byte_ms\": 80.0005, \"end_s\": 0.20025}\n";
    sandbox.write("s.ndjson", lines);
    let output = sandbox
        .run(&["import", "s.ndjson", "--out", "s"])
        .exits_with(0);
    assert!(!output.stderr.contains("no row says"), "{output}");
    for run in ["ms", "s"] {
        let records = sandbox.records(run);
        let call = &records.cells()[0].calls[0];
        assert_eq!(
            (call.first_byte_ns, call.end_ns),
            (Some(80_000_500), 200_250_000)
        );
    }
    for (header, row, error) in [
        ("end_ms", "-1", "`end_ms` is \"-1\", expected a number"),
        (
            "end_ms,end_ns",
            "200,200000000",
            "two columns end_ns, or one in two units",
        ),
        (
            "end_ns",
            "200",
            "end_ns = 200 is 200 ns: no request takes less than 10 µs",
        ),
        ("end_ns", "1595325560000000000", "or more than an hour"),
    ] {
        let text = format!("network,arm,protocol,block,{header}\nn,a,h2,0,{row}\n");
        sandbox.write("wrong.csv", &text);
        sandbox
            .run(&["import", "wrong.csv", "--out", "wrong"])
            .exits_with(1)
            .stderr_contains(error);
    }
    sandbox.write(
        "us.csv",
        "network,arm,protocol,block,first,end_ns\nn,a,h2,0,true,201000\n",
    );
    sandbox
        .run(&["import", "us.csv", "--out", "us"])
        .exits_with(0)
        .stderr_contains("half of the requests took less than 1 ms");
}

/// No plan says which row of one arm is which of the other.
#[test]
fn order_of_rows_does_not_matter() {
    let sandbox = Sandbox::new();
    let report = |name: &str, first: usize| {
        let mut text = String::from("network,arm,protocol,block,end_ns\n");
        for block in 0..12 {
            for row in 0..3 {
                text += &format!("train,one,h2,{block},{}\n", 100_000_000 + row * 10_000_000);
                let ms = [50, 112, 125][(first + row) % 3];
                text += &format!("train,two,h3,{block},{}\n", ms * 1_000_000);
            }
        }
        sandbox.write(&format!("{name}.csv"), &text);
        let file = format!("{name}.csv");
        sandbox.run(&["import", &file, "--out", name]).exits_with(0);
        sandbox.run(&["report", name]).exits_with(0).stdout
    };
    let (one, other) = (report("rising", 0), report("turned", 1));
    assert_eq!(one, other);
}

/// What two phones' engines measured: HTTP/3 is allowed in one of them, and 30 ms faster.
#[test]
fn metrics_of_the_client_are_compared_by_protocol_and_by_roll_out() {
    let mut metrics = client::Metrics::default();
    for minute in 0..12 {
        for (protocol, h3_on, ms) in [
            (client::Protocol::H2, false, 130),
            (client::Protocol::H3, true, 100),
        ] {
            metrics.requests.push_back(client::RequestMeasurement {
                origin: "api.example:443".into(),
                method: "GET".parse().unwrap(),
                status: None,
                label: Some("list, \"all\"".into()),
                network: Some(client::Network {
                    id: client::NetworkId([1; 16]),
                    kind: client::NetworkKind::Cellular,
                    metered: true,
                }),
                h3_on,
                protocol: Some(protocol),
                reason: "only_open",
                first: false,
                attempts: 1,
                start_ns: minute * 60_000_000_000,
                phases: client::Phases::default(),
                end_ns: ms * 1_000_000 + minute * 37_000 % 400_000,
                request_bytes: 0,
                response_bytes: 1_000,
                hour: 495_000 + minute as u32,
                outcome: client::Outcome::Done,
            });
        }
    }
    let sandbox = Sandbox::new();
    for (arms, baseline, verdict) in [
        (client::Arms::Protocols, "HTTP/2", "Use HTTP/3 on cellular."),
        (
            client::Arms::Rollout,
            "TCP only",
            "Use HTTP/3 allowed on cellular.",
        ),
    ] {
        let name = format!("{arms:?}");
        let file = sandbox.write(&format!("{name}.csv"), &metrics.csv(arms));
        let file = file.to_str().unwrap();
        sandbox
            .run(&["import", file, "--out", &name, "--baseline", baseline])
            .exits_with(0)
            .stderr_contains("24 requests in 24 cells");
        sandbox
            .run(&["report", &name])
            .exits_with(0)
            .stdout_contains(verdict);
    }
    let summary = metrics.summary();
    assert!(
        summary.contains("api.example:443, cellular, by H3: 12 requests"),
        "{summary}"
    );
}

#[test]
fn json_is_checked_key_by_key() {
    let sandbox = Sandbox::new();
    let right = r#"{"network": "n", "arm": "a", "protocol": "h2", "block": 0, "end_ns": 9000000}"#;
    for (row, problem) in [
        (
            right.replace("end_ns", "latency_ms"),
            "line 2: there is no key end_ns, and nothing reads `latency_ms`",
        ),
        (
            right.replace("\"block\": 0", "\"block\": \"lots\""),
            "line 2: `block` is \"lots\", expected a whole number, 0 or more",
        ),
        (
            right.replace("\"block\": 0", "\"block\": 0, \"first\": 1"),
            "line 2: `first` is 1, expected a boolean",
        ),
        ("[1]".to_owned(), "line 2: not a JSON object"),
    ] {
        sandbox.write("bad.ndjson", &format!("{right}\n{row}\n"));
        let output = sandbox.run(&["import", "bad.ndjson", "--out", "bad"]);
        output.exits_with(1).stderr_contains(problem);
    }
    sandbox.write("bom.ndjson", &format!("\u{feff}{right}\n"));
    sandbox
        .run(&["import", "bom.ndjson", "--out", "bom"])
        .exits_with(0);
    let unread = right.replace("end_ns", "latency_ms\": 3, \"end_ns");
    sandbox.write("unread.ndjson", &format!("{unread}\n"));
    sandbox
        .run(&["import", "unread.ndjson", "--out", "good"])
        .exits_with(0)
        .stderr_contains("note: nothing reads the key `latency_ms`");
}

#[test]
fn bad_row_is_reported_and_no_run_is_created() {
    let sandbox = Sandbox::new();
    for (text, place, problem) in [
        (
            field_csv().replacen("130000000", "lots", 1),
            "line 2",
            "end_ns",
        ),
        (
            field_csv().replacen(",h3,0,", ",h9,0,", 1),
            "line 3",
            "protocol `h9`",
        ),
        (
            "network,arm,protocol,latency_ms\na,b,h2,90\n".to_owned(),
            "line 1: there is no column block, end_ns",
            "nothing reads `latency_ms`; `commute import --help` says",
        ),
        (
            "network,arm,protocol,block,end_ns\n".to_owned(),
            "no request",
            "",
        ),
        (
            "network,arm,protocol,block,end_ns,error\r\n\r\nn,a,h2,0,9,\"two\nlines\"\r\n\r\nn,a,h2,1,-9,\r\n"
                .to_owned(),
            "line 6: `end_ns` is \"-9\",",
            "expected a whole number, 0 or more",
        ),
        (
            "network,arm,protocol,block,end_ns\nn,a,h2,0,9\nn,a,h2,1\n".to_owned(),
            "line 3: 4 fields",
            "but the header has 5",
        ),
    ] {
        let file = sandbox.write("bad.csv", &text);
        let output = sandbox.run(&["import", file.to_str().unwrap(), "--out", "bad"]);
        output
            .exits_with(1)
            .stderr_contains("bad.csv")
            .stderr_contains(place)
            .stderr_contains(problem);
        assert!(!sandbox.work().join("bad").exists());
    }
}
