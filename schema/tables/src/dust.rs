//! Dust pings, and the campaigns that they are of: groups of pings that paid a hundred scripts with a history within 30
//! days.
//!
//! ```text
//! dust_pings   'E' ‖ TxNum (5) → recipients │ n × group
//! dust_groups  'Q' ‖ group → first: TxNum │ last: TxNum │ transactions │ recipients │ 0 │ bound │ n × (TxNum − the one before │ recipients)
//!                                                                                  1 │ reached: TxNum │ scripts
//! dust_alerts  'S' ‖ TxNum (5) ‖ group → scripts
//!   group      0 ‖ SHA-256 of the OP_RETURN script (32), or 1 ‖ TxNum of the funding transaction (5)
//! ```
//!
//! A ping is of the group of its OP_RETURN script if it has one; else of those of itself and of the transactions that
//! fund it, up to three back along the largest inputs, the nearest first; and if one of these is a ping of the second
//! kind, of the groups of that one instead. `recipients` are scripts with a history that it pays dust, once for each
//! ping. A group that has reached a hundred scripts has the ping with which it did and how many it had then; one that
//! has not has its pings of 30 days, the newest thousand, and a bound that its number of scripts does not exceed. A
//! ping is forgotten after 30 days, unless one of its groups has reached them. `dust_alerts` has the pings with which
//! the first one of their groups did.

use cairn_model::TxNum;

use crate::{
    codec::{DecodeError, Input, KeyCodec, ValueCodec, put_varint},
    table::{Home, Origin, table},
};

table! {
    /// Pings.
    pub struct DustPings("dust_pings": TxNum => DustPingRow) in Home::Shared(b'E'), from Origin::Late("dust");
}

table! {
    /// Groups of pings.
    pub struct DustGroups("dust_groups": DustGroup => DustGroupRow) in Home::Shared(b'Q'), from Origin::Late("dust");
}

table! {
    /// Pings with which a group became a campaign.
    pub struct DustAlerts("dust_alerts": (TxNum, DustGroup) => DustAlertRow)
        in Home::Shared(b'S'), from Origin::Late("dust");
}

/// A group that became a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DustAlertRow {
    /// How many scripts it had paid in the 30 days before the ping, and with it.
    pub scripts: u64,
}

impl ValueCodec for DustAlertRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.scripts);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(DustAlertRow { scripts: b.varint()? })
    }
}

/// Most groups of a ping: itself and three transactions that fund it.
pub const MAX_GROUPS: usize = 4;
/// Most pings that a group keeps unless it is a campaign.
pub const MAX_KEPT: usize = 1_000;

/// Property that pings share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DustGroup {
    /// SHA-256 of the OP_RETURN script.
    Mark([u8; 32]),
    /// The transaction that funds them, or the ping itself.
    Funding(TxNum),
}

impl KeyCodec for DustGroup {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            DustGroup::Mark(hash) => {
                out.push(0);
                out.extend_from_slice(hash);
            }
            DustGroup::Funding(tx_num) => {
                out.push(1);
                out.extend_from_slice(&tx_num.to_be5());
            }
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        match b.byte()? {
            0 => Ok(DustGroup::Mark(b.array()?)),
            1 => Ok(DustGroup::Funding(b.tx_num()?)),
            _ => Err(b.error("kind of group")),
        }
    }
}

/// A ping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DustPingRow {
    /// Scripts with a history that it pays dust.
    pub recipients: u64,
    /// Its groups: one by its mark, or those of transactions, the nearest first.
    pub groups: Vec<DustGroup>,
}

impl ValueCodec for DustPingRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.recipients);
        self.groups.iter().for_each(|group| group.encode(out));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let recipients = b.varint()?;
        let mut groups = Vec::new();
        while b.left() > 0 {
            if groups.len() == MAX_GROUPS {
                return Err(b.error("more groups than a ping has"));
            }
            groups.push(DustGroup::decode(b)?);
        }
        if recipients == 0 || groups.is_empty() {
            return Err(b.error("a ping of nobody"));
        }
        Ok(DustPingRow { recipients, groups })
    }
}

/// A group of pings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DustGroupRow {
    /// Its first ping that is known.
    pub first: TxNum,
    /// Its newest.
    pub last: TxNum,
    /// Its pings.
    pub txs: u64,
    /// Scripts that they pay, once for each ping.
    pub recipients: u64,
    /// Whether it is a campaign.
    pub state: DustState,
}

/// Whether a group is a campaign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DustState {
    /// Not yet.
    Growing {
        /// It has not more scripts.
        bound: u64,
        /// Its pings of 30 days, ascending, each with the scripts that it pays.
        pings: Vec<(TxNum, u64)>,
    },
    /// Scripts that it paid within 30 days.
    Reached {
        /// The ping with which it did.
        by: TxNum,
        /// How many scripts it had paid in the 30 days before it, and with it.
        scripts: u64,
    },
}

impl ValueCodec for DustGroupRow {
    fn encode(&self, out: &mut Vec<u8>) {
        [self.first.0, self.last.0, self.txs, self.recipients].into_iter().for_each(|number| put_varint(out, number));
        match &self.state {
            DustState::Growing { bound, pings } => {
                out.push(0);
                put_varint(out, *bound);
                let mut last = 0;
                for (tx_num, recipients) in pings {
                    put_varint(out, tx_num.0.saturating_sub(last));
                    put_varint(out, *recipients);
                    last = tx_num.0;
                }
            }
            DustState::Reached { by, scripts } => {
                out.push(1);
                put_varint(out, by.0);
                put_varint(out, *scripts);
            }
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (first, last) = (b.short_tx_num()?, b.short_tx_num()?);
        let (txs, recipients) = (b.varint()?, b.varint()?);
        let state = match b.byte()? {
            0 => {
                let bound = b.varint()?;
                let (mut pings, mut last): (Vec<(TxNum, u64)>, u64) = (Vec::new(), 0);
                while b.left() > 0 {
                    let tx_num = b.tx_num_after(last, "transaction number")?;
                    if pings.len() == MAX_KEPT || tx_num.0 == last && !pings.is_empty() {
                        return Err(b.error("pings of a group"));
                    }
                    pings.push((tx_num, b.varint()?));
                    last = tx_num.0;
                }
                DustState::Growing { bound, pings }
            }
            1 => DustState::Reached { by: b.short_tx_num()?, scripts: b.varint()? },
            _ => return Err(b.error("state of a group")),
        };
        Ok(DustGroupRow { first, last, txs, recipients, state })
    }
}
