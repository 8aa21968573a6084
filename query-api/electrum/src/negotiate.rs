//! Versions of the protocol, and the one that client and server agree on.

use std::{fmt, str::FromStr};

use serde_json::Value;

/// A version of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Version([u16; 3]);

impl Version {
    /// The oldest that is served, and that of clients that name none.
    pub(crate) const OLDEST: Version = Version([1, 4, 0]);
    /// The newest in which requests may precede `server.version`.
    pub(crate) const LAST_LENIENT: Version = Version([1, 4, 3]);
    /// 1.6.
    pub(crate) const V1_6: Version = Version([1, 6, 0]);
    /// The newest that is served.
    pub(crate) const NEWEST: Version = Version::V1_6;

    /// All that are served, ascending. 1.5 does not exist.
    const ALL: [Version; 5] =
        [Version::OLDEST, Version([1, 4, 1]), Version([1, 4, 2]), Version::LAST_LENIENT, Version::V1_6];
}

impl FromStr for Version {
    type Err = ();

    /// Parses numbers with dots between them, at least two.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = [0; 3];
        let parts: Vec<&str> = text.split('.').collect();
        if !(2..=3).contains(&parts.len()) {
            return Err(());
        }
        for (number, part) in numbers.iter_mut().zip(parts) {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            *number = part.parse().ok().filter(|_| is_number).ok_or(())?;
        }
        Ok(Version(numbers))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version([major, minor, revision]) = self;
        write!(f, "{major}.{minor}")?;
        if *revision > 0 { write!(f, ".{revision}") } else { Ok(()) }
    }
}

/// The versions that a client speaks: the oldest and the newest.
pub(crate) type Asked = (Version, Version);

/// Reads the parameter `protocol_version`: a version, or a list of the oldest and the newest. `None` if it is neither.
pub(crate) fn asked(value: Option<&Value>) -> Option<Asked> {
    let version = |value: &Value| value.as_str()?.parse::<Version>().ok();
    match value {
        None | Some(Value::Null) => Some((Version::OLDEST, Version::OLDEST)),
        Some(Value::Array(both)) => match both.as_slice() {
            [oldest, newest] => Some((version(oldest)?, version(newest)?)),
            _ => None,
        },
        Some(only) => version(only).map(|only| (only, only)),
    }
}

/// The newest version that both speak, up to `newest`; `None` if they have no version in common.
pub(crate) fn negotiate((from, to): Asked, newest: Version) -> Option<Version> {
    Version::ALL.into_iter().rev().find(|version| (from..=to.min(newest)).contains(version))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agreed(value: Value) -> Option<String> {
        negotiate(asked(Some(&value))?, Version::NEWEST).map(|version| version.to_string())
    }

    #[test]
    fn the_newest_common_version_is_agreed() {
        for (value, expected) in [
            (json!("1.4"), "1.4"),
            (json!("1.4.2"), "1.4.2"),
            (json!(["1.1", "1.4"]), "1.4"),
            (json!(["1.4", "1.6"]), "1.6"),
            (json!(["1.4", "2.0"]), "1.6"),
            (json!(["1.4", "1.5"]), "1.4.3"),
            (json!(["1.4.1", "1.4.9"]), "1.4.3"),
            (json!(null), "1.4"),
        ] {
            assert_eq!(agreed(value.clone()).as_deref(), Some(expected), "{value}");
        }
        assert_eq!(negotiate(asked(None).unwrap(), Version::NEWEST), Some(Version::OLDEST));
        let both = asked(Some(&json!(["1.4", "1.6"]))).unwrap();
        assert_eq!(negotiate(both, Version::LAST_LENIENT), Some(Version::LAST_LENIENT));
    }

    #[test]
    fn others_have_none() {
        for value in [json!("1.3"), json!(["0.9", "1.2"]), json!("1.5"), json!(["1.7", "2.0"]), json!(["1.6", "1.4"])] {
            assert_eq!(agreed(value.clone()), None, "{value}");
        }
        for value in [json!(1.4), json!([]), json!(["1.4"]), json!("1"), json!("1.4.3.1"), json!("1.+4"), json!("")] {
            assert_eq!(asked(Some(&value)), None, "{value}");
        }
    }
}
