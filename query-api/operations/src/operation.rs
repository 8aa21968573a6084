//! The trait of an operation: one file with its description, input, output and implementation.

use cairn_http::{AgreedOperation, ApiError, Info, Output, RegisteredOperation, Selection, SerializedAnswer};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{context::Ctx, node_bytes::TxRequest};

/// Names that most operations need.
pub(crate) mod prelude {
    pub(crate) use cairn_http::{ApiError, Cost, ErrorCode, Info, NoInput, Tool};
    pub(crate) use cairn_model::{Height, Sats, TxNum};
    pub(crate) use cairn_reader::View;
    pub(crate) use schemars::JsonSchema;
    pub(crate) use serde::{Deserialize, Serialize};

    pub(crate) use crate::{
        context::{CLAIMS, Ctx, LABELS, MEMPOOL, TIP, and_mempool, index_get, index_post, labelled_list, lacks},
        operation::Operation,
        values::{Btc, rfc3339},
    };
}

/// An operation: one file and one line in its area. `BlockTime` below is an example that is compiled.
pub(crate) trait Operation {
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

    fn run(ctx: &Ctx<'_>, input: Self::Input) -> Result<Self::Output, ApiError>;
}

/// Runs an operation without its types.
pub(crate) struct Runner {
    /// See [`Operation::wants`]; `None` for operations that never ask the node.
    pub(crate) wants: fn(&Ctx<'_>, &Value) -> Result<Option<TxRequest>, ApiError>,
    /// Computes and writes the answer.
    pub(crate) run: fn(&Ctx<'_>, &Value, Selection<'_>) -> Result<SerializedAnswer, ApiError>,
}

pub(crate) type ToLine = fn(&[AgreedOperation]) -> Line;

pub(crate) struct Line {
    pub(crate) registered: RegisteredOperation,
    pub(crate) runner: Runner,
}

pub(crate) fn line<O: Operation>(agreed: &[AgreedOperation]) -> Line {
    Line {
        registered: RegisteredOperation::of::<O::Input, O::Output>(O::INFO, agreed),
        runner: Runner {
            wants: |ctx, input| O::wants(ctx, &read::<O>(input)?),
            run: |ctx, input, selection| O::run(ctx, read::<O>(input)?)?.write(selection, &ctx.work),
        },
    }
}

pub(crate) fn read<O: Operation>(input: &Value) -> Result<O::Input, ApiError> {
    <O::Input as Deserialize>::deserialize(input).map_err(|error| {
        // The schema accepts a value that the type does not.
        // It may have a part of the input.
        let error = if O::INFO.private { "the input is private".to_owned() } else { error.to_string() };
        tracing::error!(operation = O::INFO.name, error, "schema and type of an input differ");
        ApiError::new(cairn_http::ErrorCode::ValidationError, "the input is invalid")
    })
}

#[cfg(test)]
mod tests {
    use cairn_http::ErrorCode;
    use cairn_model::Height;
    use serde::Serialize;

    use super::*;
    use crate::context::{BlockRef, block_ref, index_get};

    /// The example: an operation is its description, the types of its input and its output, and a function.
    struct BlockTime;

    /// Parameters. The placeholder of the path makes `height` a part of the path; other fields would be of the query.
    #[derive(Deserialize, JsonSchema)]
    struct BlockTimeInput {
        /// Height of the block.
        height: Height,
    }

    /// A block and the number of blocks above it.
    #[derive(Serialize, JsonSchema)]
    struct BlockTimeOutput {
        block: BlockRef,
        /// Blocks of the active chain above it.
        blocks_above: u32,
    }

    impl Operation for BlockTime {
        const INFO: Info = Info {
            summary: "Time of a block",
            description: "Hash and time of the block at a height of the active chain.",
            errors: &[ErrorCode::BlockNotFound],
            ..index_get("block_time", "/v1/blocks/{height}/time", "blocks")
        };
        type Input = BlockTimeInput;
        type Output = BlockTimeOutput;

        fn run(ctx: &Ctx<'_>, input: BlockTimeInput) -> Result<BlockTimeOutput, ApiError> {
            // One view for the whole request: all that is read is of its tip.
            let view = ctx.view()?;
            let Some(blocks_above) = view.tip().height.checked_sub(input.height) else {
                return Err(ctx.missing(ErrorCode::BlockNotFound, "the active chain has no such block".to_owned()));
            };
            Ok(BlockTimeOutput { block: block_ref(view, input.height)?, blocks_above })
        }
    }

    #[test]
    fn an_operation_is_described_by_what_it_declares() {
        let RegisteredOperation { info, input, .. } = line::<BlockTime>(&[]).registered;
        assert_eq!((info.name, info.path), ("block_time", "/v1/blocks/{height}/time"));
        let fields: Vec<_> = input.fields.iter().map(|field| (field.name.as_str(), field.required)).collect();
        assert_eq!(fields, [("height", true)]);
    }
}
