//! The runner's work timed by divan, to compare the runner's loops with. Results are freed inside
//! the timed loop, as in the runner.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use messages::{Name, with_message};
use serde::Serialize;
use serde::de::DeserializeOwned;

const VALID: &str = "the library reads what it wrote";
const NAMES: [Name; 3] = [
    Name::Api { bytes: 2_000 },
    Name::Big { n: 100 },
    Name::AddressBook,
];

fn main() {
    divan::main();
}

macro_rules! codec {
    ($module:ident, $encode:expr, $decode:expr) => {
        #[divan::bench_group]
        mod $module {
            use super::*;

            #[divan::bench(args = NAMES)]
            fn encode(bencher: Bencher<'_, '_>, name: &Name) {
                with_message!(name.message(1), message => {
                    bencher
                        .counter(BytesCount::new($encode(&message).len()))
                        .bench_local(|| black_box(&$encode(black_box(&message))).len());
                });
            }

            #[divan::bench(args = NAMES)]
            fn decode(bencher: Bencher<'_, '_>, name: &Name) {
                with_message!(name.message(1), message => {
                    let bytes: Vec<u8> = $encode(&message);
                    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
                        black_box(&same_type(&message, $decode(black_box(&bytes))));
                    });
                });
            }
        }
    };
}

codec!(json, to_json, from_json);
codec!(protobuf, to_protobuf, from_protobuf);
codec!(msgpack, to_msgpack, from_msgpack);

fn same_type<T>(_: &T, decoded: T) -> T {
    decoded
}

fn to_json<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).expect(VALID)
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> T {
    serde_json::from_slice(bytes).expect(VALID)
}

fn to_protobuf<T: prost::Message>(message: &T) -> Vec<u8> {
    message.encode_to_vec()
}

fn from_protobuf<T: prost::Message + Default>(bytes: &[u8]) -> T {
    T::decode(bytes).expect(VALID)
}

fn to_msgpack<T: Serialize>(message: &T) -> Vec<u8> {
    rmp_serde::to_vec_named(message).expect(VALID)
}

fn from_msgpack<T: DeserializeOwned>(bytes: &[u8]) -> T {
    rmp_serde::from_slice(bytes).expect(VALID)
}
