//! Random operations on challenges and payments, held against a model in memory that is as simple as can be.

use std::collections::BTreeMap;

use cairn_state::{
    ChallengeLease, ChallengeState, Leasing, MAX_CHALLENGES_OF_CLIENT, MAX_NOT_FOUND_RELEASES, Offering,
    PAID_GRACE_SECS, REOPENED_SECS, Redeeming, Release, Releasing, Reopening, SAME_CHALLENGE_SECS, State, X402Lease,
    X402Taking,
};

use crate::{
    damages::Random,
    database::TestDatabase,
    sales::{NOW, challenge, client},
    x402::{payment, refused, settled, unknown},
};

on_both!(challenges_do_as_the_model_does, payments_do_as_the_model_does);

const STEPS: usize = 500;
const SEEDS: u64 = 4;

/// A challenge of the model.
struct Row {
    client: usize,
    request: u8,
    created: u64,
    invoice_end: u64,
    end: u64,
    until: u64,
    fence: i64,
    /// Fence of the lease that counts, and when it ends; a redeemed one has no end.
    holder: Option<(i64, Option<u64>)>,
    not_found: u32,
    redeemed: Option<u64>,
    is_sold: bool,
    reopened: Option<u64>,
}

impl Row {
    fn is_leased(&self, now: u64) -> bool {
        self.redeemed.is_none() && self.holder.is_some_and(|(_, end)| end.is_some_and(|end| end > now))
    }
}

/// By number; the ids are those of the database.
#[derive(Default)]
struct Model(BTreeMap<u32, (String, Row)>);

/// Leaves out what the model does not know.
fn name_of(offering: &Offering) -> Result<String, Offering> {
    match offering {
        Offering::Offered(challenge) => Ok(challenge.id.clone()),
        other => Err(other.clone()),
    }
}

impl Model {
    fn same(&self, client: usize, request: u8, now: u64) -> Option<&String> {
        let is_same = |row: &Row| {
            row.client == client
                && row.request == request
                && row.redeemed.is_none()
                && !row.is_leased(now)
                && row.reopened.is_none()
                && now - row.created < SAME_CHALLENGE_SECS
                && row.invoice_end > now
        };
        let found = self.0.values().filter(|(_, row)| is_same(row)).max_by_key(|(id, row)| (row.created, id));
        found.map(|(id, _)| id)
    }

    fn open(&self, client: usize, request: u8, now: u64) -> Result<String, Offering> {
        if let Some(id) = self.same(client, request, now) {
            return Ok(id.clone());
        }
        let is_open =
            |row: &Row| row.client == client && row.redeemed.is_none() && row.reopened.is_none() && row.end > now;
        let open = self.0.values().filter(|(_, row)| is_open(row)).count();
        Err(if open >= MAX_CHALLENGES_OF_CLIENT as usize { Offering::TooManyOfClient } else { Offering::Room })
    }

    fn lease(&mut self, number: u32, request: u8, ttl: u64, now: u64) -> Leasing {
        let Some((id, row)) = self.0.get_mut(&number) else { return Leasing::Unknown };
        if row.request != request {
            return Leasing::OtherRequest;
        }
        if let Some(at) = row.redeemed {
            return Leasing::Redeemed { at };
        }
        if row.is_leased(now) {
            return Leasing::Busy { until: row.holder.unwrap().1.unwrap() };
        }
        if row.until <= now {
            return Leasing::Expired;
        }
        row.fence += 1;
        row.holder = Some((row.fence, Some(now + ttl)));
        let (challenge_id, holder) = (id.clone(), "a".to_owned());
        Leasing::Leased(ChallengeLease { challenge_id, holder, fence: row.fence, expires_at: now + ttl })
    }

    fn held(&mut self, lease: &ChallengeLease) -> Option<&mut Row> {
        let row = self.0.values_mut().find(|(id, _)| *id == lease.challenge_id).map(|(_, row)| row)?;
        (row.holder.map(|(fence, _)| fence) == Some(lease.fence)).then_some(row)
    }

    fn redeem(&mut self, lease: &ChallengeLease, now: u64) -> Redeeming {
        let Some(row) = self.held(lease) else { return Redeeming::LeaseLost };
        row.redeemed.get_or_insert(now);
        row.is_sold = true;
        Redeeming::Done
    }

    fn release(&mut self, lease: &ChallengeLease, why: Release, now: u64) -> Releasing {
        let Some(row) = self.held(lease).filter(|row| row.redeemed.is_none()) else { return Releasing::LeaseLost };
        row.holder = None;
        row.not_found += u32::from(why == Release::NotFound);
        if why == Release::NotFound && row.not_found >= MAX_NOT_FOUND_RELEASES {
            (row.redeemed, row.is_sold) = (Some(now), true);
            return Releasing::Redeemed;
        }
        Releasing::Open
    }

    fn reopen(&mut self, number: u32, now: u64) -> Reopening {
        let Some((_, row)) = self.0.get_mut(&number) else { return Reopening::Unknown };
        if let Some(at) = row.reopened {
            return Reopening::Before(at);
        }
        if row.redeemed.is_none() {
            return Reopening::NotRedeemed;
        }
        (row.redeemed, row.holder, row.reopened) = (None, None, Some(now));
        row.fence += 1;
        row.until = row.until.max(now + REOPENED_SECS);
        Reopening::Done { until: row.until }
    }

    fn state(&self, number: u32, now: u64) -> Option<ChallengeState> {
        let (_, row) = self.0.get(&number)?;
        Some(match row.redeemed {
            Some(_) => ChallengeState::Redeemed,
            None if row.until > now || row.is_leased(now) => ChallengeState::Pending,
            None => ChallengeState::Expired,
        })
    }

    fn purge(&mut self, now: u64, kept: u64) -> u64 {
        let before = self.0.len();
        self.0.retain(|_, (_, row)| row.is_sold || row.until + kept > now || row.is_leased(now));
        (before - self.0.len()) as u64
    }
}

async fn offer(state: &State, model: &mut Model, number: u32, random: &mut Random, now: u64) {
    let (of, request) = (random.below(2), random.below(45) as u8);
    let ann = client(state, &format!("client {of}"), now).await;
    let expected = model.open(of, request, now);
    let looked = state.open_challenge(&ann, &[request; 32], now).await.unwrap();
    assert_eq!(name_of(&looked), expected);
    let valid = 61 + random.below(400) as u64;
    let added = state.add_challenge(challenge(number, request, now, valid), &ann, now).await.unwrap();
    match (expected, name_of(&added)) {
        (Err(Offering::Room), Ok(id)) => {
            let row = Row {
                client: of,
                request,
                created: now,
                invoice_end: now + valid - 60,
                end: now + valid,
                until: now + valid + PAID_GRACE_SECS,
                fence: 0,
                holder: None,
                not_found: 0,
                redeemed: None,
                is_sold: false,
                reopened: None,
            };
            model.0.insert(number, (id, row));
        }
        (expected, added) => assert_eq!(added, expected),
    }
}

async fn challenges_do_as_the_model_does(database: &TestDatabase) {
    let state = database.open().await;
    let mut now = NOW;
    for seed in 0..SEEDS {
        let (mut random, mut model) = (Random(seed), Model::default());
        let mut leases: Vec<ChallengeLease> = Vec::new();
        let begin = seed as u32 * STEPS as u32;
        for step in 0..STEPS {
            let at = format!("seed {seed}, step {step}");
            now += [0, 0, 1, 3, 20][random.below(5)];
            let numbers: Vec<u32> = model.0.keys().copied().collect();
            // Mostly one of the newest, seldom one that there is not.
            let number = match random.below(20) {
                0 => u32::MAX,
                _ => numbers.iter().rev().nth(random.below(6)).copied().unwrap_or(u32::MAX),
            };
            let lease = leases.iter().rev().nth(random.below(3)).cloned();
            match (random.below(12), lease) {
                (0..4, _) => offer(&state, &mut model, begin + step as u32, &mut random, now).await,
                (4..7, _) => {
                    let of = model.0.get(&number).map_or(0, |(_, row)| row.request);
                    let (request, ttl) = (of ^ u8::from(random.below(9) == 0), 5 + random.below(30) as u64);
                    let token = challenge(number, 0, now, 60).token_id;
                    let taken = state.lease_challenge(&token, &[request; 32], "a", ttl, now).await.unwrap();
                    assert_eq!(taken, model.lease(number, request, ttl, now), "{at}");
                    if let Leasing::Leased(lease) = taken {
                        leases.push(lease);
                    }
                }
                (7, Some(lease)) => {
                    let done = state.redeem_challenge(&lease, now).await.unwrap();
                    assert_eq!(done, model.redeem(&lease, now), "{at}");
                }
                (8 | 9, Some(lease)) => {
                    let why = if random.below(3) == 0 { Release::Ours } else { Release::NotFound };
                    let done = state.release_challenge(&lease, why, now).await.unwrap();
                    assert_eq!(done, model.release(&lease, why, now), "{at}");
                }
                (10, _) => {
                    let id = model.0.get(&number).map_or("ch_0", |(id, _)| id).to_owned();
                    let done = state.reopen_challenge(&id, "why not", now).await.unwrap();
                    assert_eq!(done, model.reopen(number, now), "{at}");
                }
                _ if random.below(30) == 0 => {
                    now += 2_000;
                    assert_eq!(state.purge_challenges(now, 100).await.unwrap(), model.purge(now, 100), "{at}");
                }
                _ => {}
            }
            if let Some((id, _)) = model.0.get(&number) {
                let status = state.challenge_status(id, now).await.unwrap();
                assert_eq!(status.map(|status| status.state), model.state(number, now), "{at}");
            }
        }
        let sold = model.0.values().filter(|(_, row)| row.is_sold).count() as u64;
        let reported = state.sales_report(NOW, now).await.unwrap().iter().map(|row| row.count).sum::<u64>();
        assert_eq!(reported, sold, "seed {seed}");
        assert!(sold > 0 && model.0.values().any(|(_, row)| row.reopened.is_some()), "seed {seed} does something");
        database.execute("DELETE FROM l402_challenges").await;
    }
}

/// Steps of a payment in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Taken,
    Settling,
    Settled,
    Delivered,
    Refused,
    Unknown,
}

/// Step, request, fence and end of the lease.
type Paid = (Step, u8, i64, u64);

/// The name of an answer, with the fence of a lease or the end of another one's.
fn answer_of(taking: &X402Taking) -> (&'static str, u64) {
    match taking {
        X402Taking::Taken(lease) => ("taken", lease.fence as u64),
        X402Taking::Owed(lease) => ("owed", lease.fence as u64),
        X402Taking::SameInProgress { until } => ("in progress", *until),
        X402Taking::Pending(_) => ("pending", 0),
        X402Taking::Used(_) => ("used", 0),
        X402Taking::Refused(_) => ("refused", 0),
        X402Taking::UsedElsewhere => ("elsewhere", 0),
    }
}

fn model_take(all: &mut BTreeMap<u8, Paid>, nonce: u8, request: u8, now: u64, end: u64) -> (&'static str, u64) {
    let Some(paid) = all.get_mut(&nonce) else {
        all.insert(nonce, (Step::Taken, request, 1, end));
        return ("taken", 1);
    };
    let (step, of, fence, until) = *paid;
    let is_leased = until > now;
    match step {
        Step::Taken if !is_leased => {
            *paid = (Step::Taken, request, fence + 1, end);
            ("taken", fence as u64 + 1)
        }
        _ if of != request => ("elsewhere", 0),
        Step::Delivered => ("used", 0),
        Step::Refused => ("refused", 0),
        Step::Unknown => ("pending", 0),
        _ if is_leased => ("in progress", until),
        Step::Settled => {
            *paid = (Step::Settled, request, fence + 1, end);
            ("owed", fence as u64 + 1)
        }
        Step::Taken | Step::Settling => ("pending", 0),
    }
}

async fn payments_do_as_the_model_does(database: &TestDatabase) {
    let state = database.open().await;
    for seed in 0..SEEDS {
        let (mut random, mut model) = (Random(1_000 + seed), BTreeMap::<u8, Paid>::new());
        let (mut now, mut leases) = (NOW, Vec::<X402Lease>::new());
        let mut deliveries = BTreeMap::<u8, u32>::new();
        for step in 0..STEPS {
            let at = format!("seed {seed}, step {step}");
            now += [0, 1, 3, 12][random.below(4)];
            let (nonce, request, ttl) =
                (random.below(20) as u8, random.below(8) as u8 / 7, 5 + random.below(30) as u64);
            let end = now + ttl;
            let lease = leases.iter().rev().nth(random.below(4)).cloned();
            let outcome = [(Step::Settled, settled()), (Step::Refused, refused()), (Step::Unknown, unknown())]
                [random.below(3)]
            .clone();
            let mut held = lease
                .as_ref()
                .and_then(|lease| model.get_mut(&lease.key.nonce[0]).filter(|(_, _, fence, _)| *fence == lease.fence));
            match (random.below(10), lease.as_ref()) {
                (0..4, _) | (_, None) => {
                    let new = payment(nonce, request);
                    let taking = state.take_x402_payment(&new, "a", ttl, now).await.unwrap();
                    assert_eq!(answer_of(&taking), model_take(&mut model, nonce, request, now, end), "{at}");
                    if let X402Taking::Taken(lease) | X402Taking::Owed(lease) = taking {
                        leases.push(lease);
                    }
                }
                (4, Some(lease)) => {
                    let expected = held.as_mut().is_some_and(|paid| paid.0 == Step::Taken);
                    if let Some(paid) = held.filter(|_| expected) {
                        (paid.0, paid.3) = (Step::Settling, end);
                    }
                    assert_eq!(state.begin_settling(lease, ttl, now).await.unwrap(), expected, "{at}");
                }
                (5 | 6, Some(lease)) => {
                    let expected = held.as_mut().is_some_and(|paid| paid.0 == Step::Settling);
                    if let Some(paid) = held.filter(|_| expected) {
                        let step = if outcome.0 == Step::Settled { Step::Delivered } else { outcome.0 };
                        (paid.0, paid.3) = (step, now);
                        *deliveries.entry(lease.key.nonce[0]).or_default() += u32::from(step == Step::Delivered);
                    }
                    assert_eq!(state.finish_settling(lease, &outcome.1, now).await.unwrap(), expected, "{at}");
                }
                (7, Some(lease)) => {
                    let expected = held.as_mut().is_some_and(|paid| matches!(paid.0, Step::Settled | Step::Delivered));
                    if let Some(paid) = held.filter(|paid| paid.0 == Step::Settled) {
                        paid.0 = Step::Delivered;
                        *deliveries.entry(lease.key.nonce[0]).or_default() += 1;
                    }
                    assert_eq!(state.deliver_x402_payment(lease, now).await.unwrap(), expected, "{at}");
                }
                (8, Some(lease)) => {
                    let expected = held.as_mut().is_some_and(|paid| matches!(paid.0, Step::Settled | Step::Taken));
                    if let Some(paid) = held.filter(|_| expected) {
                        paid.3 = 0;
                    }
                    assert_eq!(state.release_x402_payment(lease).await.unwrap(), expected, "{at}");
                }
                _ => {
                    let paid = model
                        .get_mut(&nonce)
                        .filter(|paid| paid.0 == Step::Unknown || paid.0 == Step::Settling && paid.3 <= now);
                    let expected = paid.is_some();
                    if let Some(paid) = paid {
                        (paid.0, paid.2, paid.3) = (outcome.0, paid.2 + 1, now);
                    }
                    let key = payment(nonce, 0).key;
                    assert_eq!(state.reconcile_x402_payment(&key, &outcome.1, now).await.unwrap(), expected, "{at}");
                }
            }
            let open = state.open_settlements(now, 100).await.unwrap().len();
            let is_open = |paid: &Paid| paid.0 == Step::Unknown || paid.0 == Step::Settling && paid.3 <= now;
            assert_eq!(open, model.values().filter(|paid| is_open(paid)).count(), "{at}");
        }
        assert!(!deliveries.is_empty() && deliveries.values().all(|count| *count == 1), "{deliveries:?}");
        database.execute("DELETE FROM x402_payments").await;
    }
}
