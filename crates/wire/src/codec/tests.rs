use proptest::prelude::*;

use super::*;
use crate::{Name, from_value, to_value};

fn every_codec() -> impl Iterator<Item = Codec> {
    Form::ALL
        .into_iter()
        .flat_map(|form| Compression::ALL.map(|compression| Codec { form, compression }))
}

fn small_names() -> impl Iterator<Item = Name> {
    Name::ALL
        .into_iter()
        .filter(|name| !matches!(name, Name::Diag { bytes: 1_000_000 }))
}

#[test]
fn names_read_back() {
    for codec in every_codec() {
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
        for codec in every_codec() {
            let mut coder = codec.coder();
            let bytes = coder.encode(&message);
            let back = coder.decode(name.kind(), &bytes).unwrap();
            // Through the value file: equal to the bit, which == of floats is not.
            let back = to_value(&back);
            let differing = back.lines().zip(value.lines()).find(|(a, b)| a != b);
            assert!(back == value, "{name} {codec}: {differing:?}");
        }
    }
}

#[test]
fn json_has_the_names_that_the_schema_states() {
    let schema: serde_json::Value = serde_json::from_str(&crate::schema_json()).unwrap();
    let stated = |message: &str| -> Vec<String> {
        let fields = schema["messages"][message].as_array().unwrap();
        fields
            .iter()
            .map(|f| f["json"].as_str().unwrap().to_owned())
            .collect()
    };
    fn keys_in_order(json: &str) -> Vec<String> {
        // serde_json's own map sorts; the order is in the text.
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort_by_key(|key| json.find(&format!("\"{key}\":")));
        keys
    }
    macro_rules! check {
        ($($message:ident)*) => {$(
            let json = serde_json::to_string(&crate::bench::$message::default()).unwrap();
            assert_eq!(keys_in_order(&json), stated(stringify!($message)));
        )*};
    }
    check!(Small AddressBook Person PhoneNumber Newsfeed Profile Post Reaction Comment Large
        Thing1 Thing2 Thing3 Attributes Diag DiagPayload Big BigRecord BigMap PerlData PerlRow
        PerlMap ApiPage ApiItem ApiAuthor ApiVariant Echo);
    assert_eq!(schema["messages"].as_object().unwrap().len(), 27);
}

#[test]
fn the_old_msgpack_is_as_specified_byte_for_byte() {
    let old = |n: i64| {
        let page = crate::bench::ApiAuthor {
            id: n,
            ..Default::default()
        };
        let bytes = Form::MsgpackOld.encode(&page);
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
        Form::MsgpackOld.encode(&small)[6..].to_vec()
    };
    assert_eq!(text(31)[..2], [0xbf, b'x']);
    assert_eq!(text(32)[..4], [0xda, 0, 32, b'x']);
    assert_eq!(text(65_536)[..6], [0xdb, 0, 1, 0, 0, b'x']);
}

#[test]
fn bombs_are_refused_within_the_bound() {
    for compression in [Compression::Gzip(6), Compression::Zstd(3)] {
        let mut compressor = Compressor::new(compression);
        let bomb = compressor.compress(vec![b' '; SIZE_LIMIT_BYTES + 1]);
        assert!(bomb.len() < 1 << 20);
        let mut coder = Codec {
            form: Form::Json,
            compression,
        }
        .coder();
        let error = coder.decode(Kind::Small, &bomb).unwrap_err();
        assert!(error.to_string().contains("more than 67108864"), "{error}");
        // A refused input leaves the kept contexts fit for the next.
        let message = Name::Small.message(1);
        let good = coder.encode(&message);
        assert_eq!(coder.decode(Kind::Small, &good).unwrap(), message);
    }
}

#[test]
fn bad_input_is_refused() {
    let deep = |open: &str| open.repeat(100_000).into_bytes();
    let bad: &[(Form, Vec<u8>)] = &[
        (Form::Json, b"".to_vec()),
        (Form::Json, deep("[")),
        (Form::Json, deep("{\"x\":")),
        (
            Form::Json,
            [b"{\"unknown\":", deep("[").as_slice()].concat(),
        ),
        (Form::Json, b"{\"name\":\"a\",\"name\":\"b\"}".to_vec()),
        (Form::Json, b"{\"name\":NaN}".to_vec()),
        (Form::Json, b"{\"name\":\"\xff\"}".to_vec()),
        (Form::Json, b"{\"name\":\"a\"} x".to_vec()),
        (Form::Protobuf, b"\x0a\xff\xff\xff\xff\x0f".to_vec()),
        (Form::Protobuf, b"\x0a\x01\xff".to_vec()),
        (Form::Msgpack, b"".to_vec()),
        (Form::Msgpack, vec![0x91; 100_000]),
        (Form::Msgpack, b"\x81\xa4name\xdb\xff\xff\xff\xff".to_vec()),
        (Form::Msgpack, b"\xdf\xff\xff\xff\xff".to_vec()),
        (Form::Msgpack, b"\xdd\xff\xff\xff\xff".to_vec()),
        (Form::Msgpack, b"\x81\xa4name\xa1\xff".to_vec()),
        (Form::Msgpack, b"\x81\xa4name\xa1a\xc0".to_vec()),
    ];
    for (form, bytes) in bad {
        let start = &bytes[..bytes.len().min(12)];
        let got = Codec::plain(*form).coder().decode(Kind::Small, bytes);
        assert!(got.is_err(), "{form} {start:?}: {got:?}");
    }
    let exact = b"{\"id\":9007199254740993,\"name\":\"\",\"avatarUrl\":\"\",\"verified\":false}";
    let author: crate::bench::ApiAuthor = Form::Json.decode(exact).unwrap();
    assert_eq!(author.id, (1 << 53) + 1);
}

proptest! {
    /// Whatever comes, a decoder gives a message or an error.
    #[test]
    fn no_bytes_make_a_decoder_panic(
        codec in proptest::sample::select(every_codec().collect::<Vec<_>>()),
        kind in proptest::sample::select(Kind::ALL),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        codec.coder().decode(kind, &bytes).ok();
    }

    #[test]
    fn neither_do_damaged_messages(
        codec in proptest::sample::select(every_codec().collect::<Vec<_>>()),
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
    fn nor_do_damaged_value_files(
        lines in proptest::collection::vec("[ifdbsxz\\[{} 0-9a-f-]{0,20}", 0..30),
        kind in proptest::sample::select(Kind::ALL),
    ) {
        from_value(kind, &lines.join("\n")).ok();
    }
}

#[test]
fn a_damaged_value_file_is_told_by_its_line() {
    let value = to_value(&Name::Small.message(1));
    let told = |text: &str| from_value(Kind::Small, text).unwrap_err().to_string();
    assert_eq!(told(""), "line 1: the file ends too early");
    assert_eq!(told("[ 1\n"), "line 1: `[ 1` where `{` belongs");
    assert_eq!(told("{\ns 6\n}\n"), "line 2: not pairs of hex digits");
    assert_eq!(told("{\ni 6\n}\n"), "line 2: `i 6` where `s ...` belongs");
    assert_eq!(told("{\ns ff\n}\n").split(':').next(), Some("line 2"));
    let more = format!("{value}z\n");
    assert!(told(&more).ends_with("the message has ended; nothing may follow"));
}
