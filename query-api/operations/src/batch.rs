//! One operation for many addresses. A single wrapper makes the batch of any operation about an address. All rows of a
//! batch are answered from the same pinned index.

use std::{borrow::Cow, collections::HashMap, io, marker::PhantomData};

use cairn_http::{AgreedOperation, REDACTED, looks_secret};
use schemars::{Schema, SchemaGenerator};
use serde::Serializer;
use serde_json::{Value, json};

use crate::{
    operation::prelude::*,
    operation::{Line, line, read},
    parameters::identifier::ADDRESS,
};

/// Error of a row that was not reached.
const UNAVAILABLE: &str = "unavailable";
const UNREACHED: &str = "the batch had used half of the time or of the work of a request before this address; ask again, \
    with fewer addresses";

/// Explanation of a row that needs too much.
const TOO_MUCH: &str = "this address needs more than half of the time or of the work that the batch had left; ask for it \
    alone";
/// Explanation of a row that did not fit.
const FULL: &str = "the rows before this one fill the answer of the batch, which has at most 4 MiB of rows; ask for this \
    address in a batch of its own";

/// Bytes of all answered rows. A row that is given several times counts each time; errors do not count.
const MAX_ROW_BYTES: usize = 4 << 20;

/// A row may use half of what is left: so its failure leaves room for other rows, and for the answer.
const ROW_SHARE: u32 = 2;

/// An operation about one address that has a batch for many.
pub(crate) trait BatchedOperation: Operation<Output: Serialize + JsonSchema> {
    const BATCH: Info;

    /// Data that the rows of a batch share, so that each part is read once; `()` if there is none.
    type Shared<'r>: Default;

    /// Computes the answer for an address of a batch.
    fn run_shared<'r>(
        ctx: &'r Ctx<'r>,
        input: Self::Input,
        _: &mut Self::Shared<'r>,
    ) -> Result<Self::Output, ApiError> {
        Self::run(ctx, input)
    }
}

struct Batch<O>(PhantomData<O>);

/// The addresses.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BatchInput {
    /// Addresses or `scripthash:<hex>`, at most 100. The answer has one row for each, in this order; the row of an
    /// invalid one has an `error`.
    #[schemars(length(min = 1, max = 100), example = [json!("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")])]
    pub(crate) addresses: Vec<String>,
}

/// One row for each address, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Batch{T}")]
pub(crate) struct BatchOutput<T> {
    /// The addresses as given in the request.
    addresses: Vec<String>,
    results: Rows<T>,
}

/// The rows of a batch. An address that is given several times is computed once.
#[derive(Debug)]
struct Rows<T> {
    /// The row of each distinct address.
    computed: Vec<Row<T>>,
    /// The row of each address of the request.
    order: Vec<usize>,
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
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct BatchFailure {
    /// The address as given in the request.
    address: String,
    /// Stable error code, or `unavailable` for an address that the batch did not reach, that needs too much of the time
    /// and of the work of a request, or whose row does not fit: the rows of an answer have at most 4 MiB together.
    error: &'static str,
    /// Explanation of the error.
    detail: String,
    /// True if the same request may succeed later.
    retryable: bool,
}

impl<T: Serialize> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.order.iter().filter_map(|at| self.computed.get(*at)))
    }
}

impl<T: JsonSchema> JsonSchema for Rows<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        <Vec<Row<T>>>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Vec<Row<T>>>::json_schema(generator)
    }
}

impl<T: Serialize> Rows<T> {
    /// The rows of these addresses, each distinct one computed once, in the order in which they are first named. From
    /// the first row that does not fit into `max_bytes` on, each is `unavailable`; `row` gets whether there is room.
    ///
    /// # Errors
    /// Fails with the first error of `row`, or if a row cannot be written.
    fn of(
        addresses: &[String],
        max_bytes: usize,
        mut row: impl FnMut(&str, bool) -> Result<Row<T>, ApiError>,
    ) -> Result<Self, ApiError> {
        let mut rows = Rows { computed: Vec::new(), order: Vec::with_capacity(addresses.len()) };
        let mut known: HashMap<&str, (usize, usize)> = HashMap::new();
        let (mut left, mut has_room) = (max_bytes, true);
        for address in addresses {
            let (at, bytes) = match known.get(address.as_str()) {
                Some(known) => *known,
                None => {
                    let computed = row(address, has_room)?;
                    let bytes = computed.bytes()?;
                    rows.computed.push(computed);
                    let found = (rows.computed.len() - 1, bytes);
                    known.insert(address, found);
                    found
                }
            };
            has_room &= bytes <= left;
            if has_room || bytes == 0 {
                left -= bytes;
                rows.order.push(at);
            } else {
                let failed = Row::Failed(BatchFailure::unavailable(address, FULL));
                rows.order.push(rows.computed.len());
                rows.computed.push(failed);
            }
        }
        Ok(rows)
    }
}

impl<T: Serialize> Row<T> {
    /// Bytes of the row in the answer; 0 for an error.
    fn bytes(&self) -> Result<usize, ApiError> {
        let mut counted = Counted(0);
        if matches!(self, Row::Answered(_)) {
            serde_json::to_writer(&mut counted, self)?;
        }
        Ok(counted.0)
    }
}

/// Counts what is written to it.
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BatchFailure {
    fn unavailable(address: &str, detail: &str) -> Self {
        BatchFailure { address: shown(address), error: UNAVAILABLE, detail: detail.to_owned(), retryable: true }
    }

    fn of(address: &str, code: ErrorCode, detail: String, retryable: bool) -> Self {
        BatchFailure { address: shown(address), error: code.name(), detail, retryable }
    }
}

/// An address as the answer repeats it: a private key that was sent by mistake is not repeated.
fn shown(text: &str) -> String {
    if looks_secret(text) { REDACTED.to_owned() } else { text.to_owned() }
}

pub(crate) fn batch<O: BatchedOperation>(agreed: &[AgreedOperation]) -> Line {
    line::<Batch<O>>(agreed)
}

impl<T: Serialize> BatchOutput<T> {
    /// The answer of a batch: `row` computes that of one address. No further row is begun after half of the time or of
    /// the work of the request is used, so that the answer is written in time; and a row that needs more than half of
    /// the rest stops alone. The rows have at most [`MAX_ROW_BYTES`] together.
    ///
    /// # Errors
    /// Fails if the work has stopped, or with an error of the server; an error of one address is a row.
    pub(crate) fn each(
        ctx: &Ctx<'_>,
        addresses: &[String],
        mut row: impl FnMut(&str) -> Result<T, ApiError>,
    ) -> Result<Self, ApiError> {
        let network = ctx.index.map(|view| view.network().name());
        let results = Rows::of(addresses, MAX_ROW_BYTES, |address, has_room| {
            ctx.work.poll()?;
            if let Err(bad) = (ADDRESS.look)(&Value::Null, address, network) {
                let code = bad.code.unwrap_or(ErrorCode::ValidationError);
                return Ok(Row::Failed(BatchFailure::of(address, code, bad.message, false)));
            }
            if !has_room {
                return Ok(Row::Failed(BatchFailure::unavailable(address, FULL)));
            }
            if ctx.work.is_half_used() {
                return Ok(Row::Failed(BatchFailure::unavailable(address, UNREACHED)));
            }
            let (answer, stopped) = ctx.work.part(ROW_SHARE, || row(address));
            match answer {
                Ok(answer) => Ok(Row::Answered(answer)),
                Err(_) if stopped.is_some() => Ok(Row::Failed(BatchFailure::unavailable(address, TOO_MUCH))),
                // An error of one address is a row; an error of the server fails the whole batch.
                Err(error) if error.status.is_client_error() => {
                    Ok(Row::Failed(BatchFailure::of(address, error.code, error.detail.clone(), error.retryable)))
                }
                Err(error) => Err(error),
            }
        })?;
        Ok(BatchOutput { addresses: addresses.iter().map(|address| shown(address)).collect(), results })
    }
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
        let mut shared = O::Shared::<'_>::default();
        BatchOutput::each(ctx, &input.addresses, |address| {
            O::run_shared(ctx, read::<O>(&json!({"address": address}))?, &mut shared)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(addresses: &[&str], mut row: impl FnMut(&str) -> Row<u32>) -> Value {
        let addresses: Vec<String> = addresses.iter().map(|address| (*address).to_owned()).collect();
        serde_json::to_value(Rows::of(&addresses, usize::MAX, |address, _| Ok(row(address))).unwrap()).unwrap()
    }

    #[test]
    fn an_address_is_computed_once_and_answered_each_time() {
        let mut asked = Vec::new();
        let found = rows(&["a", "b", "a", "c", "b", "a"], |address| {
            asked.push(address.to_owned());
            Row::Answered(asked.len() as u32)
        });
        assert_eq!(asked, ["a", "b", "c"]);
        assert_eq!(found, json!([1, 2, 1, 3, 2, 1]));
    }

    #[test]
    fn rows_that_were_not_reached_are_there_and_say_so() {
        let mut left = 1;
        let found = rows(&["a", "b", "a", "b"], |address| {
            if left == 0 {
                return Row::Failed(BatchFailure::unavailable(address, UNREACHED));
            }
            left -= 1;
            Row::Answered(7)
        });
        let late = json!({"address": "b", "error": "unavailable", "detail": UNREACHED, "retryable": true});
        assert_eq!(found, json!([7, late, 7, late]));
    }

    #[test]
    fn the_rows_of_an_answer_are_bounded_in_bytes() {
        let addresses = ["a", "b", "a", "x", "b", "a", "c"].map(str::to_owned);
        let mut computed = Vec::new();
        let rows = Rows::of(&addresses, 31, |address, has_room| {
            if address == "x" {
                return Ok(Row::Failed(BatchFailure::of(
                    "x",
                    ErrorCode::InvalidAddress,
                    "no address".to_owned(),
                    false,
                )));
            }
            if !has_room {
                return Ok(Row::Failed(BatchFailure::unavailable(address, FULL)));
            }
            computed.push(address.to_owned());
            Ok(Row::Answered("12345678"))
        });
        let full =
            |address: &str| json!({"address": address, "error": "unavailable", "detail": FULL, "retryable": true});
        let wrong = json!({"address": "x", "error": "invalid_address", "detail": "no address", "retryable": false});
        let found = serde_json::to_value(rows.unwrap()).unwrap();
        // Each row takes ten bytes: three fit, and a repeated one counts again.
        assert_eq!(found, json!(["12345678", "12345678", "12345678", wrong, full("b"), full("a"), full("c")]));
        assert_eq!(computed, ["a", "b"]);
        assert!(FULL.contains(&format!("{} MiB", MAX_ROW_BYTES >> 20)));
    }

    #[test]
    fn the_first_error_of_the_server_ends_the_batch() {
        let addresses = ["a".to_owned(), "b".to_owned()];
        let mut asked = 0;
        let failed = Rows::<u32>::of(&addresses, usize::MAX, |_, _| {
            asked += 1;
            Err(ApiError::internal())
        });
        assert_eq!((failed.unwrap_err().code, asked), (ErrorCode::InternalError, 1));
    }
}
