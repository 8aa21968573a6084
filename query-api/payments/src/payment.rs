//! The state of a payment: a function of the chain and the mempool. All outputs to the address add up, whoever pays
//! them, and whether they are spent since.

use cairn_domain::{mempool::Mempool, script_sha256};
use cairn_model::{Height, Sats, TxNum};
use cairn_reader::{FoundScript, ReadError, View};

/// Rows of a history that are read to find the transaction that completes a payment.
const MAX_ROWS: usize = 4_096;

/// The block in which a payment became complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: String,
    /// Its time, in seconds since 1970, where it is compared with others (the monotone time of the chain).
    pub time: u64,
    /// Confirmations of the payment, counted from that block.
    pub confirmations: u32,
}

/// Payments to an address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Payment {
    /// Satoshis that must be paid.
    pub amount: Sats,
    /// Sum of confirmed outputs.
    pub confirmed: Sats,
    /// Sum of unconfirmed outputs.
    pub unconfirmed: Sats,
    /// The block from which on the confirmed outputs reach the amount; `None` if they do not.
    pub completed: Option<Completion>,
}

impl Payment {
    /// Looks up what was paid to a script. Some two row reads for a script that was not paid.
    pub fn look(view: &View<'_>, pool: Option<&Mempool>, script: &[u8], amount: Sats) -> Result<Self, ReadError> {
        let waiting = pool.map_or(0, |pool| pool.script_totals(&script_sha256(script)).received_sats);
        let unconfirmed = Sats::try_from(waiting).unwrap_or(Sats::MAX);
        let Some(found) = view.scripts().find(script)? else {
            return Ok(Payment { amount, unconfirmed, ..Payment::default() });
        };
        let confirmed = found.totals.funded;
        let completed = if confirmed >= amount { Some(completion(view, &found, amount)?) } else { None };
        Ok(Payment { amount, confirmed, unconfirmed, completed })
    }

    /// Everything that was paid, confirmed or not.
    #[must_use]
    pub fn received(&self) -> Sats {
        self.confirmed.saturating_add(self.unconfirmed)
    }

    /// True if something was paid, and less than the amount.
    #[must_use]
    pub fn is_underpaid(&self) -> bool {
        (1..self.amount).contains(&self.received())
    }

    /// Satoshis paid beyond the amount.
    #[must_use]
    pub fn overpaid(&self) -> Sats {
        self.received().saturating_sub(self.amount)
    }
}

fn completion(view: &View<'_>, script: &FoundScript, amount: Sats) -> Result<Completion, ReadError> {
    let tx = completing(view, script, amount)?;
    let lacks = |what: String| ReadError::Lacks { table: "headers", what };
    let height = view.chain().height_of(tx).ok_or_else(|| lacks(format!("the block of transaction {}", tx.0)))?;
    let header = view.header(height)?.ok_or_else(|| lacks(format!("block {height}")))?;
    Ok(Completion {
        height,
        hash: header.hash.to_string(),
        time: u64::from(header.mono_time),
        confirmations: (view.tip().height + 1).saturating_sub(height),
    })
}

/// The transaction with which a script has received the amount. In a history of more than half a million transactions,
/// the newest one stands for it.
fn completing(view: &View<'_>, script: &FoundScript, amount: Sats) -> Result<TxNum, ReadError> {
    for row in view.scripts().history_rows(script.id)?.take(MAX_ROWS) {
        let row = row?;
        let mut received = row.received_before;
        for entry in row.entries {
            received = received.saturating_add(entry.received);
            if received >= amount {
                return Ok(entry.tx_num);
            }
        }
    }
    Ok(script.totals.last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_compared_with_the_amount() {
        let paid = |confirmed, unconfirmed| Payment { amount: 1_000, confirmed, unconfirmed, completed: None };
        for (payment, received, is_underpaid, overpaid) in [
            (paid(0, 0), 0, false, 0),
            (paid(1, 0), 1, true, 0),
            (paid(400, 599), 999, true, 0),
            (paid(400, 600), 1_000, false, 0),
            (paid(1_500, 1), 1_501, false, 501),
        ] {
            assert_eq!(
                (payment.received(), payment.is_underpaid(), payment.overpaid()),
                (received, is_underpaid, overpaid)
            );
        }
    }
}
