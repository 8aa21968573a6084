//! Pings of dust and their campaigns, by hand: chains at the edges of the rules.

use std::{collections::BTreeMap, ops::Range};

use bitcoin::{OutPoint, ScriptBuf};
use cairn_chaingen::subsidy;
use cairn_model::TxNum;
use cairn_support::forge::{coinbase, pay, script, spend};
use cairn_tables::{dust::*, pings::*};
use cairn_testkit::temp_dir;

use crate::{
    dust::{MONTH, Pinging, assert_dust, follow},
    late::rows,
    support::*,
};

/// By hand.
impl Pinging {
    /// Begins a block, whose coinbase pays a script of its own. Scripts 0 to 299 have been paid, 300 a worthless coin.
    pub(crate) fn fund(&mut self) -> (TxNum, OutPoint) {
        if self.txs == 1 {
            let paid = (0..300).map(|tag| pay(5_000, script(tag))).chain([pay(0, script(300))]);
            self.add(coinbase(0, paid.collect()));
        }
        if !self.made.is_empty() {
            self.mine(600);
        }
        let (tag, sats) = (1_000_000 + self.txs as u32, subsidy(self.forge.blocks.len() as u32).min(5_000_000));
        self.add(coinbase(tag, vec![pay(sats, script(tag))]))
    }

    /// Adds a ping of these scripts, with an OP_RETURN output if it has a mark. The first output is what is left.
    fn ping(&mut self, coin: OutPoint, mark: &[u8], tags: Range<u32>) -> (TxNum, OutPoint) {
        let (_, own) = self.coins.iter().find(|(at, _)| *at == coin).unwrap();
        let left = own.value.to_sat() - 1_000 - 330 * tags.len() as u64;
        let mark = (!mark.is_empty()).then(|| pay(1_000, ScriptBuf::from_bytes(mark.to_vec())));
        let dust = tags.map(|tag| pay(330, script(tag)));
        self.add(spend(&[coin], [pay(left, own.script_pubkey.clone())].into_iter().chain(mark).chain(dust).collect()))
    }

    /// Adds transactions one after another, each of which pings the given scripts. Returns their numbers, after that of
    /// the coinbase that funds them, and the coin that the last one leaves.
    fn line(&mut self, pinged: &[Range<u32>]) -> (Vec<TxNum>, OutPoint) {
        let (funding, mut coin) = self.fund();
        pinged.iter().for_each(|tags| coin = self.ping(coin, b"", tags.clone()).1);
        let made = (self.txs - pinged.len() as u64..self.txs).map(TxNum);
        ([funding].into_iter().chain(made).collect(), coin)
    }

    /// Fails unless an index has what the blocks have, with alerts of a hundred scripts for these pings. Gives it.
    fn assert_alerts(mut self, expected: &[TxNum]) -> Index {
        self.fund();
        let blocks = temp_dir();
        self.forge.write(blocks.path());
        let mut index = Index::new(&facts(blocks.path()));
        follow(&mut index, blocks.path());
        assert_dust(&index, &self.forge.oracle(), "by hand");
        index.assert_sound();
        let alerts = index.view(rows::<DustAlerts>);
        assert!(alerts.values().all(|row| row.scripts == 100), "{alerts:?}");
        assert_eq!(alerts.keys().map(|(ping, _)| *ping).collect::<Vec<_>>(), expected);
        index
    }
}

#[test]
fn a_hundred_scripts_with_a_history_make_a_dust_campaign() {
    let (mut chain, mut due, mut counts) = (Pinging::of(&[]), Vec::new(), BTreeMap::new());
    let marked = |bytes: &[u8]| pay(1_000, ScriptBuf::from_bytes(bytes.to_vec()));
    let (own, dust) = (script(500), |tag| pay(1_000, script(tag)));
    // A coin that is spent beside a large one, an output beside 99 of dust, what is left, others with a history that
    // are paid dust.
    for (coin, output, left, others, is_due) in [
        (1_001, dust(99), 1_001, Some(100), true),
        (1_001, dust(99), 1_000, None, false),
        (1_000, dust(99), 1_001, None, false),
        (1, dust(99), 1_001, None, false),
        (0, dust(99), 1_001, Some(100), true),
        (1_001, pay(1_001, script(99)), 1_001, Some(99), false),
        (1_001, pay(0, script(99)), 1_001, Some(99), false),
        (1_001, dust(98), 1_001, Some(99), false),
        (1_001, dust(500), 1_001, Some(99), false),
        (1_001, pay(1_000, ScriptBuf::from_bytes(vec![0x51; 10_001])), 1_001, Some(99), false),
        // This one was paid nothing, that one not at all.
        (1_001, dust(300), 1_001, Some(100), true),
        (1_001, dust(400), 1_001, Some(99), false),
        (1_001, marked(b"\x6a"), 1_001, Some(99), false),
        (1_001, marked(b"\x6a\x5d"), 1_001, None, false),
        (1_001, marked(b"\x6a\x08omni\0\0\0\0"), 1_001, None, false),
    ] {
        let large = chain.fund().1;
        let (_, first) = chain.add(spend(&[large], vec![pay(coin, own.clone()), pay(900_000, own.clone())]));
        let paid = (0..99).map(dust).chain([output, pay(left, script(401))]).collect();
        let (ping, _) = chain.add(spend(&[first, OutPoint { vout: 1, ..first }], paid));
        counts.insert(ping, others);
        due.extend(is_due.then_some(ping));
    }
    // Scripts of several pings count once.
    let two = [0..60, 39..99, 10..11, 99..100];
    due.push(chain.line(&[0..60, 40..100]).0[2]);
    chain.line(&two[..3]);
    due.push(chain.line(&two).0[4]);
    // Script 301 is first paid by the ping and then once more in its block, script 302 just before the ping.
    let coin = chain.line(&[202..302, 0..0]).1;
    chain.ping(coin, b"\x6a\x01\x02", 301..302);
    due.push(chain.line(&[302..303, 203..303]).0[2]);
    // The transaction that funds the second ping is a campaign already.
    let coin = chain.fund().1;
    let (_, first) = chain.add(spend(&[coin], vec![pay(900_000, own.clone()), pay(900_000, own)]));
    due.push(chain.ping(first, b"", 0..100).0);
    chain.ping(OutPoint { vout: 1, ..first }, b"", 0..100);
    // Many have one mark.
    let coins = [chain.fund().1, chain.fund().1, chain.fund().1];
    let mut ping = |nth: usize, tags| chain.ping(coins[nth], b"\x6a\x01\x01", tags).0;
    due.push([ping(0, 0..40), ping(1, 40..80), ping(2, 80..100)][2]);
    let found = chain.assert_alerts(&due).view(rows::<Pings>);
    for (ping, scripts) in counts {
        assert_eq!(found.get(&ping).map(|row| row.scripts), scripts, "{ping:?}");
    }
}

#[test]
fn dust_pings_are_of_what_funds_them() {
    let mut chain = Pinging::of(&[]);
    let (near, _) = chain.line(&[0..10, 0..0, 0..0, 0..10]);
    let (far, _) = chain.line(&[0..10, 0..0, 0..0, 0..0, 0..10]);
    let (funding, coin) = chain.fund();
    let (marked, coin) = chain.ping(coin, b"\x6a\x01\x01", 0..10);
    let after_mark = chain.ping(coin, b"", 0..10).0;
    // Of equal coins that of the first input funds it; else the largest.
    let coins = [chain.fund(), chain.fund(), chain.fund()];
    let paid = || vec![pay(700_000, script(500)), pay(1, script(1))];
    let (equal, smaller) = chain.add(spend(&[coins[1].1, coins[0].1], paid()));
    let (larger, _) = chain.add(spend(&[smaller, coins[2].1], paid()));
    let pings = chain.assert_alerts(&[]).view(rows::<DustPings>);
    for (ping, groups) in [
        (near[4], vec![near[1], near[0]]),
        (far[5], vec![far[5], far[4], far[3], far[2]]),
        (after_mark, vec![after_mark, marked, funding]),
        (equal, vec![equal, coins[1].0]),
        (larger, vec![larger, coins[2].0]),
    ] {
        assert!(pings[&ping].groups.iter().eq(&groups.into_iter().map(DustGroup::Funding).collect::<Vec<_>>()));
    }
}

#[test]
fn dust_pings_are_forgotten_after_30_days() {
    let mut chain = Pinging::of(&[]);
    let (campaign, of_campaign) = chain.line(&[0..100, 0..0]);
    let (_, older) = chain.line(&[0..50, 0..0]);
    let (_, young) = chain.line(&[0..50, 0..0]);
    chain.mine(1);
    chain.fund();
    chain.ping(older, b"", 50..100);
    let (young, _) = chain.ping(young, b"", 50..100);
    let (later, _) = chain.ping(of_campaign, b"", 0..7);
    chain.mine(MONTH);
    let index = chain.assert_alerts(&[campaign[1], young]);
    let row = index.view(|view| view.movements().dust_group(&DustGroup::Funding(campaign[0])).unwrap().unwrap());
    assert_eq!((row.first, row.last, row.txs, row.recipients), (campaign[1], later, 2, 107));
}

#[test]
fn groups_keep_a_thousand_dust_pings() {
    let (mut chain, mut due) = (Pinging::of(&[]), Vec::new());
    for (between, is_due) in [(998, true), (999, false)] {
        let (mark, coin) = ([0x6a, 1, between as u8], chain.fund().1);
        let coin = chain.ping(coin, &mark, 0..60).1;
        let coin = (0..between).fold(coin, |coin, _| chain.ping(coin, &mark, 0..1).1);
        due.extend(is_due.then_some(chain.ping(coin, &mark, 60..100).0));
    }
    chain.assert_alerts(&due);
}
