//! One operation for many addresses. A single wrapper makes the batch of any operation about an address. All rows of a
//! batch are answered from the same pinned index.

use std::marker::PhantomData;

use cairn_http::{AgreedOperation, ApiError, Cost, ErrorCode, Info, REDACTED, looks_secret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    context::Ctx,
    operation::{Line, Operation, line, read},
    parameters::identifier::ADDRESS,
};

/// An operation about one address that has a batch for many.
pub(crate) trait BatchedOperation: Operation<Output: Serialize + JsonSchema> {
    /// Description of its batch.
    const BATCH: Info;
}

/// The batch of an operation.
struct Batch<O>(PhantomData<O>);

/// The addresses.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BatchInput {
    /// Addresses or `scripthash:<hex>`, at most 100. The answer has one row for each, in this order; the row of an
    /// invalid one has an `error`.
    #[schemars(length(min = 1, max = 100), example = [json!("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")])]
    addresses: Vec<String>,
}

/// One row for each address, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Batch{T}")]
pub(crate) struct BatchOutput<T> {
    /// The addresses as given in the request.
    addresses: Vec<String>,
    results: Vec<Row<T>>,
}

/// The operation's answer for an address, or its error.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "BatchRow{T}")]
pub(crate) enum Row<T> {
    Answered(T),
    Failed(BatchFailure),
}

/// Error for one address.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BatchFailure {
    /// The address as given in the request.
    address: String,
    /// Stable error code.
    error: &'static str,
    /// Explanation of the error.
    detail: String,
}

/// An address as the answer repeats it.
fn shown(text: &str) -> String {
    if looks_secret(text) { REDACTED.to_owned() } else { text.to_owned() }
}

/// The line of an operation's batch.
pub(crate) fn batch<O: BatchedOperation>(agreed: &[AgreedOperation]) -> Line {
    line::<Batch<O>>(agreed)
}

impl<O: BatchedOperation> Operation for Batch<O> {
    const INFO: Info = Info {
        cost: Cost::Heavy,
        source: O::INFO.source,
        freshness: O::INFO.freshness,
        freshness_semantics: O::INFO.freshness_semantics,
        needs_tip: O::INFO.needs_tip,
        ..O::BATCH
    };
    type Input = BatchInput;
    type Output = BatchOutput<O::Output>;

    fn run(ctx: &Ctx<'_>, input: BatchInput) -> Result<Self::Output, ApiError> {
        let network = ctx.index.map(|view| view.network().name());
        let mut results = Vec::with_capacity(input.addresses.len());
        // A private key that was sent by mistake is not repeated.
        let addresses: Vec<String> = input.addresses.iter().map(|text| shown(text)).collect();
        for (address, shown) in input.addresses.iter().zip(&addresses) {
            ctx.work.poll()?;
            let failed = |code: ErrorCode, detail: String| {
                Row::Failed(BatchFailure { address: shown.clone(), error: code.name(), detail })
            };
            results.push(match (ADDRESS.look)(&Value::Null, address, network) {
                Err(bad) => failed(bad.code.unwrap_or(ErrorCode::ValidationError), bad.message),
                Ok(()) => match O::run(ctx, read::<O>(&json!({"address": address}))?) {
                    Ok(answer) => Row::Answered(answer),
                    // An error of one address is a row; an error of the server fails the whole batch.
                    Err(error) if error.status.is_client_error() => failed(error.code, error.detail.clone()),
                    Err(error) => return Err(error),
                },
            });
        }
        Ok(BatchOutput { addresses, results })
    }
}
