//! How a paid challenge is used: one request takes a lease, answers, and redeems it.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::sql,
    reports::is_reason,
    sales::{
        challenge::Challenge,
        limits::{MAX_NAME_BYTES, is_bounded},
    },
};

/// Number of requests with an answer such as 404 after which a challenge counts as redeemed.
pub const MAX_NOT_FOUND_RELEASES: u32 = 5;
/// Time in seconds during which a challenge that an operator opened again can be redeemed, at least: a day.
pub const REOPENED_SECS: u64 = 86_400;

/// The lease of a challenge, as its holder has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChallengeLease {
    /// Id of the challenge.
    pub challenge_id: String,
    /// Name of the process that has it.
    pub holder: String,
    /// Its fencing number.
    pub fence: i64,
    /// When it ends by itself, in seconds since 1970.
    pub expires_at: u64,
}

/// Result of taking a lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Leasing {
    /// The caller alone has the challenge.
    Leased(ChallengeLease),
    /// Another request has it, also one of the same process.
    Busy {
        /// When that lease ends at the latest, in seconds since 1970.
        until: u64,
    },
    /// It was made for another request.
    OtherRequest,
    /// It was redeemed.
    Redeemed {
        /// When, in seconds since 1970.
        at: u64,
    },
    /// Its time is over.
    Expired,
    /// There is no such challenge.
    Unknown,
}

/// Why a lease is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// The request failed because of the server.
    Ours,
    /// The answer was that there is nothing, as 404 and 409. That is information too, so it counts. Give the lease back
    /// before the answer is sent.
    NotFound,
}

/// Result of giving a lease back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Releasing {
    /// The challenge can be used again.
    Open,
    /// It was the [last](MAX_NOT_FOUND_RELEASES) of its answers such as 404: the challenge is redeemed now.
    Redeemed,
    /// The lease is another one's by now, or has been given back or redeemed.
    LeaseLost,
}

/// Result of redeeming.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redeeming {
    /// It is on disk. Repeating it with the same lease gives this again, so a caller may do so after an error.
    Done,
    /// The lease is another one's by now, or has been given back: nothing may be answered.
    LeaseLost,
}

/// Result of opening a challenge again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reopening {
    /// It can be redeemed once more, until this time (seconds since 1970).
    Done {
        /// The end of its redemption.
        until: u64,
    },
    /// It was not redeemed, so there is nothing to open.
    NotRedeemed,
    /// It was opened before, at this time (seconds since 1970). That is possible once.
    Before(u64),
    /// There is no such challenge.
    Unknown,
}

/// A challenge that an operator opened again. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReopenedChallenge {
    /// Its id. The challenge itself may be removed by now.
    pub challenge_id: String,
    /// The operator's reason.
    pub reason: String,
    /// The redemption that was taken back.
    pub redeemed_at: u64,
    /// When it was opened again.
    pub reopened_at: u64,
}

// The conditions make the row a lock: of concurrent requests one gets it.
const LEASE: &str = "UPDATE l402_challenges SET holder = $1, fence = fence + 1, leased_until = $2 WHERE id = $3 \
    AND redeemed_at IS NULL AND redeemable_until > $4 AND (leased_until IS NULL OR leased_until <= $4) RETURNING fence";
// A repetition changes nothing. A lease that has ended is good as long as no other one was given.
const REDEEM: &str = "UPDATE l402_challenges SET redeemed_at = COALESCE(redeemed_at, $1), sold_at = COALESCE(sold_at, $1), \
    leased_until = NULL, client = NULL WHERE id = $2 AND holder = $3 AND fence = $4";
const RELEASE: &str = "UPDATE l402_challenges SET holder = NULL, leased_until = NULL \
    WHERE id = $1 AND holder = $2 AND fence = $3 AND redeemed_at IS NULL";
const RELEASE_NOT_FOUND: &str = "UPDATE l402_challenges SET holder = NULL, leased_until = NULL, not_found = not_found + 1, \
    redeemed_at = CASE WHEN not_found + 1 >= $4 THEN $5 END, \
    sold_at = CASE WHEN not_found + 1 >= $4 THEN COALESCE(sold_at, $5) ELSE sold_at END, \
    client = CASE WHEN not_found + 1 >= $4 THEN NULL ELSE client END \
    WHERE id = $1 AND holder = $2 AND fence = $3 AND redeemed_at IS NULL \
    RETURNING CAST(not_found >= $4 AS INTEGER)";
const STATE: &str = "SELECT redeemed_at, redeemable_until FROM l402_challenges WHERE id = $1";
const REOPENED_AT: &str = "SELECT reopened_at FROM l402_reopenings WHERE challenge_id = $1";
const NOTE_REOPENING: &str =
    "INSERT INTO l402_reopenings (challenge_id, reason, redeemed_at, reopened_at) VALUES ($1, $2, $3, $4)";
// The fencing number goes up, so that the lease that redeemed it counts for nothing.
const REOPEN: &str = "UPDATE l402_challenges SET redeemed_at = NULL, holder = NULL, leased_until = NULL, fence = fence + 1, \
    redeemable_until = $1 WHERE id = $2";

const REOPENINGS: &str = "SELECT challenge_id, reason, redeemed_at, reopened_at FROM l402_reopenings \
    ORDER BY reopened_at DESC, challenge_id LIMIT $1";

/// The reason why a challenge cannot be leased at a time; `None` if it can.
fn obstacle(challenge: &Challenge, fingerprint: &[u8; 32], now: u64) -> Option<Leasing> {
    if challenge.content.fingerprint != *fingerprint {
        Some(Leasing::OtherRequest)
    } else if let Some(at) = challenge.redeemed_at {
        Some(Leasing::Redeemed { at })
    } else if let Some(until) = challenge.leased_until.filter(|until| *until > now) {
        Some(Leasing::Busy { until })
    } else if challenge.redeemable_until <= now {
        Some(Leasing::Expired)
    } else {
        None
    }
}

impl State {
    /// Takes the challenge of a token for one request, for `ttl_secs`, which must be longer than a request may take.
    /// The caller has verified the macaroon and the preimage. `now` is in seconds since 1970.
    ///
    /// A challenge that cannot be used costs a look-up only. A lease whose process has died ends by its time.
    ///
    /// # Errors
    /// Fails if the name of the holder is empty or too long, or if a time is out of range.
    pub async fn lease_challenge(
        &self,
        token_id: &[u8; 32],
        fingerprint: &[u8; 32],
        holder: &str,
        ttl_secs: u64,
        now: u64,
    ) -> Result<Leasing, StateError> {
        if !is_bounded(holder, MAX_NAME_BYTES) {
            return Err(StateError::Sale);
        }
        let expires_at = now.saturating_add(ttl_secs);
        let (at, end) = (to_stored(now)?, to_stored(expires_at)?);
        let Some(challenge) = self.challenge_of_token(token_id).await? else { return Ok(Leasing::Unknown) };
        if let Some(obstacle) = obstacle(&challenge, fingerprint, now) {
            return Ok(obstacle);
        }
        let challenge_id = challenge.id;
        let fence: Option<i64> = sql(LEASE)
            .bind(holder)
            .bind(end)
            .bind(&challenge_id)
            .bind(at)
            .first_value(&self.pool, "cannot take a challenge")
            .await?;
        if let Some(fence) = fence {
            return Ok(Leasing::Leased(ChallengeLease { challenge_id, holder: holder.to_owned(), fence, expires_at }));
        }
        // Another request was first, and may have given it back by now.
        let Some(challenge) = self.challenge_of_token(token_id).await? else { return Ok(Leasing::Unknown) };
        Ok(obstacle(&challenge, fingerprint, now).unwrap_or(Leasing::Busy { until: now }))
    }

    /// Redeems a challenge. When this returns [`Redeeming::Done`], it is on disk, and the answer may be sent. `now` is
    /// in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the time is out of range. If the database fails, the challenge may be redeemed or not: repeat it.
    pub async fn redeem_challenge(&self, lease: &ChallengeLease, now: u64) -> Result<Redeeming, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        let redeem = sql(REDEEM).bind(at).bind(&lease.challenge_id).bind(&lease.holder).bind(lease.fence);
        let changed = redeem.run(&self.pool, "cannot redeem a challenge").await?;
        Ok(if changed > 0 { Redeeming::Done } else { Redeeming::LeaseLost })
    }

    /// Gives a lease back without an answer that counts. `now` is in seconds since 1970.
    pub async fn release_challenge(
        &self,
        lease: &ChallengeLease,
        why: Release,
        now: u64,
    ) -> Result<Releasing, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        let (id, holder, fence) = (&lease.challenge_id, &lease.holder, lease.fence);
        let what = "cannot give a challenge back";
        if why == Release::Ours {
            let changed = sql(RELEASE).bind(id).bind(holder).bind(fence).run(&self.pool, what).await?;
            return Ok(if changed > 0 { Releasing::Open } else { Releasing::LeaseLost });
        }
        let release = sql(RELEASE_NOT_FOUND).bind(id).bind(holder).bind(fence);
        let release = release.bind(i64::from(MAX_NOT_FOUND_RELEASES)).bind(at);
        let is_last: Option<i32> = release.first_value(&self.pool, what).await?;
        Ok(match is_last {
            None => Releasing::LeaseLost,
            Some(0) => Releasing::Open,
            Some(_) => Releasing::Redeemed,
        })
    }

    /// Opens a redeemed challenge once more, for example because its answer was lost with the connection. The audit
    /// keeps the reason. It can be redeemed for [`REOPENED_SECS`] at least; its answers such as 404 still count. `now`
    /// is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the reason is empty, too long or has control characters, or if the time is out of range.
    pub async fn reopen_challenge(&self, id: &str, reason: &str, now: u64) -> Result<Reopening, StateError> {
        if !is_reason(reason) {
            return Err(StateError::Sale);
        }
        let (at, least) = (to_stored(now)?, to_stored(now.saturating_add(REOPENED_SECS))?);
        self.ready().await?;
        let what = "cannot open a challenge again";
        let mut tx = self.pool.serialized().await?;
        let found = sql(STATE).bind(id).first(&mut tx, what).await?;
        let Some((redeemed_at, end)): Option<(Option<i64>, i64)> = found else { return Ok(Reopening::Unknown) };
        let before = sql(REOPENED_AT).bind(id).first_value(&mut tx, what).await?;
        if let Some(before) = before {
            let before: i64 = before;
            let bad = |_| StateError::Row(format!("challenge {id} was opened again at an invalid time"));
            return Ok(Reopening::Before(u64::try_from(before).map_err(bad)?));
        }
        let Some(redeemed_at) = redeemed_at else { return Ok(Reopening::NotRedeemed) };
        let note = sql(NOTE_REOPENING).bind(id).bind(reason).bind(redeemed_at).bind(at);
        note.run(&mut tx, what).await?;
        let until = end.max(least);
        sql(REOPEN).bind(until).bind(id).run(&mut tx, what).await?;
        tx.end().await?;
        self.changed().await;
        let bad = |_| StateError::Row(format!("challenge {id} has an invalid end"));
        Ok(Reopening::Done { until: u64::try_from(until).map_err(bad)? })
    }

    /// Challenges that operators opened again, the newest first, at most `limit`.
    pub async fn reopened_challenges(&self, limit: u32) -> Result<Vec<ReopenedChallenge>, StateError> {
        self.ready().await?;
        let rows: Vec<(String, String, i64, i64)> =
            sql(REOPENINGS).bind(i64::from(limit)).all(&self.reads, "cannot list challenges").await?;
        let reopened = |(challenge_id, reason, redeemed_at, reopened_at): (String, String, i64, i64)| {
            let bad = |_| StateError::Row(format!("challenge {challenge_id} was opened again at an invalid time"));
            let redeemed_at = u64::try_from(redeemed_at).map_err(bad)?;
            let reopened_at = u64::try_from(reopened_at).map_err(bad)?;
            Ok(ReopenedChallenge { challenge_id, reason, redeemed_at, reopened_at })
        };
        rows.into_iter().map(reopened).collect()
    }
}
