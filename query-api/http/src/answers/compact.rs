//! `view=compact`: an answer without some of its fields. They are skipped while the answer is written, so nothing is
//! parsed or copied again and numbers keep their form.

use std::io;

use cairn_work::{Stopped, Work};
use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};

use crate::answers::error::ApiError;

/// The fields of an answer that are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selection<'p> {
    /// All.
    All,
    /// All except these paths: names joined by dots; a name of an array applies to each of its objects.
    Without(&'p [&'p str]),
}

/// Initial capacity: the size of a typical answer.
const ROOM: usize = 4096;

/// Writes a value as JSON.
pub(crate) fn to_vec<T: Serialize>(value: &T, selection: Selection<'_>, work: &Work) -> Result<Vec<u8>, ApiError> {
    let mut out = CountedWriter { bytes: Vec::with_capacity(ROOM), counted: 0, work };
    let written = match selection {
        Selection::All => value.serialize(&mut Serializer::new(&mut out)),
        Selection::Without(paths) => {
            value.serialize(&mut Serializer::with_formatter(&mut out, OmittingFormatter::of(paths)))
        }
    };
    match (written, work.stopped()) {
        (Ok(()), _) => out.finish(),
        (Err(_), Some(stopped)) => Err(stopped.into()),
        (Err(error), None) => Err(error.into()),
    }
}

/// An answer that is being written: its bytes count as work.
struct CountedWriter<'w> {
    bytes: Vec<u8>,
    /// How many of them have been counted.
    counted: usize,
    work: &'w Work,
}

/// From this size on, the buffer grows by a quarter instead of doubling.
const LARGE: usize = 1 << 20;
/// Bytes that are counted together.
const COUNTED: usize = 16 << 10;

impl CountedWriter<'_> {
    fn count(&mut self) -> Result<(), Stopped> {
        let new = self.bytes.len() - self.counted;
        self.counted = self.bytes.len();
        self.work.answered(new)
    }

    fn finish(mut self) -> Result<Vec<u8>, ApiError> {
        self.count()?;
        Ok(self.bytes)
    }
}

impl io::Write for CountedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes.capacity() - self.bytes.len() < bytes.len() && self.bytes.len() >= LARGE {
            self.bytes.reserve_exact(bytes.len().max(self.bytes.len() / 4));
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() - self.counted >= COUNTED {
            self.count().map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An object that is being written.
struct Level<'p> {
    /// Paths to omit, relative to this object.
    paths: Vec<&'p str>,
    /// Name of the current field.
    name: Vec<u8>,
    /// True if a field was already written.
    has_members: bool,
}

/// A formatter that omits fields.
struct OmittingFormatter<'p> {
    levels: Vec<Level<'p>>,
    /// Paths of the next object.
    next: Vec<&'p str>,
    /// True while a field name is written. It is buffered until it is clear if the field is wanted.
    in_name: bool,
    /// Nesting depth below the omitted field; 0 if no field is omitted.
    skipping: usize,
}

impl<'p> OmittingFormatter<'p> {
    fn of(paths: &[&'p str]) -> Self {
        OmittingFormatter { levels: Vec::new(), next: paths.to_vec(), in_name: false, skipping: 0 }
    }

    /// Writes wanted bytes, buffers bytes of a name, drops omitted bytes.
    fn put<W: ?Sized + io::Write>(&mut self, writer: &mut W, bytes: &[u8]) -> io::Result<()> {
        if self.skipping > 0 {
            return Ok(());
        }
        match self.levels.last_mut().filter(|_| self.in_name) {
            Some(level) => level.name.extend_from_slice(bytes),
            None => writer.write_all(bytes)?,
        }
        Ok(())
    }

    /// Writes a small value as compact JSON.
    fn put_as<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        write: impl FnOnce(&mut CompactFormatter, &mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.skipping > 0 {
            return Ok(());
        }
        let mut text = Vec::new();
        write(&mut CompactFormatter, &mut text)?;
        self.put(writer, &text)
    }
}

macro_rules! numbers {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: $kind) -> io::Result<()> {
            self.put_as(writer, |plain, out| plain.$name(out, value))
        })*
    };
}

impl Formatter for OmittingFormatter<'_> {
    numbers! {
        write_bool: bool, write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64, write_i128: i128,
        write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64, write_u128: u128,
        write_f32: f32, write_f64: f64, write_char_escape: CharEscape,
    }

    fn write_null<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.put(writer, b"null")
    }

    fn write_number_str<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: &str) -> io::Result<()> {
        self.put(writer, value.as_bytes())
    }

    fn begin_string<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.in_name { Ok(()) } else { self.put(writer, b"\"") }
    }

    fn end_string<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.in_name { Ok(()) } else { self.put(writer, b"\"") }
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.put(writer, fragment.as_bytes())
    }

    fn write_raw_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.put(writer, fragment.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.put(writer, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.put(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { self.put(writer, b",") }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.skipping > 0 {
            return Ok(());
        }
        // Each object of an array has the same paths.
        self.levels.push(Level { paths: self.next.clone(), name: Vec::new(), has_members: false });
        self.put(writer, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.skipping > 0 {
            return Ok(());
        }
        if let Some(level) = self.levels.pop() {
            self.next = level.paths;
        }
        self.put(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W, _: bool) -> io::Result<()> {
        if self.skipping == 0 {
            self.in_name = true;
            if let Some(level) = self.levels.last_mut() {
                level.name.clear();
            }
        }
        Ok(())
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        if self.skipping == 0 {
            self.in_name = false;
        }
        Ok(())
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.skipping > 0 {
            self.skipping += 1;
            return Ok(());
        }
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        if level.paths.iter().any(|path| path.as_bytes() == level.name) {
            self.skipping = 1;
            return Ok(());
        }
        let below = level.paths.iter().filter_map(|path| path.split_once('.'));
        self.next = below.filter(|(head, _)| head.as_bytes() == level.name).map(|(_, rest)| rest).collect();
        writer.write_all(if level.has_members { b",\"" } else { b"\"" })?;
        writer.write_all(&level.name)?;
        writer.write_all(b"\":")?;
        level.has_members = true;
        Ok(())
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.skipping = self.skipping.saturating_sub(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cairn_work::Limits;
    use proptest::prelude::{Just, Strategy, any, prop};
    use serde_json::{Map, Value, json, value::RawValue};

    use super::*;

    fn written<T: Serialize>(value: &T, paths: &[&str]) -> String {
        String::from_utf8(to_vec(value, Selection::Without(paths), &Work::within(Limits::NONE)).unwrap()).unwrap()
    }

    #[test]
    fn members_vanish_and_the_rest_stays_as_printed() {
        let json = r#"{"a":0.10000000,"b":{"c":1,"d":2},"e":[{"f":1,"g":2},{"g":3}],"h":null}"#;
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        #[derive(Serialize)]
        struct Inner {
            c: u8,
            d: i64,
        }
        #[derive(Serialize)]
        struct Row {
            #[serde(skip_serializing_if = "Option::is_none")]
            f: Option<u8>,
            g: u8,
        }
        #[derive(Serialize)]
        struct Outer {
            a: Box<RawValue>,
            b: Inner,
            e: Vec<Row>,
            h: Option<bool>,
        }
        let value = Outer {
            a: raw("0.10000000"),
            b: Inner { c: 1, d: 2 },
            e: vec![Row { f: Some(1), g: 2 }, Row { f: None, g: 3 }],
            h: None,
        };
        assert_eq!(written(&value, &[]), json);
        assert_eq!(
            written(&value, &["b.c", "e.g", "h", "nothing", "a.x"]),
            r#"{"a":0.10000000,"b":{"d":2},"e":[{"f":1},{}]}"#
        );
        assert_eq!(written(&value, &["a", "b", "e", "h"]), "{}");
    }

    #[test]
    fn names_and_texts_are_escaped_as_ever() {
        let value = json!({"a\"\n": "x\\\u{1}é", "b": [[{"c": 1.5}], -1, true]});
        assert_eq!(written(&value, &["z"]), value.to_string());
        assert_eq!(written(&value, &["b.c"]), json!({"a\"\n": "x\\\u{1}é", "b": [[{}], -1, true]}).to_string());
    }

    /// The same by hand: on the value, and without any formatter.
    fn pruned(value: &Value, paths: &[&str]) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| pruned(item, paths)).collect(),
            Value::Object(members) => {
                let kept = members.iter().filter(|(name, _)| !paths.contains(&name.as_str()));
                let below = |name: &str| -> Vec<&str> {
                    let split = paths.iter().filter_map(|path| path.split_once('.'));
                    split.filter(|(head, _)| *head == name).map(|(_, rest)| rest).collect()
                };
                let members: Map<String, Value> =
                    kept.map(|(name, member)| (name.clone(), pruned(member, &below(name)))).collect();
                members.into()
            }
            other => other.clone(),
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = proptest::prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-c\"\\\\\n]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            proptest::prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn writing_prunes_as_pruning_does(
            value in value(),
            paths in prop::collection::vec("[a-c](\\.[a-c]){0,2}", 0..4),
        ) {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            proptest::prop_assert_eq!(written(&value, &paths), pruned(&value, &paths).to_string());
        }
    }
}
