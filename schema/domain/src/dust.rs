//! Dust pings: transactions that pay tiny amounts to scripts of others. An owner who spends them together with other
//! coins shows which scripts belong together.

use cairn_events::Category;
use cairn_model::{Block, DAY_SECS, Sats, TxMeta};

use crate::op_return::decode_op_return;

/// Most satoshis of an output that is dust.
pub const DUST_SATS: Sats = 1_000;
/// Scripts that a campaign pays within [`CAMPAIGN_SECONDS`], at least.
pub const CAMPAIGN_RECIPIENTS: u64 = 100;
/// 30 days.
pub const CAMPAIGN_SECONDS: u32 = 30 * DAY_SECS;
/// Steps back along the largest input to a transaction that funds a ping.
pub const FUNDING_HOPS: usize = 3;

/// Version of the rules below: it grows with every change that can change which transactions are pings.
pub const RULES: u32 = 2;

/// True for the value of an output that is dust.
#[must_use]
pub const fn is_dust(sats: Sats) -> bool {
    sats > 0 && sats <= DUST_SATS
}

/// A transaction that pays dust. It may ping scripts that it does not spend from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MayPing {
    /// It has an output with [`mark`].
    pub is_marked: bool,
}

impl MayPing {
    /// Looks at a transaction. A coinbase is not one, nor is a transaction that carries something else than a payment:
    /// a transaction that spends dust, one that pays nothing but dust, and one with the mark of a protocol.
    #[must_use]
    pub fn of(block: &Block, tx: &TxMeta) -> Option<Self> {
        let outputs = block.outputs_of(tx);
        // Nearly all have no such output.
        if !outputs.iter().any(|output| output.spendable && is_dust(output.value)) {
            return None;
        }
        let (coins, scripts) = (block.inputs_of(tx), || outputs.iter().map(|output| block.script(output)));
        let pays_more = outputs.iter().any(|output| output.spendable && output.value > DUST_SATS);
        let carries = coins.iter().any(|coin| is_dust(coin.value));
        if coins.is_empty() || !pays_more || carries {
            return None;
        }
        let mut marks = scripts().filter_map(|script| decode_op_return(script, false));
        let has_protocol = marks.any(|mark| !mark.protocols.is_empty());
        (!has_protocol).then(|| MayPing { is_marked: mark(scripts()).is_some() })
    }
}

/// The scriptPubKey that marks a transaction with its OP_RETURN: the first one that nobody can spend for that reason.
#[must_use]
pub fn mark<'s>(mut scripts: impl Iterator<Item = &'s [u8]>) -> Option<&'s [u8]> {
    scripts.find(|script| script.first() == Some(&0x6a))
}

/// True if an entity of this category pays many people because that is its business: its payments are not pings, and
/// funding by it does not identify a sender.
#[must_use]
pub const fn is_service(category: Category) -> bool {
    use Category::{
        Atm, Coinjoin, DefiBridge, EtfCustodian, Exchange, Faucet, Gambling, Hosting, Market, MiningPool, Mixer,
        PaymentProcessor, Shop, WalletService,
    };
    matches!(
        category,
        Exchange
            | WalletService
            | PaymentProcessor
            | Atm
            | Market
            | Gambling
            | MiningPool
            | Mixer
            | Coinjoin
            | Hosting
            | EtfCustodian
            | DefiBridge
            | Shop
            | Faucet
    )
}
