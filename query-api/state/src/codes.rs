//! Codes that clients redeem for a key or a wallet session.

use crate::{
    CodeSecret, Key, KeyKind, MAX_LABEL_CHARS, NewKey, Revocation, Secret, State, StateError, keys, keys::to_stored,
    pool::sql,
};

/// A code to issue. All times are in seconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCode {
    /// Kind of the key that it gives.
    pub kind: KeyKind,
    /// Label of that key; may be empty.
    pub label: String,
    /// How long that key is valid, from its redemption on.
    pub valid_secs: u64,
    /// End of its redemption, since 1970.
    pub expires_at: u64,
}

/// A code, without its secret. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// Its public id, in hex.
    pub id: String,
    /// Kind of the key that it gives.
    pub kind: KeyKind,
    /// Label of that key; may be empty.
    pub label: String,
    /// How long that key is valid from its redemption on, in seconds.
    pub valid_secs: u64,
    /// Time of issue.
    pub created_at: u64,
    /// End of its redemption.
    pub expires_at: u64,
    /// Time of revocation; `None` if it is not revoked.
    pub revoked_at: Option<u64>,
    /// Time of redemption, and the id of the key that it gave; `None` if it is not redeemed.
    pub redeemed: Option<(u64, String)>,
}

/// State of a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeState {
    /// It can be redeemed.
    Open,
    /// It has given a key.
    Redeemed,
    /// It was revoked by an operator before it was redeemed.
    Revoked,
    /// Its time is over.
    Expired,
}

impl Code {
    /// Its state at a time (seconds since 1970).
    #[must_use]
    pub fn state(&self, now: u64) -> CodeState {
        if self.redeemed.is_some() {
            CodeState::Redeemed
        } else if self.revoked_at.is_some() {
            CodeState::Revoked
        } else if self.expires_at <= now {
            CodeState::Expired
        } else {
            CodeState::Open
        }
    }
}

/// Result of a redemption.
#[derive(Clone, Debug)]
pub enum Redemption {
    /// It gave this key, whose secret is returned only here.
    Done(Key, Secret),
    /// It gives no key; never [`CodeState::Open`].
    Not(CodeState),
    /// It was never issued here.
    Unknown,
}

const INSERT: &str = "INSERT INTO codes (id, secret_sha256, kind, label, valid_secs, created_at, expires_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const ALL: &str = "SELECT id, secret_sha256, kind, label, valid_secs, created_at, expires_at, revoked_at, redeemed_at, \
    key_id FROM codes ORDER BY created_at, id";
const ONE: &str = "SELECT id, secret_sha256, kind, label, valid_secs, created_at, expires_at, revoked_at, redeemed_at, \
    key_id FROM codes WHERE id = $1";
const REVOKE: &str = "UPDATE codes SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL AND redeemed_at IS NULL";
// The conditions make the row a lock: of concurrent redemptions one succeeds, even without the transaction around it.
const REDEEM: &str = "UPDATE codes SET redeemed_at = $1, key_id = $2 WHERE id = $3 AND redeemed_at IS NULL \
    AND revoked_at IS NULL AND expires_at > $1";

/// A stored row; the second column is the hash of the secret.
type StoredCode = (String, String, String, String, i64, i64, i64, Option<i64>, Option<i64>, Option<String>);

/// A code, and the hash of its secret.
fn code_of(row: StoredCode) -> Result<(Code, String), StateError> {
    let (id, hash, kind, label, valid_secs, created_at, expires_at, revoked_at, redeemed_at, key_id) = row;
    let time =
        |time: i64| u64::try_from(time).map_err(|_| StateError::Row(format!("code {id} has an invalid time: {time}")));
    let code = Code {
        kind: KeyKind::named(&kind)
            .ok_or_else(|| StateError::Row(format!("code {id} has an unknown kind: {kind:?}")))?,
        valid_secs: time(valid_secs)?,
        created_at: time(created_at)?,
        expires_at: time(expires_at)?,
        revoked_at: revoked_at.map(time).transpose()?,
        redeemed: redeemed_at.map(time).transpose()?.zip(key_id),
        label,
        id,
    };
    Ok((code, hash))
}

impl State {
    /// Issues a code. Its secret is returned only here; only its hash is stored. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the label is invalid, or if a time is out of range.
    pub async fn issue_code(&self, new: NewCode, now: u64) -> Result<(Code, CodeSecret), StateError> {
        if new.label.chars().count() > MAX_LABEL_CHARS || new.label.chars().any(char::is_control) {
            return Err(StateError::Label);
        }
        let (valid, created_at, end) = (to_stored(new.valid_secs)?, to_stored(now)?, to_stored(new.expires_at)?);
        if valid == 0 {
            return Err(StateError::Time);
        }
        self.ready().await?;
        let secret = CodeSecret::generate()?;
        let insert = sql(INSERT).bind(secret.id()).bind(secret.stored()).bind(new.kind.name());
        let insert = insert.bind(&new.label).bind(valid).bind(created_at).bind(end);
        insert.run(&self.pool, "cannot store the code").await?;
        self.changed().await;
        let code = Code {
            id: secret.id().to_owned(),
            kind: new.kind,
            label: new.label,
            valid_secs: new.valid_secs,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            redeemed: None,
        };
        Ok((code, secret))
    }

    /// All codes ever issued, oldest first.
    pub async fn codes(&self) -> Result<Vec<Code>, StateError> {
        self.ready().await?;
        let rows: Vec<StoredCode> = sql(ALL).all(&self.pool, "cannot list codes").await?;
        rows.into_iter().map(|row| code_of(row).map(|(code, _)| code)).collect()
    }

    async fn code(&self, id: &str) -> Result<Option<(Code, String)>, StateError> {
        let row: Option<StoredCode> = sql(ONE).bind(id).first(&self.reads, "cannot look up a code").await?;
        row.map(code_of).transpose()
    }

    /// Revokes the code with this id, so that it gives no key. One that was redeemed stays so: revoke its key.
    pub async fn revoke_code(&self, id: &str, now: u64) -> Result<Result<Revocation, Code>, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let changed = sql(REVOKE).bind(now).bind(id).run(&self.pool, "cannot revoke the code").await? > 0;
        if changed {
            self.changed().await;
            return Ok(Ok(Revocation::Done));
        }
        Ok(match self.code(id).await? {
            None => Ok(Revocation::Unknown),
            Some((code, _)) => match code.revoked_at {
                Some(at) => Ok(Revocation::Before(at)),
                None => Err(code),
            },
        })
    }

    /// Redeems a code for a key, once. `now` is in seconds since 1970. Code and key change in one transaction.
    pub async fn redeem(&self, code: &CodeSecret, now: u64) -> Result<Redemption, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        // The id is public, so the row is not used before the hash matches.
        let found = self.code(code.id()).await?.filter(|(_, hash)| code.is_of(hash));
        let Some((found, _)) = found else { return Ok(Redemption::Unknown) };
        let state = found.state(now);
        if state != CodeState::Open {
            return Ok(Redemption::Not(state));
        }
        let expires_at = Some(now.saturating_add(found.valid_secs));
        let new = NewKey { kind: found.kind, label: found.label, expires_at };
        let (end, secret) = (new.expires_at.map(to_stored).transpose()?, Secret::generate(new.kind)?);
        let what = "cannot redeem a code";
        let mut tx = self.pool.serialized().await?;
        let redeem = sql(REDEEM).bind(at).bind(secret.id()).bind(&found.id);
        let is_first = redeem.run(&mut tx, what).await? > 0;
        if is_first {
            let insert = sql(keys::INSERT).bind(secret.id()).bind(new.kind.name());
            let insert = insert.bind(hex::encode(secret.sha256())).bind(&new.label).bind(at).bind(end);
            insert.run(&mut tx, what).await?;
        }
        tx.end().await?;
        if is_first {
            self.changed().await;
            return Ok(Redemption::Done(Key::new(&secret, new, now), secret));
        }
        // Another request was first, or an operator.
        let found = self.code(&found.id).await?;
        Ok(found.map_or(Redemption::Unknown, |(code, _)| Redemption::Not(code.state(now))))
    }
}
