//! Streams JSON to MessagePack and CBOR: only the output and the length of each list and object
//! are kept.
//!
//! Not by serde-transcode because serde_json gives it no lengths: minicbor-serde would write CBOR of
//! indefinite length, and rmp-serde would buffer every level of nesting.

use std::fmt;

use minicbor::Encoder;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::observe::Key;
use crate::{Sample, SampleError};

const IN_MEMORY: &str = "writing to memory does not fail";

/// Writes a sample as MessagePack, objects as maps with their keys.
pub fn msgpack(sample: &Sample<'_>) -> Result<Vec<u8>, SampleError> {
    write(sample, MsgPack(Vec::new())).map(|output| output.0)
}

/// Writes a sample as CBOR, objects as maps with their keys, all of definite length.
pub(crate) fn cbor(sample: &Sample<'_>) -> Result<Vec<u8>, SampleError> {
    write(sample, Cbor(Encoder::new(Vec::new()))).map(|output| output.0.into_writer())
}

/// Writes a sample in two passes, since both formats put the number of members before the first
/// one. The first pass counts them, in the order in which lists and objects begin; the second one
/// writes.
fn write<O: Output>(sample: &Sample<'_>, output: O) -> Result<O, SampleError> {
    let mut counter = MemberCounter::default();
    sample.read(Visit(&mut counter))?;
    let mut writer = CountedWriter {
        output,
        lengths: counter.lengths.into_iter(),
    };
    sample.read(Visit(&mut writer))?;
    Ok(writer.output)
}

/// Receives the parts of a JSON text in order.
trait Events {
    fn scalar(&mut self, scalar: Scalar<'_>);
    fn begin(&mut self, kind: Kind);
    /// Ends the innermost list or object; `members` is its length.
    fn end(&mut self, members: u32);
}

/// Writes a format.
trait Output {
    fn scalar(&mut self, scalar: Scalar<'_>);
    fn begin(&mut self, kind: Kind, members: u32);
}

#[derive(Clone, Copy)]
enum Kind {
    List,
    Object,
}

#[derive(Clone, Copy)]
enum Scalar<'a> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Double(f64),
    /// A string, or the key of the value that comes next.
    Text(&'a str),
}

/// The first pass.
#[derive(Default)]
struct MemberCounter {
    lengths: Vec<u32>,
    /// Indexes in `lengths` of the lists and objects that have not ended.
    open: Vec<usize>,
}

impl Events for MemberCounter {
    fn scalar(&mut self, _: Scalar<'_>) {}

    fn begin(&mut self, _: Kind) {
        self.open.push(self.lengths.len());
        self.lengths.push(0);
    }

    fn end(&mut self, members: u32) {
        if let Some(index) = self.open.pop() {
            self.lengths[index] = members;
        }
    }
}

/// The second pass.
struct CountedWriter<O> {
    output: O,
    lengths: std::vec::IntoIter<u32>,
}

impl<O: Output> Events for CountedWriter<O> {
    fn scalar(&mut self, scalar: Scalar<'_>) {
        self.output.scalar(scalar);
    }

    fn begin(&mut self, kind: Kind) {
        let members = self.lengths.next().unwrap_or_default();
        self.output.begin(kind, members);
    }

    fn end(&mut self, _: u32) {}
}

struct MsgPack(Vec<u8>);

impl Output for MsgPack {
    fn scalar(&mut self, scalar: Scalar<'_>) {
        let out = &mut self.0;
        match scalar {
            Scalar::Null => rmp::encode::write_nil(out).expect(IN_MEMORY),
            Scalar::Bool(value) => rmp::encode::write_bool(out, value).expect(IN_MEMORY),
            Scalar::Signed(value) => {
                rmp::encode::write_sint(out, value).expect(IN_MEMORY);
            }
            Scalar::Unsigned(value) => {
                rmp::encode::write_uint(out, value).expect(IN_MEMORY);
            }
            Scalar::Double(value) => rmp::encode::write_f64(out, value).expect(IN_MEMORY),
            Scalar::Text(text) => rmp::encode::write_str(out, text).expect(IN_MEMORY),
        }
    }

    fn begin(&mut self, kind: Kind, members: u32) {
        match kind {
            Kind::List => rmp::encode::write_array_len(&mut self.0, members),
            Kind::Object => rmp::encode::write_map_len(&mut self.0, members),
        }
        .expect(IN_MEMORY);
    }
}

struct Cbor(Encoder<Vec<u8>>);

impl Output for Cbor {
    fn scalar(&mut self, scalar: Scalar<'_>) {
        let out = &mut self.0;
        match scalar {
            Scalar::Null => out.null(),
            Scalar::Bool(value) => out.bool(value),
            Scalar::Signed(value) => out.i64(value),
            Scalar::Unsigned(value) => out.u64(value),
            Scalar::Double(value) => out.f64(value),
            Scalar::Text(text) => out.str(text),
        }
        .expect(IN_MEMORY);
    }

    fn begin(&mut self, kind: Kind, members: u32) {
        match kind {
            Kind::List => self.0.array(members.into()),
            Kind::Object => self.0.map(members.into()),
        }
        .expect(IN_MEMORY);
    }
}

/// Visits a JSON value and passes its parts on.
struct Visit<'a, E>(&'a mut E);

impl<'de, T: Events> DeserializeSeed<'de> for Visit<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Events> Visitor<'de> for Visit<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.scalar(Scalar::Null);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.scalar(Scalar::Bool(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.scalar(Scalar::Signed(value));
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.scalar(Scalar::Unsigned(value));
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.scalar(Scalar::Double(value));
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.scalar(Scalar::Text(value));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.0.begin(Kind::List);
        let mut members = 0;
        while let Some(()) = list.next_element_seed(Visit(self.0))? {
            members += 1;
        }
        self.0.end(members);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.begin(Kind::Object);
        let mut members = 0;
        while let Some(Key(key)) = map.next_key()? {
            self.0.scalar(Scalar::Text(&key));
            map.next_value_seed(Visit(self.0))?;
            members += 1;
        }
        self.0.end(members);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Returns numbers and strings of every width in either format, and nested lists and objects.
    fn text() -> String {
        let numbers: Vec<String> = (0..64)
            .flat_map(|bit| [(1_i128 << bit), (1_i128 << bit) - 1, -(1_i128 << bit)])
            .map(|number| number.to_string())
            .collect();
        let strings: Vec<String> = [0, 1, 31, 32, 255, 256, 65536]
            .iter()
            .map(|length| format!("{:?}", "x".repeat(*length)))
            .collect();
        format!(
            r#"{{"n":[{}],"s":[{}],"o":[null,true,false,0.1,-0.0,{{}},[],[[{{"é\u00e9":{{"b":1}}}}]]]}}"#,
            numbers.join(","),
            strings.join(",")
        )
    }

    #[test]
    fn output_equals_that_of_the_serde_crates() {
        let text = text();
        let value: Value = serde_json::from_str(&text).unwrap();
        // serde_json's trees sort the keys; print the sample with sorted keys too.
        let text = serde_json::to_string(&value).unwrap();
        let sample = Sample {
            name: "all",
            json: text.as_bytes(),
        };
        assert_eq!(
            msgpack(&sample).unwrap(),
            rmp_serde::to_vec(&value).unwrap()
        );
        let mut out = Vec::new();
        let mut serializer = minicbor_serde::Serializer::new(&mut out);
        serializer.serialize_unit_as_null(true);
        serde::Serialize::serialize(&value, &mut serializer).unwrap();
        assert_eq!(cbor(&sample).unwrap(), out);
    }
}
