//! Dust pings: transactions that pay tiny amounts to scripts which others use, so that whoever spends them together with other coins
//! shows what belongs together.

use cairn_events::Category;
use cairn_model::{Block, Sats, TxMeta};

use crate::op_return::decode_op_return;

/// Most satoshis of an output that is dust.
pub const DUST_SATS: Sats = 1_000;
/// Scripts that a campaign pays within [`CAMPAIGN_SECONDS`], at least.
pub const CAMPAIGN_RECIPIENTS: u64 = 100;
/// 30 days.
pub const CAMPAIGN_SECONDS: u32 = 30 * 86_400;
/// Steps back along the largest input to a transaction that funds a ping.
pub const FUNDING_HOPS: usize = 3;

/// Version of the rules below: it grows with every change that can change which transactions may be pings.
pub const RULES: u32 = 1;

/// True for the value of an output that is dust.
#[must_use]
pub const fn is_dust(sats: Sats) -> bool {
    sats > 0 && sats <= DUST_SATS
}

/// Outputs of a transaction with which it may ping somebody: those of dust to scripts that it does not spend from. None of a coinbase, and
/// none of what carries something else than a payment: a transaction that spends dust, one that pays nothing but dust, and one with
/// the mark of a protocol.
#[must_use]
pub fn pings(block: &Block, tx: &TxMeta) -> u64 {
    let (outputs, coins) = (block.outputs_of(tx), block.inputs_of(tx));
    // Nearly all have no such output.
    if !outputs.iter().any(|output| output.spendable && is_dust(output.value)) || coins.is_empty() {
        return 0;
    }
    let pays_more = outputs.iter().any(|output| output.spendable && output.value > DUST_SATS);
    let carries = coins.iter().any(|coin| is_dust(coin.value));
    let is_marked = || {
        let mut marks = outputs.iter().filter_map(|output| decode_op_return(block.script(output), false));
        marks.any(|mark| !mark.protocols.is_empty())
    };
    if !pays_more || carries || is_marked() {
        return 0;
    }
    let is_own = |script| coins.iter().any(|coin| coin.script == script);
    let dust = outputs.iter().filter(|output| output.spendable && is_dust(output.value) && !is_own(output.id));
    dust.count() as u64
}

/// The scriptPubKey that marks a transaction with its OP_RETURN: the first one that nobody can spend for that reason.
#[must_use]
pub fn mark<'s>(mut scripts: impl Iterator<Item = &'s [u8]>) -> Option<&'s [u8]> {
    scripts.find(|script| script.first() == Some(&0x6a))
}

/// True if an entity of this category pays many people because that is its business: what it pays is no ping, and what it funds
/// tells nothing of who sends it.
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
