//! Location of a store.

use std::{fmt, path::PathBuf, str::FromStr};

/// Location of a store: `s3://BUCKET/PREFIX` or `file:///FOLDER`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// A bucket, and the prefix of the names of its objects (may be empty).
    Bucket {
        /// Its name.
        bucket: String,
        /// Prefix of names, without `/` at its ends.
        prefix: String,
    },
    /// A folder: an absolute path.
    Folder(PathBuf),
}

/// A text that is not a location of a store. It is not repeated: it may have credentials in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LocationError {
    /// The scheme is neither `s3` nor `file`.
    #[error("not a store; use s3://BUCKET/PREFIX or file:///FOLDER")]
    Scheme,
    /// The text after `s3://` is not the name of a bucket.
    #[error(
        "not the name of a bucket after s3://: it has 3 to 63 lower-case letters, digits, '-' and '.'. Credentials are taken from the \
         environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), never from here"
    )]
    Bucket,
    /// The text after the bucket is not a prefix.
    #[error("what follows the bucket has an empty part, '.', '..' or a character other than letters, digits and -_.=")]
    Prefix,
    /// The text after `file://` is not an absolute path.
    #[error("not an absolute path after file://")]
    Folder,
}

impl Location {
    /// True for a text that has a scheme, and therefore is not a path.
    #[must_use]
    pub fn has_scheme(text: &str) -> bool {
        text.contains("://")
    }
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        if let Some(path) = text.strip_prefix("file://") {
            let path = PathBuf::from(path);
            let is_plain = path.is_absolute() && !path.components().any(|part| part.as_os_str() == "..");
            return is_plain.then_some(Location::Folder(path)).ok_or(LocationError::Folder);
        }
        let rest = text.strip_prefix("s3://").ok_or(LocationError::Scheme)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_of_bucket = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(is_of_bucket) {
            return Err(LocationError::Bucket);
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_part = |part: &str| {
            !matches!(part, "" | "." | "..") && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.=".contains(c))
        };
        if !prefix.is_empty() && !prefix.split('/').all(is_part) {
            return Err(LocationError::Prefix);
        }
        Ok(Location::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Bucket { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Location::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
            Location::Folder(path) => write!(f, "file://{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_read_and_shown() {
        for text in ["s3://cairn", "s3://my.bucket-1/a/b=1/c_d", "file:///srv/backup"] {
            assert_eq!(text.parse::<Location>().map(|found| found.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("s3://cairn/a/".parse::<Location>().map(|found| found.to_string()), Ok("s3://cairn/a".to_owned()));
    }

    #[test]
    fn what_is_no_location_is_refused_and_not_repeated() {
        for (text, error) in [
            ("http://cairn", LocationError::Scheme),
            ("/srv", LocationError::Scheme),
            ("s3://", LocationError::Bucket),
            ("s3://ab", LocationError::Bucket),
            ("s3://Cairn/x", LocationError::Bucket),
            ("s3://key:hunter2@cairn/x", LocationError::Bucket),
            ("s3://cairn//x", LocationError::Prefix),
            ("s3://cairn/a/../b", LocationError::Prefix),
            ("s3://cairn/a b", LocationError::Prefix),
            ("s3://cairn/a?x=1", LocationError::Prefix),
            ("file://srv", LocationError::Folder),
            ("file:///srv/../etc", LocationError::Folder),
        ] {
            let found = text.parse::<Location>();
            assert_eq!(found, Err(error), "{text}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
