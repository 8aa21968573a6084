//! The cases of the last day of the demo, as others see them.

use bitcoin::{Address, Script, ScriptBuf, Transaction, Txid};

use super::actors::Participant;
use super::address;
use super::purses::Economy;
use super::risk_story::{CARELESS, Cases, ROUND, Role};
use crate::build::Coin;
use crate::error::Error;

/// The question that shows a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The detectors of risk signals.
    Signals,
    /// The origin of the address's money, over at most this many transactions.
    Sources(u32),
    /// The way that it went, over at most this many transactions.
    Destinations(u32),
    /// Money from addresses on lists of sanctions, over at most this many transactions.
    Sanctions(u32),
}

/// An address of the demo chain that a detector of risk signals is about, or from which a trace stops for some reason.
#[derive(Clone, Debug)]
pub struct RiskCase {
    /// The detector, or the reason of the stop.
    pub id: &'static str,
    /// The question to ask.
    pub question: Question,
    /// The activity of the address, in a sentence.
    pub what: &'static str,
    /// The address (regtest).
    pub address: Address,
    /// Its transactions, in the order in which they were made.
    pub txids: Vec<Txid>,
}

/// The address that a case is about, and its steps.
enum Subject {
    Of(Role, &'static [&'static str]),
    /// Somebody whom a miner without a name paid with coins that he had mined.
    PaidByMiner,
    /// The first fixed address of a participant, and this many of the newest payments to it.
    Known(Participant, usize),
}

struct Case {
    id: &'static str,
    question: Question,
    subject: Subject,
    what: &'static str,
}

const fn case(id: &'static str, question: Question, subject: Subject, what: &'static str) -> Case {
    Case { id, question, subject, what }
}

/// Detectors in the order of their registry, then reasons to stop.
const CASES: [Case; 24] = {
    use Question::{Destinations, Sanctions, Signals, Sources};
    use Role::*;
    use Subject::{Known, Of, PaidByMiner};
    [
        case(
            "coinjoin_participation",
            Signals,
            Of(Staff(ROUND.start), &["coinjoin_participation"]),
            "brings a coin to a round of ten, and gets one of ten equal outputs at another address",
        ),
        case(
            "peel_chain",
            Signals,
            Of(Peel(0), &["peel_chain"]),
            "eight payments in a row, each leaves most to a new address",
        ),
        case(
            "address_reuse",
            Signals,
            Of(Reuser, &["address_reuse"]),
            "spends all that it has, and is paid again eight blocks later",
        ),
        case(
            "rapid_pass_through",
            Signals,
            Of(Gate, &["rapid_pass_through"]),
            "passes 0.5 BTC on three blocks after they came",
        ),
        case("fan_in", Signals, Of(Collector, &["fan_in"]), "is paid by twelve addresses in twelve blocks"),
        case(
            "fan_in",
            Signals,
            Known(Participant::Merchant, 12),
            "a shop's donation address, as labels say: a known service suppresses the signal",
        ),
        case("fan_out", Signals, Of(Payroll, &["fan_out"]), "pays 110 addresses with one transaction"),
        case(
            "dust_recipient",
            Signals,
            Of(Staff(CARELESS), &["dust_recipient", "careless"]),
            "gets 600 satoshis as 110 addresses do, and spends them with other coins",
        ),
        case("mixer_exposure", Signals, Of(AfterMixer, &["mixer_exposure"]), "is paid by the mixer"),
        case(
            "mixer_exposure",
            Signals,
            Of(SecondAfterMixer, &["mixer_exposure", "mixer_exposure_2"]),
            "is paid by an address that the mixer paid",
        ),
        case(
            "sanctioned_direct",
            Signals,
            Of(Courier, &["sanctioned_indirect", "sanctioned_after"]),
            "is on a list since the middle of the day, pays once before and once after that",
        ),
        case("sanctioned_indirect", Signals, Of(AfterCourier, &["sanctioned_indirect"]), "is paid by the courier"),
        case(
            "sanctioned_indirect",
            Signals,
            Of(SecondAfterCourier, &["sanctioned_indirect", "sanctioned_indirect_2"]),
            "is paid by an address that the courier paid",
        ),
        case(
            "not_examined",
            Signals,
            Known(Participant::Hot, 1),
            "the exchange's hot wallet: of its transactions, only the newest 1,000 are examined",
        ),
        case(
            "before_listing",
            Sanctions(2),
            Of(SecondAfterCourier, &["sanctioned_indirect", "sanctioned_indirect_2"]),
            "its money left the courier before the list named that address",
        ),
        case(
            "after_listing",
            Sanctions(1),
            Of(LateAfterCourier, &["sanctioned_after"]),
            "is paid by the courier after that",
        ),
        case(
            "service",
            Destinations(2),
            Of(Gate, &["rapid_pass_through", "service"]),
            "its money reaches a deposit address of the exchange with the second transaction",
        ),
        case(
            "coinjoin",
            Sources(2),
            Of(AfterRound, &["coinjoin_participation", "coinjoin"]),
            "is paid with an equal output of the round",
        ),
        case(
            "coinjoin",
            Destinations(2),
            Of(Staff(ROUND.start), &["coinjoin_participation"]),
            "its money goes into the round",
        ),
        case("coinbase", Sources(2), PaidByMiner, "is paid with coins that were just mined"),
        case(
            "busy",
            Destinations(2),
            Of(Patron, &["busy"]),
            "its money reaches a beacon with more than 1,000 transactions",
        ),
        case(
            "unspendable",
            Destinations(1),
            Of(Burner, &["unspendable"]),
            "leaves 5,000 satoshis in an OP_RETURN output",
        ),
        case(
            "hop_limit",
            Destinations(2),
            Of(Peel(0), &["peel_chain"]),
            "the peel chain goes on after two transactions",
        ),
        case("held", Destinations(1), Of(Staff(0), &["fan_in"]), "the collector keeps what it got"),
    ]
};

/// The cases of a finished chain.
pub(super) fn of(economy: &mut Economy, cases: &Cases) -> Result<Vec<RiskCase>, Error> {
    CASES.iter().map(|case| found(economy, cases, case)).collect()
}

fn found(economy: &mut Economy, cases: &Cases, case: &Case) -> Result<RiskCase, Error> {
    let missing = Error::Parameters("a chain without a transaction that a case is about");
    let (script, txids) = match case.subject {
        Subject::Of(role, steps) => (economy.fixed(role.who(), 0)?, cases.txids(steps)),
        Subject::PaidByMiner => {
            let (script, txid) = paid_by_miner(economy).ok_or(missing)?;
            (script, vec![txid])
        }
        Subject::Known(who, count) => {
            let script = economy.fixed(who, 0)?;
            let txids = newest_payments(economy, &script, count);
            (script, txids)
        }
    };
    let address = address(&script).ok_or(Error::UnknownScript(script))?;
    Ok(RiskCase { id: case.id, question: case.question, what: case.what, address, txids })
}

/// The newest transaction that spends nothing but coins that one of the people mined, and the address of another that
/// it pays.
fn paid_by_miner(economy: &Economy) -> Option<(ScriptBuf, Txid)> {
    spends(economy).find_map(|(tx, spent)| {
        let miner = economy.owner(&spent.first()?.txout.script_pubkey)?;
        let is_person = |who: &Participant| matches!(who, Participant::Person(_));
        if !is_person(&miner) || !spent.iter().all(|coin| coin.coinbase) {
            return None;
        }
        let is_other = |script: &Script| economy.owner(script).is_some_and(|who| is_person(&who) && who != miner);
        let paid = tx.output.iter().find(|output| is_other(&output.script_pubkey))?;
        Some((paid.script_pubkey.clone(), tx.compute_txid()))
    })
}

/// The newest transactions of others that pay a script, the oldest of them first.
fn newest_payments(economy: &Economy, to: &Script, count: usize) -> Vec<Txid> {
    let is_payment = |tx: &Transaction, spent: &[Coin]| {
        tx.output.iter().any(|output| output.script_pubkey.as_script() == to)
            && spent.iter().all(|coin| coin.txout.script_pubkey.as_script() != to)
    };
    let payments = spends(economy).filter(|(tx, spent)| is_payment(tx, spent)).take(count);
    let mut txids: Vec<Txid> = payments.map(|(tx, _)| tx.compute_txid()).collect();
    txids.reverse();
    txids
}

/// Transactions of the chain and what they spend, the newest first.
fn spends(economy: &Economy) -> impl Iterator<Item = (&Transaction, &Vec<Coin>)> {
    let active = economy.chain().active().into_iter().rev();
    active.flat_map(|mined| mined.block.txdata.iter().skip(1).zip(&mined.spent).rev())
}
