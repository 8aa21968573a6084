//! Who is paid by an output of the mainnet shape, and with which other coins its coin will be spent.
//!
//! Coins that one transaction will spend are gathered before: a bundle is opened with the number of coins that it
//! wants, and waits until its owner was paid that many. So each transaction spends coins of one owner, and nothing has
//! to be searched for them. Measured figures stand at the [module above](super).

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::address::Address;
use super::pool::{Bundle, LiveCoin, LiveCoins};

/// Of 100 outputs, how many pay the sender.
const CHANGE: u32 = 22;
/// Of 100 that do, how many pay the address of the first input; the others pay a new one.
const CHANGE_TO_INPUT: u32 = 30;
/// Of 100 bundles that a payment opens, how many belong to an owner who was paid before, the n-th with a weight of
/// about 1/n, at its first address. The others belong to a new owner.
const POPULAR: u32 = 35;
/// Bundles of at least this many coins are opened by owners with as many addresses, or by the one with more addresses
/// of two who were paid before: mostly services gather many coins.
const LARGE: u32 = 6;
/// Of 100 waiting bundles, how many gather coins of one address only, as a wallet does that has no other.
const ONE_ADDRESS: u32 = 20;
/// Of 100 coins that join another bundle, how many pay a new address. The others pay one that the owner has, unless the
/// bundle was opened with just that.
const JOIN_NEW: u32 = 25;
/// While fewer bundles than this wait, a payment opens one; otherwise it joins one.
const WAITING: usize = 150;

/// Owners, and the bundles that wait.
#[derive(Debug)]
pub(super) struct Owners {
    /// How many addresses each owner has, by its number.
    has: Vec<u32>,
    /// Count of all addresses.
    addresses: u32,
    waiting: Vec<Waiting>,
    /// Numbers of coins that were drawn for bundles and wait for an owner with many addresses.
    large: Vec<u32>,
    /// Waiting bundles that have all their coins.
    full: Vec<u32>,
    /// Of 100 outputs, how many pay the busiest address.
    busiest_percent: u32,
    busiest: Waiting,
}

#[derive(Debug)]
struct Waiting {
    wanted: u32,
    /// The address that the bundle was opened with.
    address: Address,
    one_address: bool,
    coins: Vec<LiveCoin>,
}

/// Where the coin of an output goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// It will be spent alone.
    Alone,
    /// Into a waiting bundle.
    Waiting(u32),
    /// To other coins of the busiest address.
    Busiest,
}

impl Owners {
    /// `known` owners exist at first, and one more, who has the busiest address.
    pub(super) fn new(known: u32, busiest_percent: u32) -> Self {
        let busiest = Waiting { wanted: 1, address: Address::first(known), one_address: true, coins: Vec::new() };
        Self {
            has: vec![1; known as usize + 1],
            addresses: known + 1,
            waiting: Vec::new(),
            large: Vec::new(),
            full: Vec::new(),
            busiest_percent,
            busiest,
        }
    }

    /// Count of different addresses paid.
    pub(super) fn addresses(&self) -> u32 {
        self.addresses
    }

    /// Chooses whom an output pays; `sender` is who gets change.
    pub(super) fn choose(&mut self, rng: &mut ChaCha8Rng, sender: Option<Address>) -> (Address, Place) {
        // Without such an address nothing is drawn, so that the usual shape stays what it is.
        if self.busiest_percent > 0 && percent(rng, self.busiest_percent) {
            return (self.busiest.address, Place::Busiest);
        }
        if let Some(sender) = sender
            && percent(rng, CHANGE)
        {
            let address = if percent(rng, CHANGE_TO_INPUT) { sender } else { self.new_address(sender.owner) };
            let mut wanted = input_count(rng);
            while wanted >= LARGE && self.has[sender.owner as usize] < LARGE && self.large.len() < WAITING {
                self.large.push(wanted);
                wanted = input_count(rng);
            }
            return (address, self.open(rng, address, wanted));
        }
        if self.waiting.len() < WAITING {
            let wanted = self.large.pop().unwrap_or_else(|| input_count(rng));
            let owner = if wanted >= LARGE {
                let (one, other) = (self.popular(rng), self.popular(rng));
                if self.has[other as usize] > self.has[one as usize] { other } else { one }
            } else if percent(rng, POPULAR) {
                self.popular(rng)
            } else {
                self.new_owner()
            };
            let address = Address::first(owner);
            return (address, self.open(rng, address, wanted));
        }
        let index = rng.random_range(0..self.waiting.len());
        let Waiting { address, one_address, .. } = self.waiting[index];
        let address = if one_address {
            address
        } else if percent(rng, JOIN_NEW) {
            self.new_address(address.owner)
        } else {
            let n = rng.random_range(0..self.has[address.owner as usize]);
            if n == address.n { self.new_address(address.owner) } else { Address { n, ..address } }
        };
        (address, Place::Waiting(index as u32))
    }

    /// Puts the coin of an output into its place.
    pub(super) fn put(&mut self, rng: &mut ChaCha8Rng, pool: &mut LiveCoins, place: Place, coin: LiveCoin) {
        match place {
            Place::Alone => pool.add(rng, Bundle::alone(coin)),
            Place::Waiting(index) => {
                let waiting = &mut self.waiting[index as usize];
                waiting.coins.push(coin);
                if waiting.coins.len() == waiting.wanted as usize {
                    self.full.push(index);
                }
            }
            Place::Busiest => {
                self.busiest.coins.push(coin);
                if self.busiest.coins.len() >= self.busiest.wanted as usize {
                    self.busiest.wanted = input_count(rng);
                    if let Some(bundle) = Bundle::of(std::mem::take(&mut self.busiest.coins)) {
                        pool.add(rng, bundle);
                    }
                }
            }
        }
    }

    /// Ends a transaction: bundles that have all their coins can be spent. Before, places must stay valid.
    pub(super) fn settle(&mut self, rng: &mut ChaCha8Rng, pool: &mut LiveCoins) {
        // From the last on, so that what is moved into a gap is not one of them.
        self.full.sort_unstable();
        while let Some(index) = self.full.pop() {
            if let Some(bundle) = Bundle::of(self.waiting.swap_remove(index as usize).coins) {
                pool.add(rng, bundle);
            }
        }
    }

    /// A bundle that still waits, for when nothing else is left.
    pub(super) fn give_up_one(&mut self) -> Option<Bundle> {
        Bundle::of(self.waiting.pop()?.coins)
    }

    /// Opens a bundle of `wanted` coins; returns where its first coin goes.
    fn open(&mut self, rng: &mut ChaCha8Rng, address: Address, wanted: u32) -> Place {
        // Change opens bundles however many there are; with a busy address it could outnumber the coins that join them.
        if wanted == 1 || self.waiting.len() >= 2 * WAITING {
            return Place::Alone;
        }
        self.waiting.push(Waiting { wanted, address, one_address: percent(rng, ONE_ADDRESS), coins: Vec::new() });
        Place::Waiting(self.waiting.len() as u32 - 1)
    }

    /// An owner who was paid before: a random power of two up to the count, then evenly up to the next: integers, so
    /// that every machine draws the same.
    fn popular(&mut self, rng: &mut ChaCha8Rng) -> u32 {
        let known = self.has.len().max(1) as u32;
        let low = 1u32 << rng.random_range(0..=known.ilog2());
        rng.random_range(low..=low.saturating_mul(2) - 1).min(known) - 1
    }

    fn new_owner(&mut self) -> u32 {
        self.has.push(1);
        self.addresses = self.addresses.saturating_add(1);
        self.has.len() as u32 - 1
    }

    fn new_address(&mut self, owner: u32) -> Address {
        let has = &mut self.has[owner as usize];
        *has += 1;
        self.addresses = self.addresses.saturating_add(1);
        Address { owner, n: *has - 1 }
    }
}

fn percent(rng: &mut ChaCha8Rng, share: u32) -> bool {
    rng.random_range(0..100) < share
}

/// Inputs of a transaction; 2.52 on average.
fn input_count(rng: &mut ChaCha8Rng) -> u32 {
    match rng.random_range(0..10_000) {
        0..6_597 => 1,
        6_597..8_497 => 2,
        8_497..9_447 => rng.random_range(3..=5),
        9_447..9_907 => rng.random_range(6..=20),
        9_907..9_997 => rng.random_range(21..=80),
        _ => rng.random_range(100..=300),
    }
}
