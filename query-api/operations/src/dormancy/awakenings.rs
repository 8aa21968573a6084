//! `GET /v1/chain/awakenings`.

use cairn_domain::{
    Subject,
    dormancy::{AWAKENING_DAYS, AWAKENING_SATS},
    script_type,
};
use cairn_http::Formatted;
use cairn_model::{DAY_SECS, ScriptId, SpentCoin};
use cairn_reader::{FoundScript, StoredTx};
use cairn_tables::block_log::BlockLog;

use super::{
    movement::age,
    source::{MinSpend, Search},
};
use crate::{
    context::{SETTLED_AT, confirmations},
    definitions::OLD_COINS,
    operation::prelude::*,
    page_request::{PageParams, PageRequest},
    parameters::{amount::BtcParam, identifier::AddressParam, limit::Limit, since::SinceParam},
    tx_sides::name_of,
    vocabulary::{
        columns::columns,
        label::{ShortLabel, Unlabeled},
    },
    window::{BlockSpan, Page, PagePosition, ScanStep, Window},
};

/// Old coins that were spent.
pub(crate) struct Awakenings;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AwakeningsInput {
    /// First block: a height, date, time (RFC 3339), or days before the newest, as in `30d`. Default: 1d.
    #[schemars(example = "30d")]
    since: Option<SinceParam>,
    /// Only blocks before this one, in the same forms.
    until: Option<SinceParam>,
    /// Minimum value of a coin in bitcoin, at least 10.
    #[schemars(example = 100)]
    min_btc: Option<BtcParam>,
    /// Minimum age of a coin in days.
    #[serde(default = "default_days")]
    #[schemars(range(min = 365, max = 10_000))]
    min_dormancy_days: u32,
    /// Only coins of this address.
    address_filter: Option<AddressParam>,
    /// Coins per page.
    #[serde(default)]
    limit: Limit<100, 500>,
    #[serde(flatten)]
    page: PageParams,
}

fn default_days() -> u32 {
    AWAKENING_DAYS
}

/// Old coins that were spent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AwakeningsOutput {
    #[serde(flatten)]
    blocks: BlockSpan,
    min_sats: u64,
    min_btc: Btc,
    min_dormancy_days: u32,
    /// The requested address; null for all.
    address_filter: Option<String>,
    limit: u32,
    /// Spent coins: the newest transaction first, then in the order of its inputs.
    awakenings: Vec<Awakening>,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
    /// Lowest block height that this page covers.
    covered_from_height: Height,
    /// True if the scan limit ended the page early; continue with `next_cursor`.
    truncated: bool,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// An old coin that was spent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Awakening {
    /// Id of the transaction that spends the coin.
    txid: String,
    /// Index of the input that spends the coin.
    vin: u32,
    height: Height,
    /// Header time of the block that spends the coin.
    time: String,
    time_unix: u32,
    confirmations: u32,
    /// True with fewer than 6 confirmations: a reorg may still undo the spend.
    provisional: bool,
    value_sats: u64,
    value_btc: Btc,
    /// Full days from creation to spend, by monotone block time.
    dormant_days: u32,
    /// Id of the transaction that created the coin.
    created_txid: String,
    created_vout: u32,
    created_height: Height,
    /// Header time of the block that created the coin.
    created_at: String,
    /// Address of the coin, or `scripthash:<hex>` if its script has none.
    address: String,
    script_type: &'static str,
    /// Label of the script; null if no claim gives one.
    label: Option<ShortLabel>,
}

impl Operation for Awakenings {
    const INFO: Info = Info {
        summary: "Old coins that were spent: a year or more old and worth 10 BTC or more each",
        description: "Each spent coin of 365 days and more and of 10 BTC and more, the newest spend first: the \
            transaction and input that spend it, its age, its origin, and its owner by the loaded labels. The range is \
            the last 24 hours, or any part of the chain in pages; `address_filter` selects one address. Confirmed \
            transactions only.",
        tool: Tool::reads(
            "asked which old coins woke up, coin by coin, or those of an address",
            "sums by transaction, or unconfirmed ones (pulse_dormant)",
        ),
        ..labelled_list("chain_awakenings", "/v1/chain/awakenings")
    };
    type Input = AwakeningsInput;
    type Output = Formatted<AwakeningsOutput>;

    fn run(ctx: &Ctx<'_>, input: AwakeningsInput) -> Result<Formatted<AwakeningsOutput>, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, input.since, input.until)?;
        let sats = BtcParam::or_least(input.min_btc, AWAKENING_SATS)?;
        let least = MinSpend { age: input.min_dormancy_days.saturating_mul(DAY_SECS), sats };
        let text = input.address_filter.as_ref().map(|address| address.text.clone());
        let request = PageRequest::new(ctx, window, input.limit.get(), input.page)?;
        let script = input.address_filter.as_ref().map(|address| found(view, address)).transpose()?;
        let mut pages = Pages { ctx, view, least, limit: request.limit as usize, rows: Vec::new() };
        let mut page = match script {
            // No block has the address.
            Some(None) => Page { rows: Vec::new(), next: None, covered_from: window.since, is_cut: false },
            script => pages.read(window, request.from, script.flatten())?,
        };
        page.rows = pages.labelled()?;
        request.answer(ctx, "coins", page, |awakenings, end| AwakeningsOutput {
            blocks: window.blocks(),
            min_sats: sats,
            min_btc: Btc::of(sats),
            min_dormancy_days: input.min_dormancy_days,
            address_filter: text,
            limit: request.limit,
            awakenings,
            next_cursor: end.next_cursor,
            covered_from_height: end.covered_from_height,
            truncated: end.truncated,
            definition: OLD_COINS,
        })
    }
}

/// The script of an address, if a block has it.
fn found(view: &View<'_>, address: &AddressParam) -> Result<Option<FoundScript>, ApiError> {
    Ok(match &address.subject {
        Subject::Script(script) => view.scripts().find(script)?,
        Subject::ScriptHash(hash) => view.scripts().find_hash(hash)?.map(|(found, _)| found),
    })
}

/// The rows of a page, with their scripts.
struct Pages<'p> {
    ctx: &'p Ctx<'p>,
    view: &'p View<'p>,
    least: MinSpend,
    limit: usize,
    rows: Vec<(Awakening, Vec<u8>)>,
}

impl Pages<'_> {
    /// Reads the rows of a page; the page itself has none until they are labelled.
    fn read(
        &mut self,
        window: Window,
        from: Option<PagePosition>,
        script: Option<FoundScript>,
    ) -> Result<Page<Awakening>, ApiError> {
        let id = script.as_ref().map(|script| script.id);
        // The transaction of the place may have further coins.
        let end = from.map_or(window.end, |from| TxNum(from.tx_num.0.saturating_add(1)).min(window.end));
        let mut search = Search::of(self.view, (window.first, end), script, self.least)?;
        let stop = |at: PagePosition, is_cut| Page {
            rows: Vec::new(),
            next: Some(at),
            covered_from: self.view.chain().height_of(at.tx_num).unwrap_or_default(),
            is_cut,
        };
        loop {
            match search.next(&self.ctx.work)? {
                ScanStep::End => {
                    return Ok(Page { rows: Vec::new(), next: None, covered_from: window.since, is_cut: false });
                }
                // All its coins were looked at.
                ScanStep::Enough(last) => return Ok(stop(PagePosition { tx_num: last, vin: MAX_INPUTS }, true)),
                ScanStep::Tx(tx_num, ()) => {
                    let first = from.filter(|from| from.tx_num == tx_num).map_or(0, |from| from.vin);
                    if let Some(vin) = self.coins_of(tx_num, first, id)? {
                        return Ok(stop(PagePosition { tx_num, vin }, false));
                    }
                }
            }
        }
    }

    /// Adds the coins of a transaction from an input on. Returns the input that the page has no room for.
    fn coins_of(&mut self, tx_num: TxNum, first: u32, script: Option<ScriptId>) -> Result<Option<u32>, ApiError> {
        let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
        let tx = self.view.transactions().get(tx_num)?.ok_or_else(missing)?;
        let now = self.view.chain().get(tx.height).ok_or_else(missing)?.mono_time;
        for (vin, coin) in (0..).zip(self.view.transactions().inputs(&tx)?).skip(first as usize) {
            let age = age(self.view, coin.birth, now);
            let is_of = script.is_none_or(|script| script == coin.script);
            if !is_of || coin.value < self.least.sats || age < self.least.age {
                continue;
            }
            if self.rows.len() == self.limit {
                return Ok(Some(vin));
            }
            self.ctx.work.poll()?;
            let row = self.row(&tx, (vin, &coin), age)?;
            self.rows.push(row);
        }
        Ok(None)
    }

    fn row(&self, tx: &StoredTx, (vin, coin): (u32, &SpentCoin), age: u32) -> Result<(Awakening, Vec<u8>), ApiError> {
        let view = self.view;
        let missing = || lacks::<BlockLog>(format!("transaction {}", coin.outpoint.tx_num.0));
        let (created, _) = view.transactions().txid(coin.outpoint.tx_num)?.ok_or_else(missing)?;
        let time = |height: Height| view.chain().get(height).map_or(0, |block| block.time);
        let script = view.transactions().script_at(coin.outpoint)?;
        let confirmations = confirmations(view.tip(), tx.height);
        let row = Awakening {
            txid: tx.txid().to_string(),
            vin,
            height: tx.height,
            time: rfc3339(time(tx.height)),
            time_unix: time(tx.height),
            confirmations,
            provisional: confirmations < SETTLED_AT,
            value_sats: coin.value,
            value_btc: Btc::of(coin.value),
            dormant_days: age / DAY_SECS,
            created_txid: created.to_string(),
            created_vout: coin.outpoint.vout,
            created_height: coin.birth,
            created_at: rfc3339(time(coin.birth)),
            address: name_of(&script, view),
            script_type: script_type(&script).name(),
            label: None,
        };
        Ok((row, script))
    }

    fn labelled(self) -> Result<Vec<Awakening>, ApiError> {
        let mut unlabeled = Unlabeled::default();
        self.rows.iter().for_each(|(_, script)| unlabeled.push(script));
        let labels = unlabeled.look_up(self.ctx, self.view)?;
        Ok(self.rows.into_iter().zip(labels).map(|((row, _), label)| Awakening { label, ..row }).collect())
    }
}

/// More inputs than a transaction has.
const MAX_INPUTS: u32 = (1 << 24) - 1;

columns! { Awakening {
    time, height, txid, vin, value_sats, dormant_days, created_at, created_height, address,
} }
