//! Why the mempool refuses a transaction.

use std::fmt;

/// The kinds of refusal that differ in the RPC error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectKind {
    /// An input does not exist or is spent in the chain (-25).
    MissingInputs,
    /// Against consensus or policy (-26).
    Rules,
    /// In the mempool already; `sendrawtransaction` does not mind.
    InMempool,
    /// In the chain already (-27).
    InChain,
}

/// A refusal, in Core's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Reject {
    /// Its kind.
    pub kind: RejectKind,
    /// Core's reject reason, such as `min relay fee not met`.
    pub reason: &'static str,
    /// The details that Core adds to it, such as `100 < 141`; often empty.
    pub details: String,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)?;
        if !self.details.is_empty() {
            write!(f, ", {}", self.details)?;
        }
        Ok(())
    }
}

impl Reject {
    pub(crate) fn rules(reason: &'static str) -> Self {
        Self { kind: RejectKind::Rules, reason, details: String::new() }
    }

    pub(crate) fn detailed(reason: &'static str, details: String) -> Self {
        Self { kind: RejectKind::Rules, reason, details }
    }

    pub(crate) fn kind(kind: RejectKind, reason: &'static str) -> Self {
        Self { kind, reason, details: String::new() }
    }
}
