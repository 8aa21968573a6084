//! The campaign of a ping, by today's labels.

use std::collections::HashMap;

use cairn_domain::{decode_op_return, dust, readable};
use cairn_events::EntityName;
use cairn_model::SpentCoin;
use cairn_tables::{
    block_log::BlockLog,
    dust::{DustGroup, DustGroupRow, DustPingRow, DustState},
};

use super::coins::DustCoin;
use crate::{operation::prelude::*, transfers::Owners};

const MAX_TEXT: usize = 256;
const ID_BYTES: usize = 16;

/// A campaign that sent dust to the address.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DustCampaign")]
pub(crate) struct Campaign {
    /// Id of the campaign: a hash of the property that its pings share.
    id: String,
    /// Property that its pings share: the same OP_RETURN output (`op_return`), a transaction that funds them
    /// (`funding`), or one ping whose change funds the others (`transaction`).
    basis: &'static str,
    /// Id of the transaction that funds the pings, or of the first ping; null with `op_return`.
    origin_txid: Option<String>,
    /// Text of the OP_RETURN output, if it is readable; at most 256 characters.
    text: Option<String>,
    /// Id of the first known ping.
    first_txid: String,
    first_height: Height,
    first_time: String,
    /// Id of the newest known ping.
    last_txid: String,
    last_height: Height,
    last_time: String,
    /// Number of pings.
    ping_tx_count: u64,
    /// Number of payments to scripts with a history, one for each script of a ping.
    payment_count: u64,
    /// Number of scripts that the campaign had paid within 30 days when it reached 100.
    recipient_count: u64,
    /// Height of the block in which the campaign reached 100 scripts.
    reached_height: Height,
    /// Pings that paid the address, the newest first.
    pings: Vec<Ping>,
    /// False if the raw bytes of a ping were not available: it may carry an inscription.
    inscriptions_checked: bool,
}

/// A ping that paid the address.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DustPing")]
pub(crate) struct Ping {
    txid: String,
    height: Height,
    /// Time of the block's header.
    time: String,
    /// Coins that the ping created for the address.
    coins: Vec<DustCoin>,
}

/// Pings of a campaign that paid the address.
pub(super) struct CampaignPings {
    row: DustGroupRow,
    pings: Vec<(TxNum, Vec<DustCoin>)>,
    is_checked: bool,
}

impl CampaignPings {
    pub(super) fn new(row: DustGroupRow) -> Self {
        CampaignPings { row, pings: Vec::new(), is_checked: true }
    }

    /// Adds a ping; they come from the newest on.
    pub(super) fn add(&mut self, tx_num: TxNum, coins: Vec<DustCoin>, is_checked: bool) {
        self.pings.push((tx_num, coins));
        self.is_checked &= is_checked;
    }

    pub(super) fn newest(&self) -> Option<TxNum> {
        self.pings.first().map(|(tx_num, _)| *tx_num)
    }
}

/// True if a group of pings is a campaign.
pub(super) fn is_reached(row: &DustGroupRow) -> bool {
    matches!(row.state, DustState::Reached { .. })
}

/// Id, height and header time of a transaction.
fn told(view: &View<'_>, tx_num: TxNum) -> Result<(String, Height, String), ApiError> {
    let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
    let (txid, height) = view.transactions().txid(tx_num)?.ok_or_else(missing)?;
    let time = view.chain().get(height).ok_or_else(missing)?.time;
    Ok((txid.to_string(), height, rfc3339(time)))
}

impl Campaign {
    pub(super) fn of(view: &View<'_>, group: &DustGroup, grouped: CampaignPings) -> Result<Self, ApiError> {
        let CampaignPings { row, pings, is_checked } = grouped;
        let DustState::Reached { by, scripts } = row.state else { return Err(ApiError::internal()) };
        let (basis, origin_txid) = match group {
            DustGroup::Mark(_) => ("op_return", None),
            DustGroup::Funding(tx_num) => {
                let is_ping = view.movements().dust_pings(&[*tx_num])?.into_iter().flatten().next().is_some();
                (if is_ping { "transaction" } else { "funding" }, Some(told(view, *tx_num)?.0))
            }
        };
        let of_id = match (group, &origin_txid) {
            (DustGroup::Mark(hash), _) => hex::encode(hash),
            (_, txid) => txid.clone().unwrap_or_default(),
        };
        let id = cairn_domain::script_sha256(format!("{basis} {of_id}").as_bytes());
        let text = match (group, pings.first()) {
            (DustGroup::Mark(_), Some((tx_num, _))) => text(view, *tx_num)?,
            _ => None,
        };
        let (first_txid, first_height, first_time) = told(view, row.first)?;
        let (last_txid, last_height, last_time) = told(view, row.last)?;
        let ping = |(tx_num, coins): (TxNum, Vec<DustCoin>)| -> Result<Ping, ApiError> {
            let (txid, height, time) = told(view, tx_num)?;
            Ok(Ping { txid, height, time, coins })
        };
        Ok(Campaign {
            id: hex::encode(id.get(..ID_BYTES).unwrap_or(&id)),
            basis,
            origin_txid,
            text,
            first_txid,
            first_height,
            first_time,
            last_txid,
            last_height,
            last_time,
            ping_tx_count: row.txs,
            payment_count: row.recipients,
            recipient_count: scripts,
            reached_height: told(view, by)?.1,
            pings: pings.into_iter().map(ping).collect::<Result<_, _>>()?,
            inscriptions_checked: is_checked,
        })
    }
}

/// The text of the OP_RETURN output that marks a transaction.
fn text(view: &View<'_>, tx_num: TxNum) -> Result<Option<String>, ApiError> {
    let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
    let tx = view.transactions().get(tx_num)?.ok_or_else(missing)?;
    let mark = dust::mark(tx.outputs().iter().map(|output| tx.script(output)));
    let decoded = mark.and_then(|mark| decode_op_return(mark, false));
    let text = decoded.and_then(|of| readable(&of.data).map(|text| text.chars().take(MAX_TEXT).collect::<String>()));
    Ok(text.filter(|text| !text.is_empty()))
}

/// Judges by today's labels whose pings are.
pub(crate) struct Judge<'v> {
    view: &'v View<'v>,
    owners: Owners,
    /// Whether transactions spend a service's coins.
    known: HashMap<TxNum, bool>,
}

impl<'v> Judge<'v> {
    pub(crate) fn new(view: &'v View<'v>) -> Self {
        Judge { view, owners: Owners::default(), known: HashMap::new() }
    }

    /// The group that a ping is of; `None` if a service sent it.
    pub(crate) fn group(&mut self, tx_num: TxNum, row: &DustPingRow) -> Result<Option<DustGroup>, ApiError> {
        if self.is_of_service(tx_num)? {
            return Ok(None);
        }
        let mut found = None;
        for group in &row.groups {
            match group {
                DustGroup::Mark(_) => return Ok(Some(*group)),
                // The farthest before a service.
                DustGroup::Funding(origin) if found.is_some() && self.is_of_service(*origin)? => break,
                DustGroup::Funding(_) => found = Some(*group),
            }
        }
        Ok(found)
    }

    /// True if the largest coin that a transaction spends is a service's.
    fn is_of_service(&mut self, tx_num: TxNum) -> Result<bool, ApiError> {
        if let Some(known) = self.known.get(&tx_num) {
            return Ok(*known);
        }
        let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
        let tx = self.view.transactions().get(tx_num)?.ok_or_else(missing)?;
        let coins = self.view.transactions().inputs(&tx)?;
        let largest = coins.iter().max_by_key(|coin| coin.value).map(|coin: &SpentCoin| coin.script);
        let standing = self.view.labels().standings(largest.as_slice())?.pop();
        let owner: Option<EntityName> = standing.and_then(|standing| standing.owner).map(|owner| owner.entity);
        let is_service = match owner {
            Some(entity) => self.owners.facts(self.view, &entity)?.0.is_some_and(dust::is_service),
            None => false,
        };
        self.known.insert(tx_num, is_service);
        Ok(is_service)
    }
}
