//! A line of a sizing sheet: a number with its source.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::units::{duration, size};

/// Where a number comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Counted on this machine now.
    Counted,
    /// Measured on this machine now.
    Measured,
    /// Follows from the settings.
    Configured,
    /// Counted bytes times a ratio that a benchmark recorded.
    Recorded,
    /// Computed from measured and recorded numbers.
    Computed,
    /// Not known.
    Unknown,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Counted => "counted",
            Source::Measured => "measured",
            Source::Configured => "configured",
            Source::Recorded => "recorded",
            Source::Computed => "computed",
            Source::Unknown => "unknown",
        })
    }
}

/// The number of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// Bytes.
    Bytes(u64),
    /// Bytes a second.
    BytesPerSecond(f64),
    /// Seconds: least and most.
    Seconds(f64, f64),
    /// A number of things.
    Count(u64),
    /// Unknown: the line says why.
    Unknown,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bytes(bytes) => f.write_str(&size(*bytes)),
            Value::BytesPerSecond(rate) => write!(f, "{}/s", size(*rate as u64)),
            Value::Seconds(least, most) => match (duration(*least), duration(*most)) {
                (least, most) if least == most => f.write_str(&most),
                (least, most) => write!(f, "{least} to {most}"),
            },
            Value::Count(count) => write!(f, "{count}"),
            Value::Unknown => f.write_str("unknown"),
        }
    }
}

/// One line of a sheet.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Its fixed name.
    pub name: &'static str,
    /// Its number.
    pub value: Value,
    /// The kind of its source.
    pub source: Source,
    /// The source itself: the folder, the setting, the benchmark, or the reason why the number is unknown.
    pub from: String,
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (unit, least, most) = match self.value {
            Value::Bytes(bytes) => ("bytes", Some(bytes), None),
            Value::BytesPerSecond(rate) => ("bytes_per_second", Some(rate as u64), None),
            Value::Seconds(least, most) => ("seconds", Some(least.round() as u64), Some(most.round() as u64)),
            Value::Count(count) => ("count", Some(count), None),
            Value::Unknown => ("unknown", None, None),
        };
        let mut line = to.serialize_struct("Line", 6)?;
        line.serialize_field("name", self.name)?;
        line.serialize_field("value", &least)?;
        line.serialize_field("value_at_most", &most)?;
        line.serialize_field("unit", unit)?;
        line.serialize_field("source", &self.source)?;
        line.serialize_field("from", &self.from)?;
        line.end()
    }
}
