//! Random operations on challenges of L402, held against a model in memory that is as simple as can be.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use cairn_state::{
    ChallengeLease, ChallengeState, Leasing, MAX_CHALLENGES_OF_CLIENT, MAX_NOT_FOUND_RELEASES, Offering,
    PAID_GRACE_SECS, REOPENED_SECS, Redeeming, Release, Releasing, Reopening, SAME_CHALLENGE_SECS, State,
};

use crate::{
    damages::Random,
    database::TestDatabase,
    sales::{NOW, challenge, client},
};

on_both!(challenges_do_as_the_model_does);

const STEPS: usize = 500;
const SEEDS: u64 = 3;

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

/// Notes the name of an answer.
fn note(seen: &mut BTreeSet<String>, answer: &impl Debug) {
    seen.insert(format!("{answer:?}").split([' ', '(', '{']).next().unwrap().to_owned());
}

async fn offer(state: &State, model: &mut Model, number: u32, random: &mut Random, now: u64) -> Offering {
    let (of, request) = (random.below(8) / 7, random.below(45) as u8);
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
    added
}

async fn challenges_do_as_the_model_does(database: &TestDatabase) {
    let state = database.open().await;
    let (mut now, mut seen) = (NOW, BTreeSet::new());
    for seed in 0..SEEDS {
        let (mut random, mut model) = (Random(seed), Model::default());
        let mut leases: Vec<ChallengeLease> = Vec::new();
        let begin = seed as u32 * STEPS as u32;
        for step in 0..STEPS {
            let at = format!("seed {seed}, step {step}");
            now += [0, 0, 0, 1, 9][random.below(5)];
            let numbers: Vec<u32> = model.0.keys().copied().collect();
            // Mostly one of the newest, seldom one that there is not.
            let number = match random.below(20) {
                0 => u32::MAX,
                1..4 if !numbers.is_empty() => numbers[random.below(numbers.len())],
                // Often a redeemed one, or one that was opened again.
                4..7 => {
                    let is_used = |row: &Row| if step % 2 == 0 { row.redeemed } else { row.reopened }.is_some();
                    model.0.iter().rev().find(|(_, (_, row))| is_used(row)).map_or(0, |(number, _)| *number)
                }
                _ => numbers.iter().rev().nth(random.below(6)).copied().unwrap_or(u32::MAX),
            };
            let lease = leases.iter().rev().nth(random.below(3)).cloned();
            match (random.below(12), lease) {
                (0..4, _) => {
                    let offering = offer(&state, &mut model, begin + step as u32, &mut random, now).await;
                    note(&mut seen, &offering);
                }
                (4..7, _) => {
                    let of = model.0.get(&number).map_or(0, |(_, row)| row.request);
                    let (request, ttl) = (of ^ u8::from(random.below(9) == 0), 5 + random.below(30) as u64);
                    let token = challenge(number, 0, now, 60).token_id;
                    let taken = state.lease_challenge(&token, &[request; 32], "a", ttl, now).await.unwrap();
                    assert_eq!(taken, model.lease(number, request, ttl, now), "{at}");
                    note(&mut seen, &taken);
                    if let Leasing::Leased(lease) = taken {
                        leases.push(lease);
                    }
                }
                (7, Some(lease)) => {
                    let done = state.redeem_challenge(&lease, now).await.unwrap();
                    assert_eq!(done, model.redeem(&lease, now), "{at}");
                    note(&mut seen, &done);
                }
                (8 | 9, Some(lease)) => {
                    let why = if random.below(3) == 0 { Release::Ours } else { Release::NotFound };
                    let done = state.release_challenge(&lease, why, now).await.unwrap();
                    assert_eq!(done, model.release(&lease, why, now), "{at}");
                    note(&mut seen, &done);
                }
                (10, _) => {
                    let id = model.0.get(&number).map_or("ch_0", |(id, _)| id).to_owned();
                    let done = state.reopen_challenge(&id, "why not", now).await.unwrap();
                    assert_eq!(done, model.reopen(number, now), "{at}");
                    note(&mut seen, &done);
                }
                _ if random.below(8) == 0 => {
                    now += 700;
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
        database.execute("DELETE FROM l402_challenges").await;
    }
    let expected = "Before Busy Done Expired LeaseLost Leased NotRedeemed Offered Open OtherRequest Redeemed TooManyOfClient \
                    Unknown";
    let seen: Vec<String> = seen.into_iter().collect();
    assert_eq!(seen.join(" "), expected, "the steps meet every answer");
}
