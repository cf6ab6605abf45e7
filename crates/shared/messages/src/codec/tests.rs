use proptest::prelude::*;

use super::*;
use crate::{Name, from_value, to_value};

fn all_codecs() -> impl Iterator<Item = Codec> {
    let with_compressions = |format| {
        Compression::ALL.map(|compression| Codec {
            format,
            compression,
        })
    };
    Format::ALL.into_iter().flat_map(with_compressions)
}

fn small_names() -> impl Iterator<Item = Name> {
    Name::ALL
        .into_iter()
        .filter(|name| !matches!(name, Name::Diag { bytes: 1_000_000 }))
}

#[test]
fn codec_names_parse() {
    for codec in all_codecs() {
        assert_eq!(codec.to_string().parse(), Ok(codec));
    }
    for bad in ["", "xml", "json+", "json+gzip", "json+gzip-9", "JSON"] {
        assert_eq!(bad.parse::<Codec>(), Err(CodecError(bad.to_owned())));
    }
}

#[test]
fn every_message_survives_every_codec_and_the_value_file() {
    for name in small_names() {
        let message = name.message(3);
        let value = to_value(&message);
        assert_eq!(from_value(name.kind(), &value).unwrap(), message, "{name}");
        for codec in all_codecs() {
            let mut coder = codec.coder();
            let bytes = coder.encode(&message);
            let back = coder.decode(name.kind(), &bytes).unwrap();
            // Compared as value files, bit for bit, since == ignores the sign of zero.
            let back = to_value(&back);
            let differing = back.lines().zip(value.lines()).find(|(a, b)| a != b);
            assert!(back == value, "{name} {codec}: {differing:?}");
        }
    }
}

#[test]
fn json_has_the_schemas_names_in_order() {
    let schema: serde_json::Value = serde_json::from_str(&crate::schema_json()).unwrap();
    let expected = |message: &str| -> Vec<String> {
        let fields = schema["messages"][message].as_array().unwrap();
        fields
            .iter()
            .map(|f| f["json"].as_str().unwrap().to_owned())
            .collect()
    };
    fn keys_in_order(json: &str) -> Vec<String> {
        // serde_json's map sorts its keys, so the order is taken from the text.
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort_by_key(|key| json.find(&format!("\"{key}\":")));
        keys
    }
    macro_rules! check {
        ($($message:ident)*) => {$(
            let json = serde_json::to_string(&crate::bench::$message::default()).unwrap();
            assert_eq!(keys_in_order(&json), expected(stringify!($message)));
        )*};
    }
    check!(Small AddressBook Person PhoneNumber Newsfeed Profile Post Reaction Comment Large
        Thing1 Thing2 Thing3 Attributes Diag DiagPayload Big BigRecord BigMap PerlData PerlRow
        PerlMap ApiPage ApiItem ApiAuthor ApiVariant Echo);
    assert_eq!(schema["messages"].as_object().unwrap().len(), 27);
}

#[test]
fn old_msgpack_is_as_specified() {
    let old = |n: i64| {
        let page = crate::bench::ApiAuthor {
            id: n,
            ..Default::default()
        };
        let bytes = Format::MsgpackOld.encode(&page);
        // fixmap of 4, "id", the integer, then "name".
        let end = bytes.len() - b"\xa4name\xa0\xa9avatarUrl\xa0\xa8verified\xc2".len();
        bytes[4..end].to_vec()
    };
    assert_eq!(old(0), [0x00]);
    assert_eq!(old(127), [0x7f]);
    assert_eq!(old(-32), [0xe0]);
    assert_eq!(old(-33), [0xd0, 0xdf]);
    assert_eq!(old(-128), [0xd0, 0x80]);
    assert_eq!(old(128), [0xd1, 0x00, 0x80]);
    assert_eq!(old(-32_768), [0xd1, 0x80, 0x00]);
    assert_eq!(old(32_768), [0xd2, 0, 0, 0x80, 0]);
    assert_eq!(old(1 << 31), [0xd3, 0, 0, 0, 0, 0x80, 0, 0, 0]);
    let text = |n: usize| {
        let small = crate::bench::Small {
            name: "x".repeat(n),
        };
        Format::MsgpackOld.encode(&small)[6..].to_vec()
    };
    assert_eq!(text(31)[..2], [0xbf, b'x']);
    assert_eq!(text(32)[..4], [0xda, 0, 32, b'x']);
    assert_eq!(text(65_536)[..6], [0xdb, 0, 1, 0, 0, b'x']);
}

#[test]
fn compression_bombs_are_refused() {
    for compression in [Compression::Gzip(6), Compression::Zstd(3)] {
        let mut compressor = Compressor::new(compression);
        let bomb = compressor.compress(vec![b' '; SIZE_LIMIT_BYTES + 1]);
        assert!(bomb.len() < 1 << 20);
        let mut coder = Codec {
            format: Format::Json,
            compression,
        }
        .coder();
        let error = coder.decode(Kind::Small, &bomb).unwrap_err();
        assert!(error.to_string().contains("more than 67108864"), "{error}");
        // The contexts can still be used after a refused input.
        let message = Name::Small.message(1);
        let good = coder.encode(&message);
        assert_eq!(coder.decode(Kind::Small, &good).unwrap(), message);
    }
}

#[test]
fn invalid_input_is_refused() {
    let deep = |open: &str| open.repeat(100_000).into_bytes();
    let bad: &[(Format, Vec<u8>)] = &[
        (Format::Json, b"".to_vec()),
        (Format::Json, deep("[")),
        (Format::Json, deep("{\"x\":")),
        (
            Format::Json,
            [b"{\"unknown\":", deep("[").as_slice()].concat(),
        ),
        (Format::Json, b"{\"name\":\"a\",\"name\":\"b\"}".to_vec()),
        (Format::Json, b"{\"name\":NaN}".to_vec()),
        (Format::Json, b"{\"name\":\"\xff\"}".to_vec()),
        (Format::Json, b"{\"name\":\"a\"} x".to_vec()),
        (Format::Protobuf, b"\x0a\xff\xff\xff\xff\x0f".to_vec()),
        (Format::Protobuf, b"\x0a\x01\xff".to_vec()),
        (Format::Msgpack, b"".to_vec()),
        (Format::Msgpack, vec![0x91; 100_000]),
        (
            Format::Msgpack,
            b"\x81\xa4name\xdb\xff\xff\xff\xff".to_vec(),
        ),
        (Format::Msgpack, b"\xdf\xff\xff\xff\xff".to_vec()),
        (Format::Msgpack, b"\xdd\xff\xff\xff\xff".to_vec()),
        (Format::Msgpack, b"\x81\xa4name\xa1\xff".to_vec()),
        (Format::Msgpack, b"\x81\xa4name\xa1a\xc0".to_vec()),
    ];
    for (format, bytes) in bad {
        let start = &bytes[..bytes.len().min(12)];
        let got = Codec::plain(*format).coder().decode(Kind::Small, bytes);
        assert!(got.is_err(), "{format} {start:?}: {got:?}");
    }
    let exact = b"{\"id\":9007199254740993,\"name\":\"\",\"avatarUrl\":\"\",\"verified\":false}";
    let author: crate::bench::ApiAuthor = Format::Json.decode(exact).unwrap();
    assert_eq!(author.id, (1 << 53) + 1);
}

proptest! {
    #[test]
    fn decoders_do_not_panic_on_noise(
        codec in proptest::sample::select(all_codecs().collect::<Vec<_>>()),
        kind in proptest::sample::select(Kind::ALL),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        codec.coder().decode(kind, &bytes).ok();
    }

    #[test]
    fn decoders_do_not_panic_on_damaged_messages(
        codec in proptest::sample::select(all_codecs().collect::<Vec<_>>()),
        name in proptest::sample::select(vec![
            Name::Small, Name::AddressBook, Name::Big { n: 3 }, Name::Perl { rows: 2 },
            Name::Api { bytes: 2_000 },
        ]),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut coder = codec.coder();
        let mut bytes = coder.encode(&name.message(1));
        for (at, with) in damage {
            let at = at.index(bytes.len());
            bytes[at] ^= with;
        }
        coder.decode(name.kind(), &bytes).ok();
        bytes.truncate(cut.index(bytes.len()));
        coder.decode(name.kind(), &bytes).ok();
    }

    #[test]
    fn value_reader_does_not_panic_on_noise(
        lines in proptest::collection::vec("[ifdbsxz\\[{} 0-9a-f-]{0,20}", 0..30),
        kind in proptest::sample::select(Kind::ALL),
    ) {
        from_value(kind, &lines.join("\n")).ok();
    }
}

#[test]
fn value_file_errors_name_the_line() {
    let value = to_value(&Name::Small.message(1));
    let error = |text: &str| from_value(Kind::Small, text).unwrap_err().to_string();
    assert_eq!(error(""), "line 1: the file is incomplete");
    assert_eq!(error("[ 1\n"), "line 1: expected `{`, found `[ 1`");
    assert_eq!(error("{\ns 6\n}\n"), "line 2: not pairs of hex digits");
    assert_eq!(
        error("{\ni 6\n}\n"),
        "line 2: expected `s ...`, found `i 6`"
    );
    assert_eq!(error("{\ns ff\n}\n").split(':').next(), Some("line 2"));
    let more = format!("{value}z\n");
    assert!(error(&more).ends_with("there is more after the end of the message"));
}
