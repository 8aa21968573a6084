//! The demo chain: fifteen years of a small economy with named actors, on regtest.
//!
//! [`DEMO_BLOCKS`] blocks run from regtest's genesis (2011-02-02) to [`END_TIME`] (2025-12-31 00:00 UTC): most of them
//! two days apart, so that coins grow old, the last [`RECENT_BLOCKS`] ten minutes apart, so that "the last day" has
//! content. The actors and their addresses are the same for every seed; the seed decides who pays whom, and when.
//! Regtest halves the subsidy every 150 blocks, so nearly all money (about 15,000 BTC) is mined by height 1,000.
//! Unconfirmed transactions wait over the tip ([`chain_and_mempool`]): those sent in half an hour without a block.

mod actors;
mod half_hour;
mod life;
mod prices;
mod purses;
mod risk_cases;
mod risk_story;
mod theft;
mod unconfirmed;
mod wallet;

use std::collections::HashMap;

use bitcoin::{Address, ScriptBuf};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::build::{BlockSpec, Chain, Keyring};
use crate::error::Error;
use purses::Economy;
use risk_story::Cases;
use unconfirmed::MempoolBuilder;

pub use actors::{Actor, Showcase};
pub use prices::{DemoPrice, DemoRate, prices};
pub use risk_cases::{Question, RiskCase};
pub use theft::{SAVER_ACCOUNT_KEY, STOLEN_SATS};
pub use unconfirmed::{Unconfirmed, WAITING_SPAN};
pub use wallet::{DemoCoin, DemoDraft, DemoWallet, Payee, coin, script_of};

/// Height of the demo chain's tip.
pub const DEMO_BLOCKS: u32 = 3_000;
/// The blocks at the end that are ten minutes apart.
pub const RECENT_BLOCKS: u32 = 432;
/// Header time of the tip, Unix seconds: 2025-12-31 00:00 UTC.
pub const END_TIME: u32 = 1_767_139_200;
/// Regtest's genesis time, Unix seconds.
const START_TIME: u32 = 1_296_688_602;
/// Seconds of a day.
const DAY_SECS: u32 = 86_400;
/// The demo's keys do not depend on the seed, so that its addresses can be written down.
const KEY_SEED: u64 = 0xca12_de40;

/// Everyone with a name, with the addresses worth looking at.
pub fn actors() -> Result<Vec<Actor>, Error> {
    let mut ring = Keyring::new(KEY_SEED);
    let mut all = actors::list(&mut ring)?;
    all.extend(theft::list(&mut ring)?);
    Ok(all)
}

/// Participants of the cases of the last day whom the demo's labels name.
pub fn labelled_cases() -> Result<Vec<Actor>, Error> {
    risk_story::labelled(&mut Keyring::new(KEY_SEED))
}

/// Three addresses to ask about first: a busy one, one that slept, one whose coins never moved.
pub fn showcase() -> Result<[Showcase; 3], Error> {
    actors::showcase(&mut Keyring::new(KEY_SEED))
}

/// Generates the demo chain.
pub fn chain(seed: u64) -> Result<Chain, Error> {
    Ok(economy(seed)?.0.into_chain())
}

/// Generates the demo chain, and maps each script that a participant made to the number of that participant: the ground
/// truth for clusters. Joint transactions with equal outputs spend coins of several participants, all others those of
/// one.
pub fn chain_and_owners(seed: u64) -> Result<(Chain, HashMap<ScriptBuf, u32>), Error> {
    let (economy, _) = economy(seed)?;
    let owners = economy.owners();
    Ok((economy.into_chain(), owners))
}

/// Generates the demo chain, and what there is to ask about on its last day: a case for each detector of risk signals,
/// and one for each reason at which a trace of money stops.
pub fn chain_and_cases(seed: u64) -> Result<(Chain, Vec<RiskCase>), Error> {
    let (mut economy, cases) = economy(seed)?;
    let cases = risk_cases::of(&mut economy, &cases)?;
    Ok((economy.into_chain(), cases))
}

/// Generates the demo chain, and the transactions that wait over its tip: more than a thousand in the order in which
/// they came, parents first, enough for several blocks. All of them can be mined on the tip, except those that were
/// replaced.
pub fn chain_and_mempool(seed: u64) -> Result<(Chain, Vec<Unconfirmed>), Error> {
    let mut pool = MempoolBuilder::over(economy(seed)?.0);
    half_hour::pass(&mut pool)?;
    Ok(pool.into_parts())
}

fn economy(seed: u64) -> Result<(Economy, Cases), Error> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut economy = Economy::new(KEY_SEED, seed)?;
    let mut cases = Cases::default();
    for height in 1..=DEMO_BLOCKS {
        let time = block_time(height, &mut rng).max(economy.builder().median_time() + 1);
        // Now and then a rival block comes first and loses to the next one: a reorganization of one block.
        if height % 400 == 399 {
            let (tag, payees) = economy.rival()?;
            economy.builder().mine(&BlockSpec { time: Some(time), tag, payees, ..BlockSpec::default() })?;
            let parent = economy.builder().ancestor(1);
            economy.builder().checkout(&parent)?;
        }
        economy.live(height)?;
        cases.happen(&mut economy, height)?;
        economy.mine(height, time)?;
    }
    Ok((economy, cases))
}

/// The header time of a block: on a straight line, with a jitter that makes a few blocks go back in time.
fn block_time(height: u32, rng: &mut ChaCha8Rng) -> u32 {
    let left = DEMO_BLOCKS - height;
    if left < RECENT_BLOCKS {
        let jitter = if left == 0 { 0 } else { rng.random_range(0..900) };
        return END_TIME - left * 600 - jitter;
    }
    let recent = END_TIME - RECENT_BLOCKS * 600;
    let span = u64::from(recent - START_TIME - DAY_SECS);
    let straight = span * u64::from(height) / u64::from(DEMO_BLOCKS - RECENT_BLOCKS);
    START_TIME + straight as u32 + rng.random_range(0..80_000)
}

/// The address of a script, which the caller knows to have one.
fn address(script: &bitcoin::Script) -> Option<Address> {
    Address::from_script(script, bitcoin::Network::Regtest).ok()
}
