//! The chain, as a tracer reads it: transactions, the transactions that spend their outputs, and the roles of scripts.

use std::rc::Rc;

use cairn_model::{Outpoint, Sats, ScriptId, TxNum};

/// An input: the coin that it spends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedInput {
    /// The coin.
    pub coin: Outpoint,
    /// Its value.
    pub value: Sats,
    /// Its script.
    pub script: ScriptId,
    /// True if a coinbase made it.
    pub is_coinbase: bool,
}

/// An output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedOutput {
    /// Its value.
    pub value: Sats,
    /// Its script; `None` if nobody can spend it.
    pub script: Option<ScriptId>,
}

/// A transaction, inputs and outputs in index order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedTx {
    /// Its number in the order of the chain.
    pub tx_num: TxNum,
    /// True for the first transaction of a block.
    pub is_coinbase: bool,
    /// True if a detector takes it for a CoinJoin: who got what of it is unknown.
    pub is_coinjoin: bool,
    /// Its inputs; none for a coinbase.
    pub inputs: Vec<TracedInput>,
    /// Its outputs.
    pub outputs: Vec<TracedOutput>,
}

/// A script with a claim that counts, and the group that it is reported in: a category or a list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    /// Number of the script.
    pub id: u32,
    /// Number of the group.
    pub group: u32,
}

/// Role of a script in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Role {
    /// The source that it is. This comes before the stops.
    pub source: Option<Source>,
    /// True if it belongs to a service: it pays strangers out of what others paid in.
    pub is_service: bool,
    /// True if it has too many transactions.
    pub is_busy: bool,
}

/// The chain up to a block.
pub trait Chain {
    /// Failure of a read.
    type Error;

    /// A transaction; `None` if it is too large to be taken apart.
    fn transaction(&mut self, tx: TxNum) -> Result<Option<Rc<TracedTx>>, Self::Error>;

    /// The transactions that spend outputs of a transaction: (vout, spender), ascending.
    fn spenders(&mut self, tx: TxNum) -> Result<Rc<[(u32, TxNum)]>, Self::Error>;

    /// The roles of scripts, in their order.
    fn roles(&mut self, scripts: &[ScriptId]) -> Result<Vec<Role>, Self::Error>;

    /// Announces transactions that are read next, so that they can be read together.
    fn announce(&mut self, _: &[TxNum]) -> Result<(), Self::Error> {
        Ok(())
    }
}
