//! `GET /v1/silent-payments/tweaks`.

use cairn_http::{Format, Formatted};
use cairn_tables::tweaks::{StoredTweak, TweakHeadRow};

use crate::{operation::prelude::*, parameters::limit::Limit, vocabulary::columns::columns};

pub(crate) struct SilentPaymentTweaks;

/// After this many blocks, or tweaks that were read, a page ends: a filter may leave few of them.
const MAX_BLOCKS: u32 = 500;
const MAX_READ: usize = 20_000;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TweaksInput {
    /// The first block.
    #[schemars(example = 840_000)]
    from_height: Height,
    /// The last block. Default: the newest whose tweaks are made.
    to_height: Option<Height>,
    /// Leaves out transactions whose taproot outputs are all below this value in satoshis: a wallet that ignores dust
    /// saves the work on them.
    #[serde(default)]
    #[schemars(range(max = 100_000_000), example = 546)]
    dust_limit_sats: u64,
    /// Tweaks per page. Blocks stay whole, so the last block of a page may exceed it.
    #[serde(default)]
    limit: Limit<1_000, 5_000>,
    /// `json`, `csv` or `markdown`.
    #[serde(default)]
    format: Format,
}

/// Public tweaks of transactions, by block.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TweaksOutput {
    from_height: Height,
    /// The last block that this page covers; null if it covers none.
    to_height: Option<Height>,
    dust_limit_sats: u64,
    limit: u32,
    /// Tweaks in the order of the chain.
    tweaks: Vec<Tweak>,
    /// `from_height` of the next page; null at the end of the range.
    next_height: Option<Height>,
    /// The first block whose tweaks are made: earlier ones have none.
    first_indexed_height: Height,
    /// The newest block whose tweaks are made: the tip, or below it while they are being made.
    indexed_height: Height,
    indexed_hash: String,
}

/// The tweak of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tweak {
    height: Height,
    txid: String,
    /// `input_hash · A` of BIP 352, a compressed point.
    tweak: String,
    /// The largest value of its taproot outputs in satoshis.
    largest_sats: u64,
    /// The first eight bytes of the x coordinate of each of its taproot outputs, in their order.
    outputs: Vec<String>,
}

columns! { Tweak { height, txid, tweak, largest_sats, outputs } }

/// The span of blocks with tweaks.
///
/// # Errors
/// Fails without tweaks, and says how the operator has them made.
fn span(view: &View<'_>) -> Result<TweakHeadRow, ApiError> {
    view.silent_payments().span()?.ok_or_else(|| {
        let detail = "this server has no tweaks of silent payments; its operator can have the indexer make them \
            (--silent-payments)";
        ApiError::new(ErrorCode::NotIndexed, detail).with("setting", "silent_payments")
    })
}

impl Operation for SilentPaymentTweaks {
    const INFO: Info = Info {
        summary: "Public tweaks of silent payments, by range of blocks",
        description: "For each transaction that may pay a silent payment address (BIP 352) its public tweak, from which \
            a wallet computes the output that would be its own: it multiplies the tweak by its scan key, and compares \
            the result with `outputs`. No key leaves the wallet. Page forward with `next_height`, and come back with \
            it for later blocks. A reorganization may replace the newest blocks: begin some blocks below the last page.",
        errors: &[ErrorCode::NotIndexed],
        tool: Tool::UNLISTED,
        ..index_get("silent_payment_tweaks", "/v1/silent-payments/tweaks", "chain")
    };
    type Input = TweaksInput;
    type Output = Formatted<TweaksOutput>;

    fn run(ctx: &Ctx<'_>, input: TweaksInput) -> Result<Formatted<TweaksOutput>, ApiError> {
        let view = ctx.view()?;
        let span = span(view)?;
        let limit = input.limit.get();
        let last = input.to_height.map_or(span.height, |to| to.min(span.height));
        let (mut tweaks, mut read, mut to_height) = (Vec::new(), 0, None);
        for height in input.from_height..=last {
            let row = if height < span.first { None } else { view.silent_payments().block(height)? };
            let all = row.map(|row| row.tweaks).unwrap_or_default();
            read += all.len();
            let wanted: Vec<StoredTweak> = all.into_iter().filter(|of| of.largest >= input.dust_limit_sats).collect();
            push(view, height, wanted, &mut tweaks)?;
            to_height = Some(height);
            let is_full = tweaks.len() >= limit as usize || read >= MAX_READ;
            if is_full || height - input.from_height + 1 >= MAX_BLOCKS {
                break;
            }
        }
        if span.height < view.tip().height {
            let behind = view.tip().height - span.height;
            ctx.warn("tweaks_behind", format!("tweaks are being made: those of the newest {behind} blocks follow"));
        }
        let next_height = to_height.filter(|to| *to < last).map(|to| to + 1);
        ctx.warn_if_more(input.format, next_height.is_some(), format_args!("tweaks follow: begin with the next block"));
        Ok(input.format.rows(tweaks, |tweaks| TweaksOutput {
            from_height: input.from_height,
            to_height,
            dust_limit_sats: input.dust_limit_sats,
            limit,
            tweaks,
            next_height,
            first_indexed_height: span.first,
            indexed_height: span.height,
            indexed_hash: span.hash.to_string(),
        }))
    }
}

/// Adds the tweaks of a block.
fn push(view: &View<'_>, height: Height, stored: Vec<StoredTweak>, into: &mut Vec<Tweak>) -> Result<(), ApiError> {
    let broken = || ApiError::from(cairn_reader::ReadError::Broken(format!("tweaks of block {height}")));
    let first = view.chain().get(height).ok_or_else(broken)?.first_tx;
    for of in stored {
        let found = view.transactions().txid(TxNum(first.0 + u64::from(of.index)))?;
        let (txid, _) = found.filter(|(_, at)| *at == height).ok_or_else(broken)?;
        into.push(Tweak {
            height,
            txid: txid.to_string(),
            tweak: hex::encode(of.tweak),
            largest_sats: of.largest,
            outputs: of.outputs.iter().map(hex::encode).collect(),
        });
    }
    Ok(())
}
