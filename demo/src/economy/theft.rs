//! A theft on the last day of the demo. The wallet of a saver is a BIP 84 account and loses [`STOLEN_SATS`] in one
//! transaction. The thief sends a part to a deposit address of the exchange and a part to the mixer, peels small
//! amounts off a third, and keeps the rest at two addresses. Four transactions after the first one reach all of it, so
//! a flow graph of four hops shows where each satoshi stands. Coins of the whale pay for the coins of the saver, as
//! they do for the other cases.

use bitcoin::{OutPoint, ScriptBuf};

use super::actors::{Actor, FRESH_DEPOSIT, Participant};
use super::address;
use super::purses::Economy;
use super::risk_story::{Cases, Role};
use crate::build::{Bip84Key, Keyring, Lock};
use crate::error::Error;

/// Satoshis in a hundredth of a bitcoin.
const CENT: u64 = 1_000_000;
/// Satoshis that the thief takes: 12.5 BTC.
pub const STOLEN_SATS: u64 = 1_250 * CENT;
/// Extended public key of the saver's wallet (BIP 84, regtest, `m/84'/1'/0'`). All addresses of the saver follow from
/// this key. It is the same for every seed of the chain.
pub const SAVER_ACCOUNT_KEY: &str =
    "tpubDCxE3uw428X2Z7wosCHhZX1SY1T5KxTTSfedBUcA1q1wqfFbrGJHEuzkgBdtrEx5viNNPEnUYyeuHz1Aga8EC8WT1LR9bv55BjGwEyFzzAM";

/// Branches of the saver's wallet.
const RECEIVE: u32 = 0;
const CHANGE: u32 = 1;
/// Sales of a broker to the saver: blocks after the first of the cases, number of the address, satoshis. Addresses 4
/// and 5 stay unused, so that a look-up has to pass a gap.
const SALES: [(u32, u32, u64); 7] = [
    (1, 0, 210 * CENT),
    (3, 1, 190 * CENT),
    (6, 2, 170 * CENT),
    (12, 3, 220 * CENT),
    (20, 6, 260 * CENT),
    (26, 7, 230 * CENT),
    (31, 8, 35 * CENT),
];
/// Purchases at the baker's: blocks, number of the paying address, number of the change address, satoshis.
const PURCHASES: [(u32, u32, u32, u64); 2] = [(9, 0, 0, 5 * CENT), (16, 1, 1, 2 * CENT)];
/// Satoshis that the broker gets from the whale: all sales with their fees.
const STOCK: u64 = 1_320 * CENT;
/// Addresses that lose their coins, as branch and number. Change goes to the address with the number `LOOT_CHANGE`.
const LOOT: [(u32, u32); 6] = [(CHANGE, 0), (CHANGE, 1), (RECEIVE, 2), (RECEIVE, 3), (RECEIVE, 6), (RECEIVE, 7)];
const LOOT_CHANGE: u32 = 3;
/// Blocks of the theft and of the division of the loot, after the first of the cases.
const THEFT: u32 = 50;
const DIVISION: u32 = 53;
/// Parts of the loot in satoshis: for the exchange, for the mixer, to be peeled, and for the first address that keeps
/// its part. The second one keeps the rest.
const TO_EXCHANGE: u64 = 320 * CENT;
const TO_MIXER: u64 = 240 * CENT;
const TO_PEEL: u64 = 150 * CENT;
const KEPT: u64 = 390 * CENT;
/// Blocks of the peels, after the first of the cases, and satoshis of each peel.
const PEELS: [u32; 3] = [57, 61, 66];
const PEEL: u64 = 25 * CENT;

/// Addresses of the thief, as numbers of fixed locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThiefAddress {
    /// Receives the stolen coins.
    First = 0,
    /// Keeps a part, as does the next one.
    FirstKept = 1,
    SecondKept = 2,
    /// On the way to the exchange.
    ToExchange = 3,
    /// On the way to the mixer, as is the next one.
    FirstToMixer = 4,
    SecondToMixer = 5,
    /// Holds the part that is peeled. After each peel, the rest is at the next number.
    Peeling = 6,
}

fn thief_lock(at: ThiefAddress, step: usize) -> Lock {
    Role::Thief.who().lock(at as u32 + step as u32)
}

fn saver_lock(branch: u32, index: u32) -> Lock {
    Lock::Bip84(Bip84Key { account: 0, branch, index })
}

/// Lists the thief and the saver.
pub(super) fn list(ring: &mut Keyring) -> Result<[Actor; 2], Error> {
    let mut addresses = |locks: &[Lock]| {
        let scripts = locks.iter().map(|lock| ring.script(lock)).collect::<Result<Vec<ScriptBuf>, Error>>()?;
        Ok::<_, Error>(scripts.iter().filter_map(|script| address(script)).collect())
    };
    let received = SALES.map(|(_, index, _)| saver_lock(RECEIVE, index));
    Ok([
        Actor {
            name: "thief",
            title: "The thief",
            description: "Took 12.5 BTC from the saver on the last day. Follow the money: some reached the exchange, \
                          some the mixer, some was peeled off, and the rest stands still at two addresses.",
            addresses: addresses(&[
                thief_lock(ThiefAddress::First, 0),
                thief_lock(ThiefAddress::FirstKept, 0),
                thief_lock(ThiefAddress::SecondKept, 0),
            ])?,
            account_key: None,
            has_unconfirmed: false,
        },
        Actor {
            name: "saver",
            title: "The saver",
            description: "Bought coins on the last day and lost 12.5 BTC of them to the thief in one transaction. The \
                          key of its account shows the whole wallet.",
            addresses: addresses(&received)?,
            account_key: Some(SAVER_ACCOUNT_KEY),
            has_unconfirmed: false,
        },
    ])
}

impl Cases {
    /// Adds to the open block the transactions of the theft `at` blocks after the first of the cases.
    pub(super) fn theft(&mut self, economy: &mut Economy, at: u32) -> Result<(), Error> {
        match at {
            0 => self.stock(economy)?,
            THEFT => self.steal(economy)?,
            DIVISION => self.divide(economy)?,
            55 => {
                let deposit = economy.fixed(Participant::Deposits, FRESH_DEPOSIT)?;
                self.move_on(economy, thief_lock(ThiefAddress::ToExchange, 0), Vec::new(), &deposit)?;
            }
            56 => {
                let next = self.thief_script(economy, ThiefAddress::SecondToMixer, 0)?;
                self.move_on(economy, thief_lock(ThiefAddress::FirstToMixer, 0), Vec::new(), &next)?;
            }
            60 => {
                let mixer = economy.fixed(Participant::Mixer, 0)?;
                self.move_on(economy, thief_lock(ThiefAddress::SecondToMixer, 0), Vec::new(), &mixer)?;
            }
            _ => {}
        }
        if let Some((_, index, sats)) = SALES.iter().find(|(when, ..)| *when == at) {
            let (own, to) = (self.script(economy, Role::Broker)?, self.saver_script(economy, RECEIVE, *index)?);
            self.pay(economy, "sale", Role::Broker, vec![(to, *sats)], &own)?;
        }
        if let Some((_, index, change, sats)) = PURCHASES.iter().find(|(when, ..)| *when == at) {
            let coins = self.coins_of_saver(economy, &[(RECEIVE, *index)])?;
            let (to, own) = (self.script(economy, Role::Baker)?, self.saver_script(economy, CHANGE, *change)?);
            self.spend(economy, "purchase", &coins, vec![(to, *sats)], &own)?;
        }
        if let Some(step) = PEELS.iter().position(|when| *when == at) {
            let to = self.script(economy, Role::ThiefPeel(step as u32))?;
            let rest = self.thief_script(economy, ThiefAddress::Peeling, step + 1)?;
            self.move_on(economy, thief_lock(ThiefAddress::Peeling, step), vec![(to, PEEL)], &rest)?;
        }
        Ok(())
    }

    fn thief_script(&self, economy: &mut Economy, at: ThiefAddress, step: usize) -> Result<ScriptBuf, Error> {
        economy.own(Role::Thief.who(), &thief_lock(at, step))
    }

    fn saver_script(&self, economy: &mut Economy, branch: u32, index: u32) -> Result<ScriptBuf, Error> {
        economy.own(Role::Saver.who(), &saver_lock(branch, index))
    }

    /// The whale pays the broker with its newest coins, as many as that needs.
    fn stock(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let (mut coins, mut sum) = (Vec::new(), 0);
        for coin in economy.spendable(Participant::Whale).into_iter().rev() {
            if sum > STOCK + CENT {
                break;
            }
            coins.push(coin.outpoint);
            sum += coin.sats;
        }
        let first = coins.first().and_then(|coin| economy.coin(coin));
        let own = first.ok_or(Error::Parameters("a whale without coins"))?.txout.script_pubkey.clone();
        economy.take(Participant::Whale, &coins);
        let broker = self.script(economy, Role::Broker)?;
        self.spend(economy, "stock", &coins, vec![(broker, STOCK)], &own)
    }

    /// Takes the coins of these addresses of the saver, as branch and number.
    fn coins_of_saver(&mut self, economy: &mut Economy, of: &[(u32, u32)]) -> Result<Vec<OutPoint>, Error> {
        let mut coins = Vec::new();
        for (branch, index) in of {
            let script = self.saver_script(economy, *branch, *index)?;
            coins.extend(self.take(&script));
        }
        Ok(coins)
    }

    /// Pays the thief with most coins of the saver. The change goes back.
    fn steal(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let coins = self.coins_of_saver(economy, &LOOT)?;
        let (thief, own) =
            (self.thief_script(economy, ThiefAddress::First, 0)?, self.saver_script(economy, CHANGE, LOOT_CHANGE)?);
        self.spend(economy, "theft", &coins, vec![(thief, STOLEN_SATS)], &own)
    }

    /// Divides the loot among addresses of the thief.
    fn divide(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let mut payees = Vec::new();
        for (at, sats) in [
            (ThiefAddress::ToExchange, TO_EXCHANGE),
            (ThiefAddress::FirstToMixer, TO_MIXER),
            (ThiefAddress::Peeling, TO_PEEL),
            (ThiefAddress::FirstKept, KEPT),
        ] {
            payees.push((self.thief_script(economy, at, 0)?, sats));
        }
        let rest = self.thief_script(economy, ThiefAddress::SecondKept, 0)?;
        self.move_on(economy, thief_lock(ThiefAddress::First, 0), payees, &rest)
    }

    /// Spends all coins of an address of the thief; what `payees` leave goes to `rest`.
    fn move_on(
        &mut self,
        economy: &mut Economy,
        from: Lock,
        payees: Vec<(ScriptBuf, u64)>,
        rest: &ScriptBuf,
    ) -> Result<(), Error> {
        let script = economy.own(Role::Thief.who(), &from)?;
        let coins = self.take(&script);
        self.spend(economy, "loot", &coins, payees, rest)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashMap};
    use std::sync::OnceLock;

    use bitcoin::bip32::{ChildNumber, Xpub};
    use bitcoin::ecdsa::Signature;
    use bitcoin::hashes::Hash;
    use bitcoin::secp256k1::{Message, Secp256k1};
    use bitcoin::sighash::{EcdsaSighashType, SighashCache};
    use bitcoin::{Address, CompressedPublicKey, Network, PublicKey, Script};

    use super::super::{KEY_SEED, actors, chain_and_owners};
    use super::*;
    use crate::build::Chain;

    type Demo = (Chain, HashMap<ScriptBuf, u32>);

    fn demo() -> &'static Demo {
        static DEMO: OnceLock<Demo> = OnceLock::new();
        DEMO.get_or_init(|| chain_and_owners(1).unwrap())
    }

    fn script(lock: Lock) -> ScriptBuf {
        Keyring::new(KEY_SEED).script(&lock).unwrap()
    }

    /// Satoshis that a script holds at the tip.
    fn held(at: &Script) -> u64 {
        let mut held = 0;
        for mined in demo().0.active() {
            let outputs = mined.block.txdata.iter().flat_map(|tx| &tx.output);
            let paid = outputs.filter(|output| output.script_pubkey.as_script() == at);
            held += paid.map(|output| output.value.to_sat()).sum::<u64>();
            let spent = mined.spent.iter().flatten().filter(|coin| coin.txout.script_pubkey.as_script() == at);
            held -= spent.map(|coin| coin.txout.value.to_sat()).sum::<u64>();
        }
        held
    }

    /// Follows the stolen coins. Returns the satoshis that stand at each script at the tip, and the fees on the way.
    fn followed() -> (BTreeMap<ScriptBuf, u64>, u64) {
        let thief = script(thief_lock(ThiefAddress::First, 0));
        let (mut coins, mut fees): (HashMap<OutPoint, (ScriptBuf, u64)>, u64) = (HashMap::new(), 0);
        for tx in demo().0.active().iter().flat_map(|mined| &mined.block.txdata) {
            let inputs = tx.input.iter().map(|input| input.previous_output);
            let stolen: Vec<u64> = inputs.filter_map(|coin| coins.remove(&coin)).map(|(_, sats)| sats).collect();
            let paid: u64 = tx.output.iter().map(|output| output.value.to_sat()).sum();
            if !stolen.is_empty() {
                assert_eq!(stolen.len(), tx.input.len(), "nothing else is spent with the loot");
                fees += stolen.iter().sum::<u64>() - paid;
            }
            for (vout, output) in (0..).zip(&tx.output) {
                if !stolen.is_empty() || output.script_pubkey == thief {
                    let coin = OutPoint { txid: tx.compute_txid(), vout };
                    coins.insert(coin, (output.script_pubkey.clone(), output.value.to_sat()));
                }
            }
        }
        let mut standing = BTreeMap::new();
        for (script, sats) in coins.into_values() {
            *standing.entry(script).or_default() += sats;
        }
        (standing, fees)
    }

    #[test]
    fn every_stolen_satoshi_stands_somewhere() {
        assert_eq!(STOLEN_SATS, 1_250_000_000);
        let (standing, fees) = followed();
        assert_eq!(standing.values().sum::<u64>() + fees, STOLEN_SATS);
        assert!(fees < CENT / 10, "{fees}");
        let at = |lock: Lock| standing.get(&script(lock)).copied().unwrap_or_default();
        // Fees come out of what moves.
        let about = |found: u64, sats: u64| assert!(found <= sats && found > sats - CENT / 10, "{found} of {sats}");
        about(at(Participant::Deposits.lock(FRESH_DEPOSIT)), TO_EXCHANGE);
        about(at(Participant::Mixer.lock(0)), TO_MIXER);
        for step in 0..PEELS.len() {
            assert_eq!(at(Role::ThiefPeel(step as u32).who().lock(0)), PEEL);
        }
        about(at(thief_lock(ThiefAddress::Peeling, PEELS.len())), TO_PEEL - PEELS.len() as u64 * PEEL);
        let [first, second] = [ThiefAddress::FirstKept, ThiefAddress::SecondKept].map(|of| at(thief_lock(of, 0)));
        assert_eq!(first, KEPT);
        about(second, STOLEN_SATS - TO_EXCHANGE - TO_MIXER - TO_PEEL - KEPT);
        assert_eq!(standing.len(), 5 + PEELS.len());
        // Nothing is left where the loot came in.
        assert_eq!(held(&script(thief_lock(ThiefAddress::First, 0))), 0);
    }

    #[test]
    fn one_transaction_takes_several_coins_of_the_saver() {
        let thief = script(thief_lock(ThiefAddress::First, 0));
        let blocks = demo().0.active();
        let txs = blocks.iter().flat_map(|mined| mined.block.txdata.iter().skip(1).zip(&mined.spent));
        let paying: Vec<_> =
            txs.filter(|(tx, _)| tx.output.iter().any(|output| output.script_pubkey == thief)).collect();
        let [(tx, spent)] = &paying[..] else { panic!("{} transactions pay the thief", paying.len()) };
        let payment = tx.output.iter().find(|output| output.script_pubkey == thief).unwrap();
        assert_eq!(payment.value.to_sat(), STOLEN_SATS);
        // The keys of the wallet sign for its coins.
        let (secp, mut cache) = (Secp256k1::new(), SighashCache::new(*tx));
        for (at, coin) in spent.iter().enumerate() {
            let (script, value) = (&coin.txout.script_pubkey, coin.txout.value);
            let hash = cache.p2wpkh_signature_hash(at, script, value, EcdsaSighashType::All).unwrap();
            let items = tx.input[at].witness.to_vec();
            let (key, signature) =
                (PublicKey::from_slice(&items[1]).unwrap(), Signature::from_slice(&items[0]).unwrap());
            assert_eq!(script, &ScriptBuf::new_p2wpkh(&key.wpubkey_hash().unwrap()));
            let message = Message::from_digest(hash.to_byte_array());
            secp.verify_ecdsa(&message, &signature.signature, &key.inner).unwrap();
        }
        let robbed: BTreeSet<_> = spent.iter().map(|coin| &coin.txout.script_pubkey).collect();
        assert_eq!(robbed, LOOT.map(|(branch, index)| script(saver_lock(branch, index))).iter().collect());
    }

    /// The published key, and it alone, yields all addresses of the saver.
    #[test]
    fn the_account_key_is_the_savers() {
        assert_eq!(Keyring::new(KEY_SEED).account_key(0).unwrap().to_string(), SAVER_ACCOUNT_KEY);
        let account: Xpub = SAVER_ACCOUNT_KEY.parse().unwrap();
        let secp = Secp256k1::new();
        let address = |branch, index| {
            let path = [branch, index].map(|step| ChildNumber::from_normal_idx(step).unwrap());
            let key = CompressedPublicKey(account.derive_pub(&secp, &path).unwrap().public_key);
            Address::p2wpkh(&key, Network::Regtest)
        };
        let (chain, owners) = demo();
        let used: BTreeSet<&ScriptBuf> = chain
            .active()
            .into_iter()
            .flat_map(|mined| &mined.block.txdata)
            .flat_map(|tx| &tx.output)
            .map(|output| &output.script_pubkey)
            .collect();
        let numbers = |branch| -> Vec<u32> {
            (0..40).filter(|index| used.contains(&address(branch, *index).script_pubkey())).collect()
        };
        assert_eq!((numbers(RECEIVE), numbers(CHANGE)), (vec![0, 1, 2, 3, 6, 7, 8], vec![0, 1, 3]));
        let of_saver = owners.iter().filter(|(_, owner)| **owner == Role::Saver.who().index() as u32);
        assert_eq!(of_saver.count(), 10);
        // A little is left.
        let left: u64 = [(RECEIVE, 8), (CHANGE, 3)]
            .map(|(branch, index)| held(&address(branch, index).script_pubkey()))
            .iter()
            .sum();
        assert!((50 * CENT..100 * CENT).contains(&left), "{left}");
        let named = actors().unwrap().into_iter().find(|actor| actor.name == "saver").unwrap();
        assert_eq!(named.addresses, SALES.map(|(_, index, _)| address(RECEIVE, index)));
        assert_eq!(named.account_key, Some(SAVER_ACCOUNT_KEY));
    }
}
