//! What an operation is here: one file with what it says about itself, what it takes, what it answers, and how.

use cairn_http::{Agreed, ApiError, Info, Output, Registered, Selection, Written};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{context::Ctx, node_bytes::Wanted};

/// An operation: one file and one line in its area.
pub(crate) trait Operation {
    /// What it says about itself.
    const INFO: Info;
    /// What it takes: path, query and body parameters in one object.
    type Input: DeserializeOwned + JsonSchema;
    /// What it answers: an object, to which `_meta` is added, a file, or rows in a format that the request chose.
    type Output: Output;

    /// Bytes that only a node has and that it could use: it is asked for them before the operation runs, while nothing is
    /// held. Most need none.
    ///
    /// # Errors
    /// Those of the operation itself.
    fn wants(_: &Ctx<'_>, _: &Self::Input) -> Result<Option<Wanted>, ApiError> {
        Ok(None)
    }

    /// Answers.
    ///
    /// # Errors
    /// There is no answer, and why.
    fn run(ctx: &Ctx<'_>, input: Self::Input) -> Result<Self::Output, ApiError>;
}

/// What runs an operation without its types.
pub(crate) struct Runner {
    /// See [`Operation::wants`]; `None` for those that never want anything.
    pub(crate) wants: fn(&Ctx<'_>, &Value) -> Result<Option<Wanted>, ApiError>,
    /// Answers, and writes the answer.
    pub(crate) run: fn(&Ctx<'_>, &Value, Selection<'_>) -> Result<Written, ApiError>,
}

/// Declares the operations of an area, in the order in which they are listed: each is a file beside the one that calls
/// this. Those with `+ batch` can be asked about many addresses at once, too.
macro_rules! area {
    ($($file:ident::$operation:ident $(+ $batch:ident)?,)+) => {
        $(pub(crate) mod $file;)+

        /// The operations of this area.
        pub(crate) const OPERATIONS: &[$crate::operation::ToLine] = &[$($crate::operation::line::<$file::$operation>),+];
        /// Their batches.
        pub(crate) const BATCHES: &[$crate::operation::ToLine] =
            &[$($($crate::batch::$batch::<$file::$operation>,)?)+];
    };
}
pub(crate) use area;

/// Makes the line of an operation, with how it was agreed upon.
pub(crate) type ToLine = fn(&[Agreed]) -> Line;

/// A line of the registry.
pub(crate) struct Line {
    /// How the framework sees it.
    pub(crate) registered: Registered,
    /// What runs it.
    pub(crate) runner: Runner,
}

/// The line of an operation.
pub(crate) fn line<O: Operation>(agreed: &[Agreed]) -> Line {
    Line {
        registered: Registered::of::<O::Input, O::Output>(O::INFO, agreed),
        runner: Runner {
            wants: |ctx, input| O::wants(ctx, &read::<O>(input)?),
            run: |ctx, input, selection| Ok(O::run(ctx, read::<O>(input)?)?.write(selection)?),
        },
    }
}

/// The input as the operation's type has it.
pub(crate) fn read<O: Operation>(input: &Value) -> Result<O::Input, ApiError> {
    <O::Input as Deserialize>::deserialize(input).map_err(|error| {
        // The schema let something pass that the type does not take.
        tracing::error!(operation = O::INFO.name, %error, "schema and type of an input differ");
        ApiError::new(cairn_http::ErrorCode::ValidationError, "the input is not valid")
    })
}
