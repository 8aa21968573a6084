//! What operations give back: JSON objects, as most do, or files of another kind.

use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

/// An answer, written.
pub(crate) enum Written {
    /// The text of a JSON object; `_meta` is added to it.
    Json(String),
    /// A file: sent as it is.
    File { media_type: &'static str, bytes: Vec<u8> },
}

/// What an operation may give back. Every type that serializes to an object is one; so is [`File`].
pub(crate) trait Output {
    /// Media type, if the answer is no JSON.
    const FILE: Option<&'static str>;

    /// Schema of the JSON object; that of any string of bytes for a file.
    fn schema(generator: &mut SchemaGenerator) -> Schema;

    /// Writes it.
    fn write(self) -> Result<Written, serde_json::Error>;
}

impl<T: Serialize + JsonSchema> Output for T {
    const FILE: Option<&'static str> = None;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }

    fn write(self) -> Result<Written, serde_json::Error> {
        serde_json::to_string(&self).map(Written::Json)
    }
}

/// A media type.
pub(crate) trait Media {
    /// Its name.
    const TYPE: &'static str;
}

/// `image/png`.
pub(crate) struct Png;

impl Media for Png {
    const TYPE: &'static str = "image/png";
}

/// A file of a media type.
pub(crate) struct File<M> {
    bytes: Vec<u8>,
    media: PhantomData<M>,
}

impl<M: Media> File<M> {
    /// A file of these bytes.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        File { bytes, media: PhantomData }
    }
}

impl<M: Media> Output for File<M> {
    const FILE: Option<&'static str> = Some(M::TYPE);

    fn schema(_: &mut SchemaGenerator) -> Schema {
        // Binary bodies have no schema of their own in OpenAPI 3.1: the media type says all.
        Schema::default()
    }

    fn write(self) -> Result<Written, serde_json::Error> {
        Ok(Written::File { media_type: M::TYPE, bytes: self.bytes })
    }
}
