//! What an operation says about itself. What it does is the service's: see [`crate::Backend`].

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    answers::code::ErrorCode,
    contract::{
        cost::Cost,
        input::InputSpec,
        method::Method,
        offer::{Agreed, Offer},
        output::{JSON, Output},
        tool::Tool,
    },
};

/// Something that an answer depends on: its ETag is made of the versions of all that its operation names. The service
/// names its own kinds; two are known to every service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Freshness(pub &'static str);

impl Freshness {
    /// Configuration and state of the service.
    pub const STATE: Freshness = Freshness("state");
    /// The time of the request: no earlier answer stands for a later one.
    pub const NOW: Freshness = Freshness("now");
}

/// What an operation says about itself.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Unique name: `operationId`, and the base of its tool's name.
    pub name: &'static str,
    /// Method.
    pub method: Method,
    /// Path template.
    pub path: &'static str,
    /// Further path templates with the same parameters, kept for clients that know them.
    pub aliases: &'static [&'static str],
    /// Area: the tag in the description of the interface.
    pub area: &'static str,
    /// A line.
    pub summary: &'static str,
    /// A paragraph: what it answers, when to use it and when not.
    pub description: &'static str,
    /// What a request costs the server.
    pub cost: Cost,
    /// Whether some requests need a wallet session even in the beta.
    pub conditional: bool,
    /// Where its data comes from.
    pub source: &'static str,
    /// What its answer depends on; empty if on nothing but the request: then it may be kept for good.
    pub freshness: &'static [Freshness],
    /// What `_meta.freshness` means.
    pub freshness_semantics: &'static str,
    /// Whether the answer is wrong, not only old, while the service's data is behind.
    pub needs_tip: bool,
    /// Members that `view=compact` leaves out.
    pub compact: &'static [&'static str],
    /// Its own failures.
    pub errors: &'static [ErrorCode],
    /// The member of the body that a body of type `text/plain` stands for, if it may come so.
    pub text_body: Option<&'static str>,
    /// How agents meet it.
    pub tool: Tool,
}

impl Info {
    /// An operation that reads and depends on nothing; what differs is set behind it.
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
            needs_tip: false,
            compact: &[],
            errors: &[],
            text_body: None,
            tool: Tool::UNLISTED,
        }
    }

    /// The path, with the method before it if that is not GET.
    #[must_use]
    pub fn endpoint(&self) -> String {
        match self.method {
            Method::Get => self.path.to_owned(),
            Method::Post => format!("POST {}", self.path),
        }
    }

    /// Whether its answer depends on this.
    #[must_use]
    pub fn depends_on(&self, what: Freshness) -> bool {
        self.freshness.contains(&what)
    }
}

/// An operation, as the framework sees it.
#[derive(Clone, Debug)]
pub struct Registered {
    /// What it says about itself.
    pub info: Info,
    /// What it takes.
    pub input: InputSpec,
    /// How it is offered.
    pub offer: Offer,
    /// Media types of its answers, the usual one first.
    pub media: &'static [&'static str],
    output: fn(&mut SchemaGenerator) -> Schema,
}

impl Registered {
    /// An operation with these types of input and output. How it is offered was agreed upon; one that was not is free.
    #[must_use]
    pub fn of<I: DeserializeOwned + JsonSchema, O: Output>(info: Info, agreed: &[Agreed]) -> Self {
        Registered {
            info,
            input: InputSpec::of::<I>(info.path, info.method),
            offer: agreed.iter().find(|row| row.is(info.method.name(), info.path)).map_or(Offer::FREE, |row| row.offer),
            media: O::MEDIA,
            output: O::schema,
        }
    }

    /// Schema of its JSON output.
    pub fn output_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.output)(generator)
    }

    /// Whether it can answer with JSON.
    #[must_use]
    pub fn has_json(&self) -> bool {
        self.media.contains(&JSON)
    }

    /// Its path and those that are kept beside it.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.info.path).chain(self.info.aliases.iter().copied())
    }
}

/// How much of an answer is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// All of it.
    #[default]
    Full,
    /// Without the members that the operation names as explanatory.
    Compact,
}

/// Input of operations without parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoInput {}
