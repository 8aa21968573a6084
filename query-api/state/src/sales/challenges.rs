//! How challenges of L402 are offered, looked up and removed.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::{On, sql},
    reports::new_id,
    sales::{
        challenge::{Challenge, ChallengeStatus, NewChallenge, PAID_GRACE_SECS, StoredChallenge, challenge_columns},
        limits::{PURGED_AT_ONCE, SALES_KEPT_SECS},
    },
    votes::{ClientHashes, NEWEST as NEWEST_KEY},
};

/// Time in seconds during which the same request of a client gets the same challenge.
pub const SAME_CHALLENGE_SECS: u64 = 60;
/// Maximum number of open challenges of one client.
pub const MAX_CHALLENGES_OF_CLIENT: u32 = 20;
/// Maximum number of open challenges. At the limit, new ones are refused until some are redeemed or end.
pub const MAX_OPEN_CHALLENGES: u32 = 10_000;

/// Answer to a request that must be paid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Offering {
    /// The challenge to give to the client: the one that was stored now, or its open one for the same request.
    Offered(Box<Challenge>),
    /// There is no such challenge, and one may be made. Only [`State::open_challenge`] returns it.
    Room,
    /// The client has [`MAX_CHALLENGES_OF_CLIENT`] open challenges.
    TooManyOfClient,
    /// [`MAX_OPEN_CHALLENGES`] are open.
    Full,
    /// The key of the hashes has changed meanwhile: compute them again.
    KeysChanged,
}

// A challenge in use was paid, and an invoice that has ended cannot be: neither is offered again.
const SAME: &str = challenge_columns!(
    "WHERE (client = $1 OR client = $2) AND fingerprint = $3 AND redeemed_at IS NULL AND created_at > $4 \
     AND invoice_expires_at > $5 AND (leased_until IS NULL OR leased_until <= $5) \
     ORDER BY created_at DESC, id DESC LIMIT 1"
);
const OPEN: &str = "SELECT count(*) FROM (SELECT 1 FROM l402_challenges WHERE redeemed_at IS NULL AND expires_at > $1 \
    LIMIT $2) AS open_ones";
const OPEN_OF_CLIENT: &str = "SELECT count(*) FROM (SELECT 1 FROM l402_challenges WHERE redeemed_at IS NULL \
    AND expires_at > $1 AND (client = $3 OR client = $4) LIMIT $2) AS open_ones";
const INSERT: &str = "INSERT INTO l402_challenges (id, token_id, payment_hash, root_key, macaroon, invoice, capability, \
    method, path_template, resource_path, fingerprint, client, price_sats, provider, created_at, invoice_expires_at, \
    expires_at, redeemable_until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
const BY_ID: &str = challenge_columns!("WHERE id = $1");
const BY_TOKEN: &str = challenge_columns!("WHERE token_id = $1");
const UNREDEEMED: &str = challenge_columns!(
    "WHERE sold_at IS NULL AND (redeemable_until > $1 OR (redeemable_until = $1 AND id > $2)) \
     ORDER BY redeemable_until, id LIMIT $3"
);
// The outer conditions hold also for a row that a request changes meanwhile.
const PURGE_UNSOLD: &str = "DELETE FROM l402_challenges WHERE sold_at IS NULL AND id IN (SELECT id FROM l402_challenges \
    WHERE sold_at IS NULL AND redeemable_until <= $1 AND (leased_until IS NULL OR leased_until <= $2) \
    ORDER BY redeemable_until LIMIT $3)";
const PURGE_SOLD: &str = "DELETE FROM l402_challenges WHERE redeemable_until <= $2 AND id IN (SELECT id FROM \
    l402_challenges WHERE sold_at <= $1 AND redeemable_until <= $2 AND (leased_until IS NULL OR leased_until <= $2) \
    ORDER BY sold_at LIMIT $3)";

/// Looks for the same challenge and for room.
async fn look(
    mut on: On<'_>,
    client: &ClientHashes,
    fingerprint: &[u8; 32],
    at: i64,
    since: i64,
) -> Result<Offering, StateError> {
    let what = "cannot look for a challenge";
    let newest: Option<i64> = sql(NEWEST_KEY).first_value(&mut on, what).await?;
    if newest != Some(client.number) {
        return Ok(Offering::KeysChanged);
    }
    let same = sql(SAME).bind(&client.current).bind(&client.previous).bind(fingerprint.as_slice());
    let same: Option<StoredChallenge> = same.bind(since).bind(at).first(&mut on, what).await?;
    if let Some(same) = same {
        return Ok(Offering::Offered(Box::new(same.read()?)));
    }
    let max = i64::from(MAX_CHALLENGES_OF_CLIENT);
    let open = sql(OPEN_OF_CLIENT).bind(at).bind(max).bind(&client.current).bind(&client.previous);
    if open.value::<i64>(&mut on, what).await? >= max {
        return Ok(Offering::TooManyOfClient);
    }
    let max = i64::from(MAX_OPEN_CHALLENGES);
    let open: i64 = sql(OPEN).bind(at).bind(max).value(&mut on, what).await?;
    Ok(if open >= max { Offering::Full } else { Offering::Room })
}

impl State {
    /// Looks for the challenge that a client was given for the same request in the last [`SAME_CHALLENGE_SECS`], and
    /// for room for another one. It only reads. `now` is in seconds since 1970.
    ///
    /// Making an invoice is slow, so it happens between this call and [`State::add_challenge`], without any lock.
    pub async fn open_challenge(
        &self,
        client: &ClientHashes,
        fingerprint: &[u8; 32],
        now: u64,
    ) -> Result<Offering, StateError> {
        let (at, since) = (to_stored(now)?, to_stored(now.saturating_sub(SAME_CHALLENGE_SECS))?);
        self.ready().await?;
        look(On::from(&self.reads), client, fingerprint, at, since).await
    }

    /// Stores a challenge, after the same tests as [`State::open_challenge`]. `now` is in seconds since 1970.
    ///
    /// Concurrent requests of one client for the same thing end with one row: the first one's. The others get that
    /// challenge, and nobody is given their invoices, which end unpaid.
    ///
    /// # Errors
    /// Fails if a text is too long or empty, if the price is 0, or if a time is out of range.
    pub async fn add_challenge(
        &self,
        new: NewChallenge,
        client: &ClientHashes,
        now: u64,
    ) -> Result<Offering, StateError> {
        new.check()?;
        let redeemable_until = new.expires_at.saturating_add(PAID_GRACE_SECS);
        let (at, since) = (to_stored(now)?, to_stored(now.saturating_sub(SAME_CHALLENGE_SECS))?);
        let (invoice_end, end) = (to_stored(new.invoice_expires_at)?, to_stored(new.expires_at)?);
        let (redeem_end, price, id) = (to_stored(redeemable_until)?, to_stored(new.price_sats)?, new_id("ch_")?);
        self.ready().await?;
        let mut tx = self.pool.serialized().await?;
        let found = look(On::from(&mut tx), client, &new.fingerprint, at, since).await?;
        if found != Offering::Room {
            return Ok(found);
        }
        let insert = sql(INSERT).bind(&id).bind(new.token_id.as_slice()).bind(new.payment_hash.as_slice());
        let insert = insert.bind(new.secrets.root_key.as_slice()).bind(&new.secrets.macaroon);
        let insert = insert.bind(&new.secrets.invoice).bind(&new.capability).bind(&new.method);
        let insert = insert.bind(&new.path_template).bind(&new.resource_path).bind(new.fingerprint.as_slice());
        let insert = insert.bind(&client.current).bind(price).bind(&new.provider).bind(at).bind(invoice_end);
        let insert = insert.bind(end).bind(redeem_end);
        insert.run(&mut tx, "cannot store a challenge").await?;
        tx.end().await?;
        let challenge = Challenge {
            id,
            content: new,
            created_at: now,
            redeemable_until,
            leased_until: None,
            redeemed_at: None,
            not_found: 0,
        };
        Ok(Offering::Offered(Box::new(challenge)))
    }

    /// The challenge of a token, with the root key that verifies its macaroon. It only reads.
    pub async fn challenge_of_token(&self, token_id: &[u8; 32]) -> Result<Option<Challenge>, StateError> {
        self.ready().await?;
        let row: Option<StoredChallenge> =
            sql(BY_TOKEN).bind(token_id.as_slice()).first(&self.reads, "cannot look up a challenge").await?;
        row.map(StoredChallenge::read).transpose()
    }

    /// The public part of the challenge with this id at `now` (seconds since 1970).
    pub async fn challenge_status(&self, id: &str, now: u64) -> Result<Option<ChallengeStatus>, StateError> {
        self.ready().await?;
        let row: Option<StoredChallenge> = sql(BY_ID).bind(id).first(&self.reads, "cannot look up a challenge").await?;
        Ok(row.map(StoredChallenge::read).transpose()?.map(|challenge| challenge.status(now)))
    }

    /// Challenges that were never redeemed, for a comparison with the payments that the backend knows: by the end of
    /// their redemption, at most `limit` of those after a position (that end, and the id).
    pub async fn unredeemed_challenges(
        &self,
        after: Option<(u64, &str)>,
        limit: u32,
    ) -> Result<Vec<Challenge>, StateError> {
        let (end, id) = after.unwrap_or_default();
        let (end, limit) = (to_stored(end)?, i64::from(limit));
        self.ready().await?;
        let rows: Vec<StoredChallenge> =
            sql(UNREDEEMED).bind(end).bind(id).bind(limit).all(&self.reads, "cannot list challenges").await?;
        rows.into_iter().map(StoredChallenge::read).collect()
    }

    /// Removes challenges that were never redeemed, `kept_secs` after the end of their redemption, and redeemed ones
    /// after [`SALES_KEPT_SECS`]; at most 1,000 of each. Returns their number: call again until it is 0. `now` is in
    /// seconds since 1970. The audit of operators stays.
    pub async fn purge_challenges(&self, now: u64, kept_secs: u64) -> Result<u64, StateError> {
        let (at, unsold) = (to_stored(now)?, to_stored(now.saturating_sub(kept_secs))?);
        let sold = to_stored(now.saturating_sub(SALES_KEPT_SECS))?;
        self.ready().await?;
        let mut removed = 0;
        for (purge, before) in [(PURGE_UNSOLD, unsold), (PURGE_SOLD, sold)] {
            let purge = sql(purge).bind(before).bind(at).bind(PURGED_AT_ONCE);
            removed += purge.run(&self.pool, "cannot remove old challenges").await?;
        }
        Ok(removed)
    }
}
