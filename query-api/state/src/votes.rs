//! Votes about reports: one for each client in [`VOTE_WINDOW`]. A client stands here by a keyed hash of its address.
//! The key changes, and the hash under the key before still counts, so that a change forgives no vote.

use crate::{State, StateError, keys::to_stored, pool::sql, random::random, service_secret::ServiceSecret};

/// Time in seconds during which a client cannot vote again.
pub const VOTE_WINDOW: u64 = 86_400;

/// The two newest keys of the hashes of clients.
#[derive(Clone, Debug)]
pub struct ClientKeys {
    /// Number of the current one; it changes with the key.
    pub number: i64,
    /// The current key.
    pub current: ServiceSecret,
    /// The key before; `None` for the first one.
    pub previous: Option<ServiceSecret>,
}

/// A client by its hashes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientHashes {
    /// Number of the current key.
    pub number: i64,
    /// The hash under the current key.
    pub current: String,
    /// The hash under the key before; the current one again for the first key.
    pub previous: String,
}

impl ClientKeys {
    /// Returns the hashes of a client; `hash` computes one under a key.
    #[must_use]
    pub fn hashes(&self, hash: impl Fn(&ServiceSecret) -> String) -> ClientHashes {
        let current = hash(&self.current);
        let previous = self.previous.as_ref().map_or_else(|| current.clone(), hash);
        ClientHashes { number: self.number, current, previous }
    }
}

/// Result of a vote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Voting {
    /// It counts.
    Counted {
        /// Votes for the report.
        up: u64,
        /// Votes against it.
        down: u64,
    },
    /// The client has voted already.
    TooSoon {
        /// From when on it can vote again, in seconds since 1970.
        next: u64,
    },
    /// The key of the hashes has changed meanwhile: compute them again.
    KeysChanged,
    /// There is no such report.
    Unknown,
}

const KEYS: &str = "SELECT number, secret, since FROM client_keys ORDER BY number DESC LIMIT 2";
pub(crate) const NEWEST: &str = "SELECT number FROM client_keys ORDER BY number DESC LIMIT 1";
const ADD_KEY: &str = "INSERT INTO client_keys (number, secret, since) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
const DROP_KEYS: &str = "DELETE FROM client_keys WHERE number < $1";
const DROP_VOTERS: &str = "DELETE FROM report_voters WHERE voted_at <= $1";
const LAST_VOTE: &str = "SELECT max(voted_at) FROM report_voters WHERE client = $1 OR client = $2";
// The condition makes the row a lock: of concurrent votes one counts, even without the transaction around it.
const VOTED: &str = "INSERT INTO report_voters (client, voted_at) VALUES ($1, $2) ON CONFLICT (client) DO UPDATE SET \
    voted_at = excluded.voted_at WHERE report_voters.voted_at <= $3";
const COUNT: &str = "UPDATE reports SET up = up + $1, down = down + $2 WHERE id = $3";
const COUNTED: &str = "SELECT up, down FROM reports WHERE id = $1";

fn number(stored: i64) -> Result<u64, StateError> {
    u64::try_from(stored).map_err(|_| StateError::Row("a vote has a number below zero".to_owned()))
}

impl State {
    /// The keys of the hashes of clients at `now` (seconds since 1970). A key that is older than `period` seconds, and
    /// at least [`VOTE_WINDOW`], is replaced, and becomes the one before.
    pub async fn client_keys(&self, now: u64, period: u64) -> Result<ClientKeys, StateError> {
        let (at, period) = (to_stored(now)?, to_stored(period.max(VOTE_WINDOW))?);
        let what = "cannot read the keys of clients' hashes";
        self.ready().await?;
        let read = async || -> Result<Vec<(i64, String, i64)>, StateError> { sql(KEYS).all(&self.pool, what).await };
        let mut rows = read().await?;
        if rows.first().is_none_or(|(_, _, since)| since.saturating_add(period) <= at) {
            let last = rows.first().map_or(0, |(number, ..)| *number);
            self.replace_client_key(last, at).await?;
            rows = read().await?;
        }
        let mut keys = rows.into_iter().map(|(number, secret, _)| {
            let key = ServiceSecret::from_hex(&secret);
            key.map(|key| (number, key))
                .ok_or_else(|| StateError::Row("a key of clients' hashes is damaged".to_owned()))
        });
        let gone = || StateError::Row("the key of clients' hashes is gone".to_owned());
        let (number, current) = keys.next().transpose()?.ok_or_else(gone)?;
        Ok(ClientKeys { number, current, previous: keys.next().transpose()?.map(|(_, key)| key) })
    }

    /// Adds a key after the one of number `last`, unless another server was first. Votes wait meanwhile.
    async fn replace_client_key(&self, last: i64, now: i64) -> Result<(), StateError> {
        let what = "cannot write a key of clients' hashes";
        let voted = now.saturating_sub(to_stored(VOTE_WINDOW)?);
        let mut tx = self.pool.serialized().await?;
        let add = sql(ADD_KEY).bind(last.saturating_add(1)).bind(hex::encode(random::<32>()?)).bind(now);
        add.run(&mut tx, what).await?;
        sql(DROP_KEYS).bind(last).run(&mut tx, what).await?;
        sql(DROP_VOTERS).bind(voted).run(&mut tx, what).await?;
        tx.end().await?;
        Ok(())
    }

    /// Counts the vote of a client for a report, or against it. `now` is in seconds since 1970.
    pub async fn vote(&self, report: &str, client: &ClientHashes, is_up: bool, now: u64) -> Result<Voting, StateError> {
        let (at, window) = (to_stored(now)?, to_stored(VOTE_WINDOW)?);
        let what = "cannot count a vote";
        self.ready().await?;
        let mut tx = self.pool.serialized().await?;
        let newest: Option<i64> = sql(NEWEST).first_value(&mut tx, what).await?;
        if newest != Some(client.number) {
            return Ok(Voting::KeysChanged);
        }
        let last = sql(LAST_VOTE).bind(&client.current).bind(&client.previous);
        let last: Option<i64> = last.value(&mut tx, what).await?;
        if let Some(last) = last.filter(|last| last.saturating_add(window) > at) {
            return Ok(Voting::TooSoon { next: number(last.saturating_add(window))? });
        }
        let voted = sql(VOTED).bind(&client.current).bind(at).bind(at.saturating_sub(window));
        if voted.run(&mut tx, what).await? == 0 {
            return Ok(Voting::TooSoon { next: now.saturating_add(VOTE_WINDOW) });
        }
        let count = sql(COUNT).bind(i64::from(is_up)).bind(i64::from(!is_up)).bind(report);
        if count.run(&mut tx, what).await? == 0 {
            return Ok(Voting::Unknown);
        }
        let (up, down): (i64, i64) = sql(COUNTED).bind(report).row(&mut tx, what).await?;
        let counted = Voting::Counted { up: number(up)?, down: number(down)? };
        tx.end().await?;
        Ok(counted)
    }
}
