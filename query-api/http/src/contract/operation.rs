//! Description of an operation. The service implements it: see [`crate::Backend`].

use axum::http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    answers::code::ErrorCode,
    config::HttpConfig,
    contract::{
        cost::Cost,
        input::{Field, InputSpec},
        method::Method,
        offer::{AgreedOperation, Offer},
        output::{JSON, Output},
        secret_header::SecretHeader,
        tool::Tool,
    },
};

/// An input that an answer depends on. The ETag is a hash of the versions of all inputs that the operation lists. The
/// service defines its own inputs; two exist for every service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Freshness(pub &'static str);

impl Freshness {
    /// Configuration and state of the service.
    pub const STATE: Freshness = Freshness("state");
    /// The time of the request: an answer is never reused.
    pub const NOW: Freshness = Freshness("now");
}

/// How an operation streams: asked with `Accept: text/event-stream`, it is asked again and again for what is new. Its
/// answer has the lists `events` (each with `id` and `type`), `last_id`, `has_more` and `reset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamSpec {
    /// The parameter with the id of the event to go on after.
    pub resume: &'static str,
    /// Path of the pages with all events. A client that has missed events reads them there.
    pub feed: &'static str,
}

/// A kind of file that an operation accepts as a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileBody {
    /// Its media type, in small letters.
    pub media: &'static str,
    /// The body field that the file sets, in base64.
    pub field: &'static str,
    /// Bytes that the file may have, as errors name it.
    pub max_bytes: usize,
    /// Bytes of the largest file whose base64 fits into the field. A larger one is refused before the operation sees
    /// it.
    pub max_fitting: usize,
}

/// Description of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Unique name: `operationId`, and the base of its tool's name.
    pub name: &'static str,
    /// HTTP method.
    pub method: Method,
    /// Path template.
    pub path: &'static str,
    /// Further path templates with the same parameters, kept for existing clients.
    pub aliases: &'static [&'static str],
    /// Area: the tag in the OpenAPI document.
    pub area: &'static str,
    /// One line.
    pub summary: &'static str,
    /// One paragraph: what it answers, when to use it and when not.
    pub description: &'static str,
    /// Cost class.
    pub cost: Cost,
    /// True if some requests need a wallet session even during the beta.
    pub conditional: bool,
    /// Source of its data.
    pub source: &'static str,
    /// Inputs that the answer depends on. If empty, it depends only on the request and may be cached forever.
    pub freshness: &'static [Freshness],
    /// Meaning of `_meta.freshness`.
    pub freshness_semantics: &'static str,
    /// True if the answer contains ages, so that it differs each time: it has no ETag and is never 304.
    pub has_ages: bool,
    /// True if it accepts something that goes on after the answer: its status is 202.
    pub is_accepted: bool,
    /// True if its status is 202 for a thing that is new, and 200 for a known one.
    pub accepts_new: bool,
    /// True if the answer would be wrong, not only old, while the service's data is behind.
    pub needs_tip: bool,
    /// Fields that `view=compact` omits.
    pub compact: &'static [&'static str],
    /// Its own error codes.
    pub errors: &'static [ErrorCode],
    /// The body field that a `text/plain` body sets, if the operation accepts one.
    pub text_body: Option<&'static str>,
    /// Another kind of file that the operation accepts as a body.
    pub file_body: Option<FileBody>,
    /// How agents see it as a tool.
    pub tool: Tool,
    /// Name of the operation whose `total_sats` is the price of a call; `None`: that of the list.
    pub quoted_by: Option<&'static str>,
    /// How it streams, if it does.
    pub streamed: Option<StreamSpec>,
    /// Media types that a request can choose with `Accept`, each with the value of the parameter `format` that it
    /// stands for. A request that has the parameter is not asked for more.
    pub accepts: &'static [(&'static str, &'static str)],
    /// True if its input is for this server alone: no part of it is repeated in answers and errors, and agents have no
    /// tool for it unless the operator allows that.
    pub private: bool,
    /// The header with a secret that it takes; such an operation is private.
    pub secret_header: Option<SecretHeader>,
}

impl Info {
    /// An operation that reads and depends on nothing; callers override the fields that differ.
    #[must_use]
    pub const fn get(name: &'static str, path: &'static str, area: &'static str) -> Self {
        Info {
            name,
            method: Method::Get,
            path,
            aliases: &[],
            area,
            summary: "",
            description: "",
            cost: Cost::Standard,
            conditional: false,
            source: "service",
            freshness: &[],
            freshness_semantics: "",
            has_ages: false,
            is_accepted: false,
            accepts_new: false,
            needs_tip: false,
            compact: &[],
            errors: &[],
            text_body: None,
            file_body: None,
            tool: Tool::UNLISTED,
            quoted_by: None,
            streamed: None,
            accepts: &[],
            private: false,
            secret_header: None,
        }
    }

    /// The path, prefixed with the method unless it is GET.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.endpoint_at(self.path)
    }

    /// Like [`Info::endpoint`], for one of its paths.
    #[must_use]
    pub fn endpoint_at(&self, path: &str) -> String {
        match self.method {
            Method::Get => path.to_owned(),
            Method::Post => format!("POST {path}"),
        }
    }

    /// The status of its answers.
    #[must_use]
    pub fn success(&self) -> StatusCode {
        if self.is_accepted { StatusCode::ACCEPTED } else { StatusCode::OK }
    }

    /// True if its answers have an ETag, so that `If-None-Match` may give 304.
    #[must_use]
    pub fn has_etag(&self) -> bool {
        matches!(self.method, Method::Get) && !self.has_ages
    }

    /// True if its answer depends on this input.
    #[must_use]
    pub fn depends_on(&self, what: Freshness) -> bool {
        self.freshness.contains(&what)
    }
}

/// A registered operation.
#[derive(Clone, Debug)]
pub struct RegisteredOperation {
    /// Its description.
    pub info: Info,
    /// Its input.
    pub input: InputSpec,
    /// Its offer.
    pub offer: Offer,
    /// Its aliases that the agreed interface has: they are described like its path.
    pub agreed_aliases: Vec<&'static str>,
    /// Media types of its answers, the default first.
    pub media: &'static [&'static str],
    output: fn(&mut SchemaGenerator) -> Schema,
}

impl RegisteredOperation {
    /// An operation with these input and output types. Its offer comes from the agreed interface; otherwise it is free.
    #[must_use]
    pub fn of<I: DeserializeOwned + JsonSchema, O: Output>(info: Info, agreed: &[AgreedOperation]) -> Self {
        let row = |path: &str| agreed.iter().find(|row| row.is(info.method.name(), path));
        RegisteredOperation {
            info,
            input: InputSpec { private: info.private, ..InputSpec::of::<I>(info.path, info.method) }
                .with_secret(info.secret_header),
            offer: match info.streamed {
                // A stream gives what its pages give, and cannot be sold as a single call.
                Some(stream) => row(stream.feed).map_or(Offer::FREE, |row| row.offer.without_price()),
                None => row(info.path).map_or(Offer::FREE, |row| row.offer),
            },
            agreed_aliases: info.aliases.iter().copied().filter(|alias| row(alias).is_some()).collect(),
            media: O::MEDIA,
            output: O::schema,
        }
    }

    /// Schema of its JSON output.
    pub fn output_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.output)(generator)
    }

    /// True if it can answer with JSON.
    #[must_use]
    pub fn has_json(&self) -> bool {
        self.media.contains(&JSON)
    }

    /// True if agents' tools may call it.
    #[must_use]
    pub fn is_for_tools(&self, config: &HttpConfig) -> bool {
        config.private_tools || !self.info.private
    }

    /// The name of a field in requests over HTTP: that of the header, for the field with a secret.
    pub(crate) fn name_of<'f>(&self, field: &'f Field) -> &'f str {
        let header = self.info.secret_header.filter(|header| header.field == field.name);
        header.map_or(field.name.as_str(), |header| header.name)
    }

    /// Its path, and its aliases that the agreed interface has: documents and catalogs list all of them.
    pub fn described_paths(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.info.path).chain(self.agreed_aliases.iter().copied())
    }

    /// Its path and its aliases.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.info.path).chain(self.info.aliases.iter().copied())
    }
}

/// Level of detail of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// All of it.
    #[default]
    Full,
    /// Without the explanatory fields of the operation.
    Compact,
}

/// Input of operations without parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoInput {}
