//! Co-spending: a transaction that spends from several scripts shows that they have one owner, with the exceptions
//! below. `docs/clusters.md` has the rule and its sources.

use cairn_model::{Block, ScriptId, ScriptTemplate, SpentCoin, TxMeta};

use crate::coinjoin::{self, Resolved, is_coinjoin};

/// Version of the rule: it grows with every change that can change an answer, also of the detectors of CoinJoins.
pub const RULES: u32 = 1;

// A change of the detectors must raise the version above, too.
const _: () = assert!(coinjoin::RULES == 1);

/// The scripts that a transaction shows to have one owner, ascending; none if it shows nothing. A buffer, so that most
/// transactions cost no allocation.
#[derive(Default, Debug)]
pub struct Cospent(Vec<ScriptId>);

impl Cospent {
    /// Finds them: the scripts that the inputs spend, if there are two at least, and the transaction is not a CoinJoin.
    /// Inputs signed with SIGHASH_ANYONECANPAY do not count, since anyone can have added them, nor do scripts that may
    /// need no key.
    pub fn find(&mut self, block: &Block, tx: &TxMeta) -> &[ScriptId] {
        self.0.clear();
        let inputs = block.inputs_of(tx);
        if inputs.len() < 2 {
            return &[];
        }
        self.0.extend(inputs.iter().filter(|coin| counts(coin)).map(|coin| coin.script));
        if self.0.iter().all(|script| Some(script) == self.0.first()) || is_coinjoin(&Resolved::of(block, tx)) {
            self.0.clear();
            return &[];
        }
        self.0.sort_unstable();
        self.0.dedup();
        &self.0
    }
}

/// Whether an input of a transaction other than a CoinJoin counts.
#[must_use]
pub const fn counts(coin: &SpentCoin) -> bool {
    !coin.flags.anyone_can_pay && has_owner(coin.flags.template)
}

/// Whether spending needs something that only an owner has, by its template. Pay-to-anchor can be spent by
/// anyone, and so can programs without rules and many scripts without a template.
const fn has_owner(template: ScriptTemplate) -> bool {
    use ScriptTemplate::{Anchor, NonStandard, WitnessUnknown};
    !matches!(template, Anchor | NonStandard | WitnessUnknown)
}

#[cfg(test)]
mod tests {
    use cairn_model::{BlockHash, InputFlags, Outpoint, OutputMeta, ScriptPrefix, TxNum, Txid};

    use super::*;

    fn script(name: u8) -> ScriptId {
        ScriptId { prefix: ScriptPrefix([name; 8]), ordinal: 0 }
    }

    fn coin(name: u8, template: ScriptTemplate) -> SpentCoin {
        let flags = InputFlags { template, ..InputFlags::default() };
        let outpoint = Outpoint { tx_num: TxNum(0), vout: name.into() };
        SpentCoin { outpoint, value: 50_000, script: script(name), birth: 0, flags }
    }

    /// Co-spending of a transaction with these inputs and output amounts.
    fn shown(inputs: Vec<SpentCoin>, amounts: &[u64]) -> Vec<ScriptId> {
        let (count, mut scripts) = (inputs.len() as u32, Vec::new());
        let output = |(place, value): (usize, &u64)| {
            let from = scripts.len() as u32;
            scripts.extend([0, 20]);
            scripts.extend([place as u8; 20]);
            let id = ScriptId { prefix: ScriptPrefix([place as u8; 8]), ordinal: 9 };
            OutputMeta { value: *value, script: from..scripts.len() as u32, id, spendable: true }
        };
        let outputs: Vec<OutputMeta> = amounts.iter().enumerate().map(output).collect();
        let tx = TxMeta {
            txid: Txid([1; 32]),
            size: 200,
            base_size: 200,
            inputs: 0..count,
            outputs: 0..outputs.len() as u32,
        };
        let block = Block {
            height: 1,
            hash: BlockHash([0; 32]),
            header: [0; 80],
            mono_time: 0,
            first_tx: TxNum(1),
            size: 300,
            position: None,
            coinbase_script: Vec::new(),
            txs: vec![tx.clone()],
            inputs,
            outputs,
            scripts,
            overwritten: Vec::new(),
        };
        Cospent::default().find(&block, &tx).to_vec()
    }

    #[test]
    fn several_scripts_have_one_owner_with_the_exceptions_that_are_published() {
        use ScriptTemplate::{Anchor, NonStandard, PubKeyHash, ScriptHash, WitnessUnknown, WitnessV0KeyHash};
        let key = |name| coin(name, WitnessV0KeyHash);
        let two = || vec![coin(7, PubKeyHash), key(3), coin(7, PubKeyHash)];
        assert_eq!(shown(two(), &[120_000]), [script(3), script(7)]);
        assert_eq!(shown(vec![key(1), coin(2, ScriptHash)], &[1, 2]), [script(1), script(2)]);
        // One script, or none.
        assert!(shown(vec![key(3), key(3)], &[90_000]).is_empty());
        assert!(shown(vec![key(3)], &[40_000]).is_empty());
        assert!(shown(vec![], &[5_000_000_000]).is_empty());
        // Scripts that may need no key, and inputs that anyone can add, leave the others as they are.
        for template in [Anchor, NonStandard, WitnessUnknown] {
            assert!(shown(vec![key(3), coin(4, template)], &[90_000]).is_empty());
            assert_eq!(shown([two(), vec![coin(4, template)]].concat(), &[90_000]), [script(3), script(7)]);
        }
        let mut added = key(5);
        added.flags.anyone_can_pay = true;
        assert!(shown(vec![key(3), added], &[90_000]).is_empty());
        assert_eq!(shown([two(), vec![added]].concat(), &[90_000]), [script(3), script(7)]);
        // The same script may be spent in both ways.
        added.script = script(3);
        assert_eq!(shown(vec![key(3), added, key(1)], &[90_000]), [script(1), script(3)]);
        // A CoinJoin shows nothing.
        let five = || (1..=5).map(key).collect::<Vec<_>>();
        assert_eq!(shown(five(), &[200_000]).len(), 5);
        assert!(shown(five(), &[45_000, 45_000, 45_000, 45_000, 45_000]).is_empty());
    }
}
