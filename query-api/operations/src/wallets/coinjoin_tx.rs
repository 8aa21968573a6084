//! Confirmed transactions as detectors of CoinJoins see them: without what made the coins, which takes another row.

use cairn_domain::coinjoin::Shape;
use cairn_model::{Sats, ScriptId, ScriptTemplate};
use cairn_reader::StoredTx;

/// A transaction as detectors of CoinJoins see it.
pub(crate) struct CoinJoinTx<'t>(pub(crate) &'t StoredTx);

impl Shape for CoinJoinTx<'_> {
    type Spent<'a>
        = ScriptId
    where
        Self: 'a;

    fn inputs(&self) -> usize {
        self.0.logged_inputs().len()
    }

    fn outputs(&self) -> usize {
        self.0.outputs().len()
    }

    fn input_value(&self, at: usize) -> Sats {
        self.0.logged_inputs()[at].value
    }

    fn input_template(&self, at: usize) -> ScriptTemplate {
        self.0.logged_inputs()[at].flags.template
    }

    fn input_script(&self, at: usize) -> ScriptId {
        self.0.logged_inputs()[at].script
    }

    fn output_value(&self, at: usize) -> Sats {
        self.0.outputs()[at].value
    }

    fn output_script(&self, at: usize) -> &[u8] {
        self.0.script(&self.0.outputs()[at])
    }
}
