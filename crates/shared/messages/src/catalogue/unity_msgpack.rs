//! The unity-msgpack study: the record of its Unity benchmark and the data of its Perl benchmark.

use crate::bench::{Big, BigMap, BigRecord, PerlData, PerlMap, PerlRow};

/// Makes the study's record, bit for bit: as JSON and old MessagePack it has the published sizes.
pub(super) fn big(n: u32) -> Big {
    let BigRecord {
        id,
        name,
        int_value,
        float_value,
        bool_value,
        nil,
        str,
        arr,
        map,
    } = record("test".into(), 1);
    Big {
        id,
        name,
        int_value,
        float_value,
        bool_value,
        nil,
        str,
        arr,
        map,
        int_arr: (0..n as i32).collect(),
        str_arr: (0..n).map(|i| format!("text_{i}")).collect(),
        bool_arr: (0..n).map(|i| i % 2 == 1).collect(),
        map_arr: (0..n)
            .map(|i| record(format!("map{i}"), 10_000 + i as i32))
            .collect(),
    }
}

/// Makes the study's eight keys, for i from 1. The study had all of them in one map, under names
/// that it did not publish; here each i has a row. It did not publish its expression for the long
/// either; ours needs at most 53 bits, which every JSON reader preserves.
pub(super) fn perl(rows: u32) -> PerlData {
    PerlData {
        rows: (1..=rows).map(row).collect(),
    }
}

fn record(name: String, id: i32) -> BigRecord {
    BigRecord {
        id,
        name,
        int_value: 14142,
        float_value: 3.141_565,
        bool_value: true,
        nil: None,
        str: "test".into(),
        arr: vec![1, 2, 8, 9],
        map: Some(BigMap {
            foo: "bar".into(),
            buzz: 551,
            piyo: 2.14,
        }),
    }
}

fn row(i: u32) -> PerlRow {
    let numbers: Vec<String> = (1..=i).map(|k| k.to_string()).collect();
    let int_value = i as i32;
    let long_value = (i64::from(i) << 32) ^ i64::from(i);
    let float_value = f64::from(i) / 10.0;
    let string_value = format!("test{}", numbers.join("_"));
    let bool_value = i % 2 == 1;
    PerlRow {
        int_value,
        long_value,
        float_value,
        string_value: string_value.clone(),
        bool_value,
        nil: None,
        arr: (1..=int_value).collect(),
        map: Some(PerlMap {
            int_value,
            long_value,
            float_value,
            string_value,
            bool_value,
            nil: None,
            arr: ('a'..='z').map(String::from).collect(),
        }),
    }
}
