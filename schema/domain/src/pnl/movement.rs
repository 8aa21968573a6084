//! Effect of a transaction on a wallet: sums in and out, and fees.

use cairn_model::{Sats, TxNum};

/// A transaction from a wallet's side. The wallet is a set of scripts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Movement {
    /// Its number.
    pub tx_num: TxNum,
    /// Monotone time of its block, in seconds since 1970.
    pub time: u32,
    /// It is a coinbase.
    pub is_coinbase: bool,
    /// Sum of the wallet's inputs.
    pub sent: Sats,
    /// Values of the wallet's outputs, ascending by place.
    pub received: Vec<(u32, Sats)>,
    /// Sum of all inputs. Zero for a coinbase.
    pub all_inputs: Sats,
    /// Sum of all outputs.
    pub all_outputs: Sats,
    /// True if an input of somebody else takes part.
    pub has_foreign_input: bool,
    /// True if an output of somebody else gets more than zero.
    pub pays_others: bool,
}

/// Why coins came in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Inflow {
    /// They were received.
    Acquired,
    /// They were mined.
    Mined,
}

/// Net effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Net {
    /// Coins came in: how many at each place.
    In(Inflow, Vec<(u32, Sats)>),
    /// Coins went to others: how many.
    Out(Sats),
    /// All stayed with the wallet.
    Transfer,
    /// As much came in as went out.
    Nothing,
}

/// A transaction, as profit and loss sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Net effect without the fee.
    pub net: Net,
    /// The wallet's share of the fee.
    pub fee: Sats,
}

impl Movement {
    /// Sum of the wallet's outputs.
    #[must_use]
    pub fn received_sats(&self) -> Sats {
        self.received.iter().map(|(_, sats)| *sats).fold(0, Sats::saturating_add)
    }

    /// The fee of the whole transaction; zero for a coinbase.
    #[must_use]
    pub fn fee(&self) -> Sats {
        if self.is_coinbase { 0 } else { self.all_inputs.saturating_sub(self.all_outputs) }
    }

    /// Net effect of the transaction (contract of the service, "P&L"). The fee belongs to those who brought the inputs,
    /// in proportion, rounded down. The rest is the difference between the wallet's inputs and outputs.
    #[must_use]
    pub fn effect(&self) -> Effect {
        let received = self.received_sats();
        if self.sent == 0 {
            let inflow = if self.is_coinbase { Inflow::Mined } else { Inflow::Acquired };
            let net = if received == 0 { Net::Nothing } else { Net::In(inflow, self.received.clone()) };
            return Effect { net, fee: 0 };
        }
        if !self.has_foreign_input && !self.pays_others {
            // The fee is the value that the outputs do not get. Burned outputs of value zero do not count.
            return Effect { net: Net::Transfer, fee: self.sent.saturating_sub(received) };
        }
        let fee = match self.all_inputs {
            0 => 0,
            all => (u128::from(self.fee()) * u128::from(self.sent) / u128::from(all)) as Sats,
        };
        // Both are more than u64 only in a damaged index.
        let (gone, kept) = (self.sent, received.saturating_add(fee));
        let net = match gone.cmp(&kept) {
            std::cmp::Ordering::Greater => Net::Out(gone - kept),
            std::cmp::Ordering::Equal => Net::Nothing,
            std::cmp::Ordering::Less => {
                let first = self.received.first().map_or(0, |(vout, _)| *vout);
                Net::In(Inflow::Acquired, vec![(first, kept - gone)])
            }
        };
        Effect { net, fee }
    }
}
