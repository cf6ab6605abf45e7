use super::*;
use crate::{Codec, Format};

fn len(name: &str, seed: u64, format: Format) -> usize {
    let name: Name = name.parse().unwrap();
    Codec::plain(format)
        .coder()
        .encode(&name.message(seed))
        .len()
}

#[test]
fn message_names_parse() {
    for name in Name::ALL {
        assert_eq!(name.to_string().parse(), Ok(name));
        assert_eq!(name.message(1).kind(), name.kind());
    }
    assert_eq!("perl-500".parse(), Ok(Name::Perl { rows: 500 }));
    for bad in [
        "",
        "big",
        "big-",
        "big-x",
        "big--1",
        "big-10001",
        "api-3kB",
        "Small",
    ] {
        assert_eq!(bad.parse::<Name>(), Err(NameError(bad.to_owned())));
    }
}

/// The sizes that the unity-msgpack study published, and others computed from its code.
#[test]
fn big_has_the_published_sizes() {
    let published = [
        (0, 195, 130),
        (1, 359, 238),
        (10, 1_866, 1_210),
        (50, 8_686, 5_618),
        (99, 17_041, 11_008),
        (100, 17_211, 11_118),
    ];
    for (n, json, msgpack) in published {
        let name = format!("big-{n}");
        let sizes = (
            len(&name, 1, Format::Json),
            len(&name, 1, Format::MsgpackOld),
        );
        assert_eq!(sizes, (json, msgpack), "{name}");
    }
}

/// The sizes that the mtls-hmac study published. Its encoder appended a newline.
#[test]
fn diag_has_the_published_sizes() {
    for (name, json, protobuf) in [
        ("diag-100kB", 133_378, 100_013),
        ("diag-1MB", 1_333_378, 1_000_013),
    ] {
        assert_eq!(len(name, 1, Format::Json) + "\n".len(), json);
        assert_eq!(len(name, 1, Format::Protobuf), protobuf);
    }
}

/// The mobile-grpc study's messages are random: mean, 5 % and 95 % quantile of their size in Protobuf
/// were simulated from the study's rules.
#[test]
fn mobile_grpc_messages_have_the_simulated_sizes() {
    let simulated = [
        ("small", 18.0, 4..=31),
        ("address-book", 530.0, 101..=966),
        ("newsfeed", 171_168.0, 19_434..=326_910),
        ("large", 34_967.0, 5_586..=68_762),
    ];
    for (name, mean, range) in simulated {
        let sizes = sizes(name);
        // 300 draws of so wide a distribution have a mean within a few per cent.
        let drawn = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        assert!((drawn / mean - 1.0).abs() < 0.1, "{name}: mean {drawn}");
        let outside = sizes.iter().filter(|n| !range.contains(*n)).count();
        assert!(
            (5..=55).contains(&outside),
            "{name}: {outside} of 300 outside 5..95 %"
        );
    }
    // The simulation counted one byte per tag and left out Thing2's type. But the tag of field 16
    // has two bytes, in each of 156 blocks, and two in three of 25 types take two bytes.
    let omitted = 156 + 25 * 2 * 2 / 3;
    for (name, range) in [
        ("large-dense", 40_820..=41_014),
        ("large-sparse", 17_141..=17_336),
    ] {
        let inside = |n: &&usize| range.contains(&(**n - omitted));
        let inside = sizes(name).iter().filter(inside).count();
        assert!(inside > 250, "{name}: {inside} of 300 within 5..95 %");
    }
}

fn sizes(name: &str) -> Vec<usize> {
    (0..300)
        .map(|seed| len(name, seed, Format::Protobuf))
        .collect()
}

#[test]
fn api_pages_have_the_length_in_their_name() {
    for (name, bytes) in [
        ("api-100B", 100),
        ("api-2kB", 2_000),
        ("api-20kB", 20_000),
        ("api-100kB", 100_000),
    ] {
        for seed in 0..5 {
            assert_eq!(len(name, seed, Format::Json), bytes, "{name} {seed}");
        }
    }
}

#[test]
fn messages_depend_on_the_seed_alone() {
    for name in Name::ALL {
        assert_eq!(name.message(7), name.message(7), "{name}");
        let random = !matches!(name, Name::Big { .. } | Name::Perl { .. });
        assert_eq!(name.message(7) != name.message(8), random, "{name}");
    }
}
