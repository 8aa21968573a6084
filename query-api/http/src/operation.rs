//! What an operation is.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    budget::Cost,
    context::Ctx,
    error::ApiError,
    input::InputSpec,
    offer::Offer,
    output::{Output, Written},
    tool::Tool,
};

/// HTTP method of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// GET; HEAD comes with it.
    Get,
    /// POST with a JSON body. Its answers are never stored and have no ETag.
    Post,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}

/// What an answer depends on: its ETag is made of their versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Freshness {
    /// The tip of the index and how far it lags.
    Tip,
    /// The mempool: which transactions are in it, and the projection made from it.
    Mempool,
    /// Configuration and state of the service.
    State,
    /// The time of the request: no earlier answer stands for a later one.
    Now,
}

/// What an operation says about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    /// Unique name: `operationId`, and the base of its tool's name.
    pub(crate) name: &'static str,
    /// Method.
    pub(crate) method: Method,
    /// Path template.
    pub(crate) path: &'static str,
    /// Area: the tag in the description of the interface.
    pub(crate) area: &'static str,
    /// A line.
    pub(crate) summary: &'static str,
    /// A paragraph: what it answers, when to use it and when not.
    pub(crate) description: &'static str,
    /// Package, tier and price after the beta.
    pub(crate) offer: Offer,
    /// What a request costs the server.
    pub(crate) cost: Cost,
    /// Whether some requests need a wallet session even in the beta.
    pub(crate) conditional: bool,
    /// Where its data comes from.
    pub(crate) source: &'static str,
    /// What its answer depends on; empty if on nothing but the request: then it may be kept for good.
    pub(crate) freshness: &'static [Freshness],
    /// What `_meta.freshness` means.
    pub(crate) freshness_semantics: &'static str,
    /// Whether the answer is wrong, not only old, when the index is behind.
    pub(crate) needs_tip: bool,
    /// Members that `view=compact` leaves out.
    pub(crate) compact: &'static [&'static str],
    /// Its own failures: status and code.
    pub(crate) errors: &'static [(u16, &'static str)],
    /// The member of the body that a body of type `text/plain` stands for, if it may come so.
    pub(crate) text_body: Option<&'static str>,
    /// How agents meet it.
    pub(crate) tool: Tool,
}

impl Info {
    /// A free operation that reads the index; what differs is set behind it.
    pub(crate) const fn get(name: &'static str, path: &'static str, area: &'static str) -> Self {
        Info {
            name,
            method: Method::Get,
            path,
            area,
            summary: "",
            description: "",
            offer: Offer::FREE,
            cost: Cost::Standard,
            conditional: false,
            source: "index",
            freshness: &[Freshness::Tip],
            freshness_semantics: "time of the newest block in the index (monotone block time); confirmed data only",
            needs_tip: false,
            compact: &[],
            errors: &[],
            text_body: None,
            tool: Tool::UNLISTED,
        }
    }

    /// A free operation that takes a body; what differs is set behind it.
    pub(crate) const fn post(name: &'static str, path: &'static str, area: &'static str) -> Self {
        Info { method: Method::Post, ..Info::get(name, path, area) }
    }

    /// The same, but it speaks of unconfirmed transactions too, where there is a mempool.
    pub(crate) const fn and_mempool(self) -> Self {
        Info {
            source: "index+mempool",
            freshness: &[Freshness::Tip, Freshness::Mempool],
            freshness_semantics: "when the mempool was last told of a change; where there is none to read, the time of \
                the newest block in the index (monotone block time)",
            ..self
        }
    }

    /// Whether it speaks of unconfirmed transactions.
    pub(crate) fn reads_mempool(&self) -> bool {
        self.freshness.contains(&Freshness::Mempool)
    }

    /// The path, with the method before it if that is not GET.
    pub(crate) fn endpoint(&self) -> String {
        match self.method {
            Method::Get => self.path.to_owned(),
            Method::Post => format!("POST {}", self.path),
        }
    }
}

/// An operation: one file under `routes` and one line in the registry.
pub(crate) trait Operation {
    /// What it says about itself.
    const INFO: Info;
    /// What it takes: path, query and body parameters in one object.
    type Input: DeserializeOwned + JsonSchema;
    /// What it answers: an object, to which `_meta` is added, or a file.
    type Output: Output;

    /// Answers.
    fn run(ctx: &Ctx<'_>, input: Self::Input) -> Result<Self::Output, ApiError>;
}

/// How an operation is run.
type Run = fn(&Ctx<'_>, Value) -> Result<Written, ApiError>;

/// An operation without its types.
pub(crate) struct Registered {
    /// What it says about itself.
    pub(crate) info: Info,
    /// What it takes.
    pub(crate) input: InputSpec,
    /// Media type of its answers, if they are no JSON.
    pub(crate) file: Option<&'static str>,
    run: Run,
    output: fn(&mut SchemaGenerator) -> Schema,
}

impl Registered {
    /// Registers an operation.
    pub(crate) fn of<O: Operation>() -> Self {
        Registered {
            info: O::INFO,
            input: InputSpec::of::<O::Input>(O::INFO.path, O::INFO.method),
            file: O::Output::FILE,
            run: run::<O>,
            output: O::Output::schema,
        }
    }

    /// Runs it on a checked input.
    pub(crate) fn run(&self, ctx: &Ctx<'_>, input: Value) -> Result<Written, ApiError> {
        (self.run)(ctx, input)
    }

    /// Schema of its output.
    pub(crate) fn output_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.output)(generator)
    }
}

fn run<O: Operation>(ctx: &Ctx<'_>, input: Value) -> Result<Written, ApiError> {
    let input = serde_json::from_value::<O::Input>(input).map_err(|error| {
        // The schema let something pass that the type does not take.
        tracing::error!(operation = O::INFO.name, %error, "schema and type of an input differ");
        ApiError::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, crate::error::VALIDATION, "the input is not valid")
    })?;
    let output = O::run(ctx, input)?;
    output.write().map_err(|error| {
        tracing::error!(operation = O::INFO.name, %error, "an answer could not be written");
        ApiError::internal()
    })
}

/// How much of an answer is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Detail {
    #[default]
    Full,
    Compact,
}

/// Input of operations without parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NoInput {}
