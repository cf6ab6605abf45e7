//! `commute import`: calls measured elsewhere become a run like any other.

mod common;

use common::House;

/// Twelve blocks in which h3 is 30 ms faster; invented.
fn field() -> String {
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
fn the_report_of_imported_calls_has_verdicts_and_says_where_they_are_from() {
    let house = House::new();
    let file = house.write("field.csv", &field());
    let import = ["import", file.to_str().unwrap(), "--out", "field"];
    house
        .run(&import)
        .code(0)
        .complains("24 requests in 24 cells");
    house
        .run(&["report", "field"])
        .code(0)
        .prints("Take ios h3")
        .prints("measured elsewhere")
        .prints("protocol reported by the client only");
    // What was exported is what was imported.
    let csv = house
        .run(&["report", "field", "--format", "csv"])
        .code(0)
        .out;
    let again = house.write("again.csv", &csv);
    let import = ["import", again.to_str().unwrap(), "--out", "again"];
    house.run(&import).code(0);
    let once = house.records("field");
    assert_eq!(once.cells(), house.records("again").cells());
}

#[test]
fn a_bad_row_is_named_and_nothing_is_made() {
    let house = House::new();
    for (text, line, what) in [
        (field().replacen("130000000", "lots", 1), "line 2", "end_ns"),
        (
            field().replacen(",h3,0,", ",h9,0,", 1),
            "line 3",
            "protocol `h9`",
        ),
        ("network,arm\na,b\n".to_owned(), "line", "protocol"),
        (
            "network,arm,protocol,block,end_ns\n".to_owned(),
            "no request",
            "",
        ),
    ] {
        let file = house.write("bad.csv", &text);
        let said = house.run(&["import", file.to_str().unwrap(), "--out", "bad"]);
        said.code(1)
            .complains("bad.csv")
            .complains(line)
            .complains(what);
        assert!(!house.work().join("bad").exists());
    }
}
