//! View of a transaction for detectors: amounts and scripts, read in place.

use cairn_model::{Block, MempoolTx, OutputMeta, Sats, ScriptId, ScriptTemplate, SpentCoin, TxMeta};

/// A resolved transaction. Most transactions are rejected by two counts, so nothing is copied or decoded before a
/// detector asks for it. An index is always below its count.
pub trait Shape {
    /// Identity of a spent script: equal if and only if the scripts are.
    type Spent<'a>: Ord
    where
        Self: 'a;

    /// Number of inputs; 0 for a coinbase.
    fn inputs(&self) -> usize;

    /// Number of outputs.
    fn outputs(&self) -> usize;

    /// Value of the coin that an input spends.
    fn input_value(&self, at: usize) -> Sats;

    /// Template of the spent script.
    fn input_template(&self, at: usize) -> ScriptTemplate;

    /// The spent script.
    fn input_script(&self, at: usize) -> Self::Spent<'_>;

    /// Value of an output.
    fn output_value(&self, at: usize) -> Sats;

    /// scriptPubKey of an output.
    fn output_script(&self, at: usize) -> &[u8];
}

/// A confirmed transaction, as the journal and the stages hold it.
#[derive(Clone, Copy, Debug)]
pub struct Resolved<'a> {
    /// The coins that it spends; none for a coinbase.
    pub inputs: &'a [SpentCoin],
    /// Its outputs. Ids are not used.
    pub outputs: &'a [OutputMeta],
    /// The bytes that the outputs' scripts are ranges of.
    pub scripts: &'a [u8],
}

impl<'a> Resolved<'a> {
    /// A transaction of a block.
    #[must_use]
    pub fn of(block: &'a Block, tx: &TxMeta) -> Self {
        Resolved { inputs: block.inputs_of(tx), outputs: block.outputs_of(tx), scripts: &block.scripts }
    }
}

impl Shape for Resolved<'_> {
    type Spent<'a>
        = ScriptId
    where
        Self: 'a;

    fn inputs(&self) -> usize {
        self.inputs.len()
    }

    fn outputs(&self) -> usize {
        self.outputs.len()
    }

    fn input_value(&self, at: usize) -> Sats {
        self.inputs[at].value
    }

    fn input_template(&self, at: usize) -> ScriptTemplate {
        self.inputs[at].flags.template
    }

    fn input_script(&self, at: usize) -> ScriptId {
        self.inputs[at].script
    }

    fn output_value(&self, at: usize) -> Sats {
        self.outputs[at].value
    }

    fn output_script(&self, at: usize) -> &[u8] {
        let range = &self.outputs[at].script;
        &self.scripts[range.start as usize..range.end as usize]
    }
}

impl Shape for MempoolTx {
    type Spent<'a> = &'a [u8];

    fn inputs(&self) -> usize {
        self.inputs.len()
    }

    fn outputs(&self) -> usize {
        self.outputs.len()
    }

    fn input_value(&self, at: usize) -> Sats {
        self.inputs[at].value
    }

    fn input_template(&self, at: usize) -> ScriptTemplate {
        ScriptTemplate::of(&self.inputs[at].script)
    }

    fn input_script(&self, at: usize) -> &[u8] {
        &self.inputs[at].script
    }

    fn output_value(&self, at: usize) -> Sats {
        self.outputs[at].value
    }

    fn output_script(&self, at: usize) -> &[u8] {
        &self.outputs[at].script
    }
}
