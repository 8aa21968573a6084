//! Transactions that the participants of the demo send in the half hour after the tip; none is in a block yet.

use bitcoin::hashes::Hash;
use bitcoin::script::PushBytesBuf;
use bitcoin::{OutPoint, ScriptBuf, Txid, WPubkeyHash};
use rand::Rng;
use rand::seq::IndexedRandom;

use super::actors::{PEOPLE, Participant};
use super::purses::DUST;
use super::unconfirmed::{Draft, From, HIGHEST, LOWEST, MempoolBuilder};
use crate::error::Error;

const BTC: u64 = 100_000_000;
/// Things that happen.
const STEPS: u32 = 1_600;
/// Steps between two large transactions.
const LARGE: u32 = 24;
/// Steps at which a payment is made that is replaced later.
const HASTY: [u32; 3] = [12, 530, 940];
/// Steps between such a payment and its replacement.
const REGRET: u32 = 170;
/// Texts for OP_RETURN.
const NOTES: [&str; 8] = [
    "Cairn: one stone on another, and the path stays found",
    "For Ada, on her first day at school",
    "Minutes of the walking club, sealed: see our notice board",
    "Lost: one glove, blue, near the third cairn",
    "Price list of the shop, valid until the next one",
    "We were here before the block was",
    "Proof of existence: the map of the northern pass",
    "Thanks for all the blocks",
];
/// Words of the archives.
const WORDS: [&str; 16] = [
    "slate", "granite", "basalt", "marker", "ridge", "saddle", "north", "east", "fog", "clear", "lake", "stream",
    "heap", "fell", "raised", "seen",
];

/// A payment that will be replaced: when, what, and what it was.
struct Hasty {
    at: u32,
    draft: Draft,
    txid: Txid,
}

/// Fills a mempool.
pub(super) fn pass(pool: &mut MempoolBuilder) -> Result<(), Error> {
    let mut hasty: Vec<Hasty> = Vec::new();
    for step in 0..STEPS {
        pool.anyone_acts()?;
        if step % LARGE == LARGE - 1 {
            pool.large(step / LARGE)?;
        }
        if step % 230 == 100 {
            pool.named_act()?;
        }
        if HASTY.contains(&step)
            && let Some(draft) = pool.hasty(step)?
        {
            let txid = pool.announce(&draft)?;
            hasty.push(Hasty { at: step + REGRET, draft, txid });
        }
        for Hasty { draft, txid, .. } in hasty.extract_if(.., |hasty| hasty.at == step) {
            // Well above what a node asks for a replacement.
            if let Some(draft) = draft.bumped(8_000) {
                pool.send(&draft, Some(txid))?;
            }
        }
    }
    Ok(())
}

impl MempoolBuilder {
    fn person(&mut self) -> u32 {
        self.economy.rng.random_range(0..PEOPLE)
    }

    /// Pays if it can be afforded.
    fn pay(
        &mut self,
        who: Participant,
        payees: Vec<(ScriptBuf, u64)>,
        change: &ScriptBuf,
    ) -> Result<Option<Txid>, Error> {
        let rate = self.rate();
        self.pay_at(who, payees, change, rate)
    }

    fn pay_at(
        &mut self,
        who: Participant,
        payees: Vec<(ScriptBuf, u64)>,
        change: &ScriptBuf,
        rate: u64,
    ) -> Result<Option<Txid>, Error> {
        let draft = self.draft(who, payees, change, rate, From::Any)?;
        draft.map(|draft| self.send(&draft, None)).transpose()
    }

    /// Sends one of the usual payments.
    fn anyone_acts(&mut self) -> Result<(), Error> {
        let person = self.person();
        let balance = self.economy.balance(Participant::Person(person));
        let part = balance / 1_000;
        let payee = match self.economy.rng.random_range(0..100) {
            0..10 => return self.withdrawal(),
            10..13 => return self.consolidation(person),
            13..15 => return self.rescue(person),
            15 => return self.joint(person),
            16..19 => (note(NOTES.choose(&mut self.economy.rng).unwrap_or(&NOTES[0]).as_bytes())?, 0),
            19..46 => (
                self.economy.next_fixed(Participant::Merchant, 1)?,
                (balance / 200).clamp(10_000, BTC / 2) / 10_000 * 10_000,
            ),
            46..50 => (self.economy.fixed(Participant::Merchant, 0)?, (balance / 1_000).clamp(5_000, BTC / 10)),
            50..68 => {
                let deposit = self.economy.fixed(Participant::Deposits, 1 + person)?;
                (deposit, part * self.economy.rng.random_range(20..200))
            }
            _ => {
                let other = self.person();
                (self.economy.receive(other)?, part * self.economy.rng.random_range(5..100))
            }
        };
        if payee.1 <= DUST && !payee.0.is_op_return() {
            return Ok(());
        }
        let change = self.economy.fresh(person)?;
        self.pay(Participant::Person(person), vec![payee], &change)?;
        Ok(())
    }

    /// The exchange pays customers, a few at a time.
    fn withdrawal(&mut self) -> Result<(), Error> {
        let hot = self.economy.fixed(Participant::Hot, 0)?;
        let mut payees = Vec::new();
        for _ in 0..self.economy.rng.random_range(1..=12) {
            let customer = self.person();
            payees.push((self.economy.receive(customer)?, self.economy.rng.random_range(100_000..BTC / 4)));
        }
        self.pay(Participant::Hot, payees, &hot)?;
        Ok(())
    }

    /// Someone tidies up: a person, or the exchange its deposits. Nobody is in a hurry with that.
    fn consolidation(&mut self, person: u32) -> Result<(), Error> {
        let rate = self.economy.rng.random_range(LOWEST..3 * LOWEST);
        let draft = if person.is_multiple_of(2) {
            let hot = self.economy.fixed(Participant::Hot, 0)?;
            self.gather(Participant::Deposits, 3..=60, &hot, rate)?
        } else {
            let own = self.economy.fresh(person)?;
            self.gather(Participant::Person(person), 3..=40, &own, rate)?
        };
        draft.map(|draft| self.send(&draft, None)).transpose()?;
        Ok(())
    }

    /// A payment at the lowest feerate, and its receiver, who spends it at a high one so that both get in.
    fn rescue(&mut self, payer: u32) -> Result<(), Error> {
        let payee = self.person();
        let (to, change) = (self.economy.fresh(payee)?, self.economy.fresh(payer)?);
        let sats = self.economy.balance(Participant::Person(payer)) / 100;
        if sats < 50_000 {
            return Ok(());
        }
        let Some(parent) = self.pay_at(Participant::Person(payer), vec![(to.clone(), sats)], &change, LOWEST)? else {
            return Ok(());
        };
        let own = self.economy.fresh(payee)?;
        let rate = self.economy.rng.random_range(HIGHEST / 2..HIGHEST);
        for vout in 0..2 {
            let coin = OutPoint { txid: parent, vout };
            if self.economy.coin(&coin).is_some_and(|coin| coin.txout.script_pubkey == to)
                && let Some(draft) = self.pass_on(Participant::Person(payee), coin, &own, rate)?
            {
                self.send(&draft, None)?;
                break;
            }
        }
        Ok(())
    }

    /// The mixer brings people together.
    fn joint(&mut self, first: u32) -> Result<(), Error> {
        let people: Vec<u32> =
            (0..self.economy.rng.random_range(8..20)).map(|step| (first + step * 3) % PEOPLE).collect();
        let sats = *[BTC, BTC / 10, BTC / 100].choose(&mut self.economy.rng).unwrap_or(&BTC);
        let (to, rate) = (self.economy.fixed(Participant::Mixer, 0)?, self.rate());
        let draft = self.join(&people, sats, &to, rate)?;
        draft.map(|draft| self.send(&draft, None)).transpose()?;
        Ok(())
    }

    /// The named actors pay each other.
    fn named_act(&mut self) -> Result<(), Error> {
        let hot = self.economy.fixed(Participant::Hot, 0)?;
        // The whale buys at its first address again.
        let whale = self.economy.fixed(Participant::Whale, 0)?;
        self.pay(Participant::Hot, vec![(whale, 3 * BTC)], &hot)?;
        // The sleeper sells a little.
        let (deposit, own) =
            (self.economy.fixed(Participant::Deposits, PEOPLE + 3)?, self.economy.fixed(Participant::Sleeper, 0)?);
        self.pay(Participant::Sleeper, vec![(deposit, 2 * BTC)], &own)?;
        // Someone pays the pool to look at a transaction of his.
        let (person, pool) = (self.person(), self.economy.fixed(Participant::Pool, 0)?);
        let change = self.economy.fresh(person)?;
        self.pay(Participant::Person(person), vec![(pool, 150_000)], &change)?;
        // The shop commits to the books of the day.
        let shop = self.economy.fixed(Participant::Merchant, 0)?;
        let books =
            note(format!("books of the shop, {} sat in hand", self.economy.balance(Participant::Merchant)).as_bytes())?;
        self.pay(Participant::Merchant, vec![(books, 0)], &shop)?;
        Ok(())
    }

    /// A payment in a hurry, at too low a feerate: from the exchange to the shop, or between people.
    fn hasty(&mut self, step: u32) -> Result<Option<Draft>, Error> {
        let rate = 2 * LOWEST;
        if step == HASTY[0] {
            let (hot, shop) = (self.economy.fixed(Participant::Hot, 0)?, self.economy.fixed(Participant::Merchant, 0)?);
            return self.draft(Participant::Hot, vec![(shop, BTC / 20)], &hot, rate, From::Confirmed);
        }
        for _ in 0..PEOPLE {
            let (person, other) = (self.person(), self.person());
            let (to, change) = (self.economy.receive(other)?, self.economy.fresh(person)?);
            let draft = self.draft(Participant::Person(person), vec![(to, 400_000)], &change, rate, From::Confirmed)?;
            if draft.as_ref().is_some_and(|draft| draft.clone().bumped(8_000).is_some()) {
                return Ok(draft);
            }
        }
        Ok(None)
    }

    /// A payroll to thousands that nobody here knows, or an archive: these fill the blocks.
    fn large(&mut self, index: u32) -> Result<(), Error> {
        let payees = if index.is_multiple_of(2) {
            let count = self.economy.rng.random_range(200..2_900);
            (0..count).map(|_| self.stranger()).collect()
        } else {
            let bytes = self.economy.rng.random_range(5_000..97_000);
            vec![(note(self.archive(index, bytes).as_bytes())?, 0)]
        };
        let rate = self.rate();
        for _ in 0..PEOPLE {
            let person = self.person();
            let change = self.economy.fresh(person)?;
            if let Some(draft) =
                self.draft(Participant::Person(person), payees.clone(), &change, rate, From::Confirmed)?
            {
                self.send(&draft, None)?;
                break;
            }
        }
        Ok(())
    }

    fn stranger(&mut self) -> (ScriptBuf, u64) {
        let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(self.economy.rng.random()));
        let sats = 2_000u64 << self.economy.rng.random_range(0..7);
        (script, sats + self.economy.rng.random_range(0..sats))
    }

    /// A text of about this many bytes.
    fn archive(&mut self, index: u32, bytes: usize) -> String {
        let mut text = format!("Register of cairns, volume {}", index / 2 + 1);
        let mut line = 0;
        while text.len() < bytes {
            line += 1;
            text += &format!("\n{line}:");
            for _ in 0..8 {
                text.push(' ');
                text += WORDS.choose(&mut self.economy.rng).unwrap_or(&WORDS[0]);
            }
        }
        text
    }
}

/// OP_RETURN and one push.
pub(super) fn note(text: &[u8]) -> Result<ScriptBuf, Error> {
    let push = PushBytesBuf::try_from(text.to_vec()).map_err(|_| Error::Parameters("a note longer than a push"))?;
    Ok(ScriptBuf::new_op_return(push))
}
