use super::*;

fn number(number: usize) -> Column {
    number.to_string().parse().unwrap()
}

/// Returns the columns of pensieve's traces.
fn columns() -> Columns {
    Columns {
        time: number(1),
        time_unit: TimeUnit::Seconds,
        rate: number(2),
        rate_unit: RateUnit::Mbit,
        number: None,
        only: Vec::new(),
        gaps: Gaps::Error,
        max_gap_us: None,
    }
}

fn named(time: &str, rate: &str) -> Columns {
    Columns {
        time: Column::Name(time.to_owned()),
        rate: Column::Name(rate.to_owned()),
        ..columns()
    }
}

/// Durations in ms and rates in kbit/s, and the notes.
type Parts = (Vec<(u64, u64)>, Vec<String>);

fn parts(text: &str, columns: &Columns) -> Result<Parts, String> {
    let mut notes = Vec::new();
    let rows = read(text.as_bytes(), columns, &mut notes).map_err(|e| e.to_string())?;
    let rows = merged(&rows, &mut notes);
    let intervals =
        gaps::intervals(&rows, columns, Span::default(), &mut notes).map_err(|e| e.to_string())?;
    let parts = intervals.iter().map(|i| (i.us / 1000, i.bps / 1000));
    Ok((parts.collect(), notes))
}

fn error(text: &str, columns: &Columns) -> String {
    parts(text, columns).unwrap_err()
}

#[test]
fn each_rate_holds_until_the_next_row() {
    let (parts, notes) = parts("0.5 1\n1.0 2\n 1.6  3\n", &columns()).unwrap();
    assert_eq!(parts, [(500, 1000), (600, 2000), (600, 3000)]);
    assert_eq!(
        notes,
        [
            "read 3 rows, separated by spaces: time in seconds from column 1, rate in Mbit/s from column 2",
            "rows are 600 ms apart by the median; each rate holds until the next row, the last for 600 ms",
        ]
    );
}

#[test]
fn columns_are_found_by_their_name() {
    let text = "# of the Irish set\nTimestamp,Speed,DL_bitrate\n\
                2019.12.16_13.40.04,0,72\n2019.12.16_13.40.05,0,500\n";
    let irish = Columns {
        time_unit: TimeUnit::Timestamp,
        rate_unit: RateUnit::Kbit,
        ..named("Timestamp", "DL_bitrate")
    };
    let (read, notes) = parts(text, &irish).unwrap();
    assert_eq!(read, [(1000, 72), (1000, 500)]);
    assert_eq!(
        notes[0],
        "read 2 rows, separated by commas: time in date and time of day from column \"Timestamp\", rate in kbit/s from \
         column \"DL_bitrate\""
    );
    assert_eq!(notes[1], "left out 1 comment after #");
    assert_eq!(
        error(text, &named("Time", "DL_bitrate")),
        "line 2: the header has no column \"Time\"; it has \"Timestamp\", \"Speed\", \"DL_bitrate\""
    );
    let twice = error("t,r,r\n1,2,3\n", &named("t", "r"));
    assert!(twice.starts_with("line 1: the header has several columns \"r\""));
    // A header with more columns than a message can have.
    let wide: Vec<String> = (0..40).map(|i| format!("c{i}")).collect();
    let missing = error(&wide.join(","), &named("t", "r"));
    assert!(missing.ends_with("\"c29\" and 10 more"), "{missing}");
}

#[test]
fn one_named_column_makes_the_first_line_a_header() {
    let mixed = Columns {
        rate: number(2),
        ..named("t", "")
    };
    assert_eq!(
        parts("t,r\n0,1\n1,2\n", &mixed).unwrap().0,
        [(1000, 1000), (1000, 2000)]
    );
    let selecting = Columns {
        only: vec![(Column::Name("r".to_owned()), "2".to_owned())],
        ..columns()
    };
    assert_eq!(
        parts("t,r\n0,2\n1,2\n", &selecting).unwrap().0,
        [(1000, 2000), (1000, 2000)]
    );
}

#[test]
fn rows_are_selected_by_their_values() {
    let text = "run,t,r\n1,0,1\n1,1,2\n2,0,9\n2,1,8\n2,2,7\n";
    let all = named("t", "r");
    assert_eq!(
        error(text, &all),
        "line 4: the time is 1 s before that of line 3; put the rows in order, or select those of one run with \
         --where COLUMN=VALUE"
    );
    let of_run = |run: &str| Columns {
        only: vec![(Column::Name("run".to_owned()), run.to_owned())],
        ..all.clone()
    };
    let (read, notes) = parts(text, &of_run("2")).unwrap();
    assert_eq!(read, [(1000, 9000), (1000, 8000), (1000, 7000)]);
    assert_eq!(notes[1], "left out 2 rows by --where");
    assert_eq!(
        error(text, &of_run("3")),
        "of 5 rows, none has what --where selects"
    );
    let unknown = Columns {
        only: vec![(number(4), "x".to_owned())],
        ..all
    };
    assert_eq!(
        error(text, &unknown),
        "line 2: there is no column 4; the row has 3 columns, separated by commas"
    );
}

#[test]
fn rows_of_the_same_time_are_averaged() {
    let (read, notes) = parts("0 1\n0 3\n1 5\n1 -\n2 7\n", &columns()).unwrap();
    assert_eq!(read, [(1000, 2000), (1000, 5000), (1000, 7000)]);
    assert_eq!(
        notes[1],
        "averaged 2 rows with the row before of the same time"
    );
    for text in ["5 1\n5 2\n", "5 1\n"] {
        assert_eq!(
            error(text, &columns()),
            "all rows have the same time, so the trace has no length"
        );
    }
}

#[test]
fn gaps_are_refused_held_or_empty() {
    let text = "0 1\n1 2\n2 3\n9 4\n10 5\n";
    let with = |gaps, max_gap_us| Columns {
        gaps,
        max_gap_us,
        ..columns()
    };
    assert_eq!(
        error(text, &columns()),
        "line 3: the next row is 7 s later, and rows are usually 1 s apart; state what holds in gaps of more than 3 s: \
         --gaps hold (the rate before) or --gaps zero (nothing is delivered), or allow longer ones with --max-gap"
    );
    let (held, notes) = parts(text, &with(Gaps::Hold, None)).unwrap();
    let expected = [
        (1000, 1000),
        (1000, 2000),
        (7000, 3000),
        (1000, 4000),
        (1000, 5000),
    ];
    assert_eq!(held, expected);
    assert_eq!(
        notes[2],
        "1 gap of more than 3 s, the first after line 3; the rate before holds then"
    );
    let (zero, notes) = parts(text, &with(Gaps::Zero, None)).unwrap();
    assert_eq!(zero[2..4], [(1000, 3000), (6000, 0)]);
    assert_eq!(zero.len(), 6);
    assert!(notes[2].ends_with("nothing is delivered then"));
    let (allowed, notes) = parts(text, &with(Gaps::Error, Some(7_000_000))).unwrap();
    assert_eq!(allowed, expected);
    assert_eq!(notes.len(), 2);
    assert!(parts(text, &with(Gaps::Error, Some(6_999_999))).is_err());
    // Three usual steps are no gap yet.
    assert!(parts("0 1\n1 2\n2 1\n5 3\n", &columns()).is_ok());
    assert_eq!(
        error("0 1\n1 2\n", &with(Gaps::Zero, Some(500_000))),
        "--max-gap is 500 ms, and rows are usually 1 s apart; give at least that"
    );
}

#[test]
fn rows_without_a_rate_are_gaps() {
    let text = "0,1\n1,-\n2,NaN\n3,4\n";
    let with = |gaps| Columns { gaps, ..columns() };
    assert!(error(text, &columns()).starts_with("line 2: the row has no rate; state what holds"));
    let (held, notes) = parts(text, &with(Gaps::Hold)).unwrap();
    assert_eq!(held[1..3], [(1000, 1000), (1000, 1000)]);
    assert_eq!(
        notes[2],
        "2 rows without a rate, the first on line 2; the rate before holds then"
    );
    let (zero, notes) = parts(text, &with(Gaps::Zero)).unwrap();
    assert_eq!(zero[1..3], [(1000, 0), (1000, 0)]);
    assert!(notes[2].ends_with("nothing is delivered then"));
    let first = error("0,\n1,2\n", &with(Gaps::Hold));
    assert!(first.starts_with("line 1: the first row has no rate, and there is none"));
}

#[test]
fn mistakes_name_their_line_and_column() {
    for (text, message) in [
        ("", "the file is empty; it needs rows"),
        ("# only\n", "the file is empty; it needs rows"),
        (
            "t,r\n0,1\n",
            "line 1: column 1: \"t\" is not a number, e.g. 12.5; if line 1 is a header, give the columns by name",
        ),
        (
            "0 1\n1\n",
            "line 2: the row has 1 column, separated by spaces, and the first has 2; quote",
        ),
        (
            "0 1\n1 -2\n",
            "line 2: column 2: the rate \"-2\" is negative",
        ),
        (
            "0 1\n1 99999\n",
            "line 2: column 2: \"99999\" Mbit/s is more than 20 Gbit/s",
        ),
        ("0,\"1\n", "line 1: a quote does not end on its line"),
        ("0 1\n1 2\n2 x\n", "line 3: column 2: \"x\" is not a number"),
    ] {
        let error = error(text, &columns());
        assert!(error.starts_with(message), "{text}: {error}");
    }
    assert_eq!(
        error("t,r\n", &named("t", "r")),
        "the file has a header and no rows"
    );
    // With a header, a wrong time is only a wrong time.
    assert_eq!(
        error("t,r\nx,1\n", &named("t", "r")),
        "line 2: column \"t\": \"x\" is not a number, e.g. 12.5"
    );
}

#[test]
fn a_part_is_imported() {
    let part = |from_s: u64, for_s: Option<u64>| {
        let span = Span {
            from_us: from_s * 1_000_000,
            for_us: for_s.map(|s| s * 1_000_000),
        };
        let imported = import("10 12\n20 24\n30 36\n".as_bytes(), &columns(), span);
        let imported = imported.map_err(|e| e.to_string())?;
        Ok::<_, String>(imported.trace.mean_bps())
    };
    assert_eq!(part(5, Some(10)), Ok(18_000_000));
    assert_eq!(part(20, None), Ok(36_000_000));
    assert_eq!(
        part(30, None),
        Err("--from is at or after the end, 30 s".to_owned())
    );
}

/// Imports `for_s` from `from_s` on.
fn part(text: &str, columns: &Columns, from_s: u64, for_s: u64) -> Result<Imported, String> {
    let span = Span {
        from_us: from_s * 1_000_000,
        for_us: Some(for_s * 1_000_000),
    };
    import(text.as_bytes(), columns, span).map_err(|e| e.to_string())
}

#[test]
fn gaps_outside_of_the_part_do_not_matter() {
    let text = "0 12\n1 12\n2 -\n3 12\n90000 12\n90001 12\n";
    for (from_s, for_s) in [(0, 2), (3, 1), (90_000, 1)] {
        let imported = part(text, &columns(), from_s, for_s).unwrap();
        assert_eq!(imported.trace.mean_bps(), 12_000_000);
        assert_eq!(imported.notes.len(), 2, "{:?}", imported.notes);
    }
    let error = |from_s, for_s| part(text, &columns(), from_s, for_s).unwrap_err();
    assert!(error(0, 3).starts_with("line 3: the row has no rate"));
    assert!(error(3, 2).starts_with("line 4: the next row is 89997 s later"));
    let hold = Columns {
        gaps: Gaps::Hold,
        ..columns()
    };
    let error = part(text, &hold, 0, 90_000).unwrap_err();
    assert!(error.starts_with("the trace takes 90000 s, more than a day; its times"));
}

#[test]
fn rows_have_as_many_columns_as_the_first() {
    assert_eq!(
        error("t,name,a,r\n0,x,5,7\n1,x,y,5,7\n", &named("t", "r")),
        "line 3: the row has 5 columns, separated by commas, and the first has 4; quote fields that contain the separator"
    );
    assert!(parts("t,r\n0,5,\n1,5,\n", &named("t", "r")).is_ok());
    let pensieve = Columns {
        number: Some(2),
        ..columns()
    };
    assert_eq!(
        error("1289406399 549 59.8 10.7 32768 1000\n", &pensieve),
        "line 1: the row has 6 columns, separated by spaces, and the format has 2; state them with --format columns"
    );
}

#[test]
fn an_opportunity_at_the_end_is_noted() {
    let imported = part("0 0.001\n1 0.001\n", &columns(), 0, 2).unwrap();
    let note = "added an opportunity at the end, whose time is the period: the mean is 6 kbit/s instead of 1 kbit/s";
    assert_eq!(imported.notes[2], note);
    let imported = part("0 12\n1 12\n", &columns(), 0, 2).unwrap();
    assert_eq!(imported.notes.len(), 2);
}
