//! The rules of `snapshots/spark/exposure.py`: one source, hop by hop, for all amounts that are there, in whole
//! millionths of a satoshi, with FIFO as segments of coins. Written after that program, not after the crate.

use std::collections::{BTreeMap, BTreeSet};

use cairn_model::{Outpoint, Sats, ScriptId, TxNum};

use crate::world::World;

/// Haircut in millionths and FIFO in satoshis.
pub type Sums = (u128, Sats);

#[derive(Clone, Default)]
struct Coin {
    haircut: u128,
    segments: Vec<(Sats, Sats)>,
}

/// A coin that was reached at a hop, and where its money ends there; `None` if it goes on.
pub struct Row {
    pub script: Option<ScriptId>,
    pub hop: u8,
    pub sums: Sums,
    pub part: Option<&'static str>,
}

pub struct Rounds<'w> {
    pub world: &'w World,
    pub source: ScriptId,
    pub services: BTreeSet<ScriptId>,
    pub busy: BTreeSet<ScriptId>,
    pub hops: u8,
    /// Only coins that are spent are starts.
    pub only_spent: bool,
}

impl Rounds<'_> {
    fn output(&self, coin: Outpoint) -> (Sats, Option<ScriptId>) {
        let output = self.world.txs[&coin.tx_num].outputs[coin.vout as usize];
        (output.value, output.script)
    }

    /// All rows, and what is lost to fees.
    pub fn run(&self) -> (Vec<Row>, Sums) {
        let mut coins: BTreeMap<Outpoint, (Coin, Option<&'static str>)> = BTreeMap::new();
        for tx in self.world.txs.values() {
            for (vout, output) in (0..).zip(&tx.outputs) {
                let coin = Outpoint { tx_num: tx.tx_num, vout };
                let is_start = output.script == Some(self.source);
                if is_start && (!self.only_spent || self.world.spender(coin).is_some()) {
                    let segments = if output.value > 0 { vec![(0, output.value)] } else { Vec::new() };
                    let start = Coin { haircut: u128::from(output.value) * 1_000_000, segments };
                    coins.insert(coin, (start, None));
                }
            }
        }
        let (mut rows, mut fees) = (Vec::new(), (0, 0));
        for hop in 0..=self.hops {
            let mut going: BTreeMap<TxNum, Vec<(Outpoint, Coin)>> = BTreeMap::new();
            for (outpoint, (coin, part)) in coins {
                let spender = self.world.spender(outpoint);
                let part = part.or(match spender {
                    None => Some("held"),
                    Some(spender) if self.world.txs[&spender].is_coinjoin => Some("coinjoin"),
                    Some(_) if hop >= self.hops => Some("hop_limit"),
                    Some(_) => None,
                });
                let fifo = coin.segments.iter().map(|(start, end)| end - start).sum();
                let script = self.output(outpoint).1;
                rows.push(Row { script, hop, sums: (coin.haircut, fifo), part });
                if let Some(spender) = spender.filter(|_| part.is_none()) {
                    going.entry(spender).or_default().push((outpoint, coin));
                }
            }
            coins = BTreeMap::new();
            for (spender, brought) in going {
                let (arrived, lost) = self.flow(spender, &brought);
                fees = (fees.0 + lost.0, fees.1 + lost.1);
                for (outpoint, coin) in arrived {
                    coins.insert(outpoint, (coin, self.arrived_part(outpoint)));
                }
            }
        }
        (rows, fees)
    }

    fn arrived_part(&self, coin: Outpoint) -> Option<&'static str> {
        match self.output(coin).1 {
            None => Some("unspendable"),
            Some(script) if script == self.source => Some("returned"),
            Some(script) if self.services.contains(&script) => Some("service"),
            Some(script) if self.busy.contains(&script) => Some("busy"),
            Some(_) => None,
        }
    }

    fn flow(&self, spender: TxNum, brought: &[(Outpoint, Coin)]) -> (Vec<(Outpoint, Coin)>, Sums) {
        let tx = &self.world.txs[&spender];
        let input_sats: Sats = tx.inputs.iter().map(|input| input.value).sum();
        let output_sats: Sats = tx.outputs.iter().map(|output| output.value).sum();
        let taint: u128 = brought.iter().map(|(_, coin)| coin.haircut).sum();
        let share = |part: Sats| taint * u128::from(part) / u128::from(input_sats.max(1));
        let mut there = Vec::new();
        for (outpoint, coin) in brought {
            let place = tx.inputs.iter().position(|input| input.coin == *outpoint).unwrap();
            let at: Sats = tx.inputs[..place].iter().map(|input| input.value).sum();
            there.extend(coin.segments.iter().map(|(start, end)| (at + start, at + end)));
        }
        let (mut since, mut arrived) = (0, Vec::new());
        for (vout, output) in (0..).zip(&tx.outputs) {
            let until = since + output.value;
            let segments = there.iter().map(|(from, to)| (*from.max(&since), *to.min(&until)));
            let segments = segments.filter(|(first, last)| first < last);
            let segments = segments.map(|(first, last)| (first - since, last - since)).collect();
            arrived.push((Outpoint { tx_num: spender, vout }, Coin { haircut: share(output.value), segments }));
            since = until;
        }
        let fee =
            there.iter().filter(|(_, to)| *to > output_sats).map(|(from, to)| to - (*from).max(output_sats)).sum();
        (arrived, (share(input_sats - output_sats), fee))
    }
}
