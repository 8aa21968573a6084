//! The trait of an operation: one file with its description, input, output and implementation.

use cairn_http::{AgreedOperation, ApiError, Info, Output, RegisteredOperation, Selection, SerializedAnswer};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{context::Ctx, node_bytes::TxRequest};

/// An operation: one file and one line in its area.
pub(crate) trait Operation {
    /// Its description.
    const INFO: Info;
    /// Its input: path, query and body parameters in one object.
    type Input: DeserializeOwned + JsonSchema;
    /// Its output: an object, to which `_meta` is added, a file, or rows in a format that the request chose.
    type Output: Output;

    /// Bytes that it needs from the node. The node is asked before the operation runs, while no lock is held. Most
    /// operations need none.
    fn wants(_: &Ctx<'_>, _: &Self::Input) -> Result<Option<TxRequest>, ApiError> {
        Ok(None)
    }

    /// Computes the answer.
    fn run(ctx: &Ctx<'_>, input: Self::Input) -> Result<Self::Output, ApiError>;
}

/// Runs an operation without its types.
pub(crate) struct Runner {
    /// See [`Operation::wants`]; `None` for operations that never ask the node.
    pub(crate) wants: fn(&Ctx<'_>, &Value) -> Result<Option<TxRequest>, ApiError>,
    /// Computes and writes the answer.
    pub(crate) run: fn(&Ctx<'_>, &Value, Selection<'_>) -> Result<SerializedAnswer, ApiError>,
}

/// Makes the line of an operation, with how it was agreed upon.
pub(crate) type ToLine = fn(&[AgreedOperation]) -> Line;

/// A line of the registry.
pub(crate) struct Line {
    /// Its entry for the framework.
    pub(crate) registered: RegisteredOperation,
    pub(crate) runner: Runner,
}

/// Makes the line of an operation.
pub(crate) fn line<O: Operation>(agreed: &[AgreedOperation]) -> Line {
    Line {
        registered: RegisteredOperation::of::<O::Input, O::Output>(O::INFO, agreed),
        runner: Runner {
            wants: |ctx, input| O::wants(ctx, &read::<O>(input)?),
            run: |ctx, input, selection| O::run(ctx, read::<O>(input)?)?.write(selection, &ctx.work),
        },
    }
}

/// Parses the input as the operation's type.
pub(crate) fn read<O: Operation>(input: &Value) -> Result<O::Input, ApiError> {
    <O::Input as Deserialize>::deserialize(input).map_err(|error| {
        // The schema accepts a value that the type does not.
        // It may have a part of the input.
        let error = if O::INFO.private { "the input is private".to_owned() } else { error.to_string() };
        tracing::error!(operation = O::INFO.name, error, "schema and type of an input differ");
        ApiError::new(cairn_http::ErrorCode::ValidationError, "the input is invalid")
    })
}
