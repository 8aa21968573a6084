//! Bridge keys and wallet sessions.

use crate::{KeyKind, MAX_LABEL_CHARS, Secret, State, StateError, pool::sql};

/// A key to issue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewKey {
    /// Its kind.
    pub kind: KeyKind,
    /// Free text, for example the owner; may be empty.
    pub label: String,
    /// Expiry in seconds since 1970; `None` for no expiry.
    pub expires_at: Option<u64>,
}

/// A key, without its secret. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// Its public id, in hex.
    pub id: String,
    /// Its kind.
    pub kind: KeyKind,
    /// Free text, for example the owner; may be empty.
    pub label: String,
    /// Time of issue.
    pub created_at: u64,
    /// Expiry; `None` for no expiry.
    pub expires_at: Option<u64>,
    /// Time of revocation; `None` if it is not revoked.
    pub revoked_at: Option<u64>,
    /// Since when the chain lacks the payment of the checkout that gave it; `None` if it is not suspended.
    pub suspended_at: Option<u64>,
    /// Last use, to about a minute; `None` if it was never used.
    pub last_used_at: Option<u64>,
}

/// State of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyState {
    /// Valid.
    Active,
    /// Expired.
    Expired,
    /// Revoked by an operator.
    Revoked,
    /// Suspended until its payment is back.
    Suspended,
}

impl Key {
    pub(crate) fn new(secret: &Secret, new: NewKey, now: u64) -> Self {
        Key {
            id: secret.id().to_owned(),
            kind: new.kind,
            label: new.label,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            suspended_at: None,
            last_used_at: None,
        }
    }

    /// Its prefix and id: the public beginning of the secret.
    #[must_use]
    pub fn begins_with(&self) -> String {
        format!("{}{}", self.kind.prefix(), self.id)
    }

    /// Its state at a time (seconds since 1970).
    #[must_use]
    pub fn state(&self, now: u64) -> KeyState {
        if self.revoked_at.is_some() {
            KeyState::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            KeyState::Expired
        } else if self.suspended_at.is_some() {
            KeyState::Suspended
        } else {
            KeyState::Active
        }
    }
}

/// Result of checking a secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is valid; with its key.
    Valid(Key),
    /// It was issued here and has expired.
    Expired,
    /// It was issued here and is revoked.
    Revoked,
    /// It was issued here, and a reorganization took away the payment for it: it works again once that is back.
    Suspended,
    /// It was never issued here.
    Unknown,
}

/// Result of revoking a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Revocation {
    /// It is now revoked.
    Done,
    /// It was already revoked, at this time (seconds since 1970).
    Before(u64),
    /// There is no such key.
    Unknown,
}

pub(crate) const INSERT: &str = "INSERT INTO access_keys (id, kind, secret_sha256, label, created_at, expires_at) \
    VALUES ($1, $2, $3, $4, $5, $6)";
const COLUMNS_OF_ALL: &str = "SELECT id, kind, label, created_at, expires_at, revoked_at, suspended_at, last_used_at, \
    secret_sha256 FROM access_keys ORDER BY created_at, id";
const COLUMNS_OF_ONE: &str = "SELECT id, kind, label, created_at, expires_at, revoked_at, suspended_at, last_used_at, \
    secret_sha256 FROM access_keys WHERE id = $1";
const REVOKE: &str = "UPDATE access_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";

/// A stored row; the last column is the hash of the secret.
type StoredKey = (String, String, String, i64, Option<i64>, Option<i64>, Option<i64>, Option<i64>, String);

/// A time (seconds since 1970) as the database has it.
pub(crate) fn to_stored(time: u64) -> Result<i64, StateError> {
    i64::try_from(time).map_err(|_| StateError::Time)
}

/// A key, and the hash of its secret.
fn key_of(row: StoredKey) -> Result<(Key, String), StateError> {
    let (id, kind, label, created_at, expires_at, revoked_at, suspended_at, last_used_at, hash) = row;
    let time =
        |time: i64| u64::try_from(time).map_err(|_| StateError::Row(format!("key {id} has an invalid time: {time}")));
    let key = Key {
        kind: KeyKind::named(&kind)
            .ok_or_else(|| StateError::Row(format!("key {id} has an unknown kind: {kind:?}")))?,
        created_at: time(created_at)?,
        expires_at: expires_at.map(time).transpose()?,
        revoked_at: revoked_at.map(time).transpose()?,
        suspended_at: suspended_at.map(time).transpose()?,
        last_used_at: last_used_at.map(time).transpose()?,
        label,
        id,
    };
    Ok((key, hash))
}

impl State {
    /// Issues a key. The secret is returned only here; only its hash is stored. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the label is invalid, or if a time is out of range.
    pub async fn issue(&self, new: NewKey, now: u64) -> Result<(Key, Secret), StateError> {
        if new.label.chars().count() > MAX_LABEL_CHARS || new.label.chars().any(char::is_control) {
            return Err(StateError::Label);
        }
        let (created_at, expires_at) = (to_stored(now)?, new.expires_at.map(to_stored).transpose()?);
        self.ready().await?;
        let secret = Secret::generate(new.kind)?;
        let hash = hex::encode(secret.sha256());
        let insert = sql(INSERT).bind(secret.id()).bind(new.kind.name()).bind(hash).bind(&new.label);
        insert.bind(created_at).bind(expires_at).run(&self.pool, "cannot store the key").await?;
        self.changed().await;
        Ok((Key::new(&secret, new, now), secret))
    }

    /// All keys ever issued, oldest first.
    pub async fn keys(&self) -> Result<Vec<Key>, StateError> {
        self.ready().await?;
        let rows: Vec<StoredKey> = sql(COLUMNS_OF_ALL).all(&self.pool, "cannot list keys").await?;
        rows.into_iter().map(|row| key_of(row).map(|(key, _)| key)).collect()
    }

    async fn find(&self, id: &str) -> Result<Option<(Key, String)>, StateError> {
        let row: Option<StoredKey> = sql(COLUMNS_OF_ONE).bind(id).first(&self.reads, "cannot look up a key").await?;
        row.map(key_of).transpose()
    }

    /// Revokes the key with this id permanently. Callers that cache the result of [`State::check`] must drop it
    /// themselves.
    pub async fn revoke(&self, id: &str, now: u64) -> Result<Revocation, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let changed = sql(REVOKE).bind(now).bind(id).run(&self.pool, "cannot revoke the key").await?;
        if changed > 0 {
            self.changed().await;
            return Ok(Revocation::Done);
        }
        let before = self.find(id).await?.and_then(|(key, _)| key.revoked_at);
        Ok(before.map_or(Revocation::Unknown, Revocation::Before))
    }

    /// Checks a secret at `now` (seconds since 1970). It only reads, and never waits for a writer. The use of a valid
    /// one is recorded afterwards, at most once a minute; see [`State::uses_settled`].
    ///
    /// # Errors
    /// Fails if the database fails. A failure to record the use is only logged.
    pub async fn check(&self, secret: &Secret, now: u64) -> Result<Verdict, StateError> {
        self.ready().await?;
        let Some((key, hash)) = self.find(secret.id()).await? else { return Ok(Verdict::Unknown) };
        // The id is public, so the row is not used before the hash matches.
        if !secret.is_of(&hash) || key.kind != secret.kind() {
            return Ok(Verdict::Unknown);
        }
        match key.state(now) {
            KeyState::Revoked => Ok(Verdict::Revoked),
            KeyState::Expired => Ok(Verdict::Expired),
            KeyState::Suspended => Ok(Verdict::Suspended),
            KeyState::Active => {
                if let Ok(now) = to_stored(now) {
                    self.note_use(&key.id, key.last_used_at.and_then(|at| to_stored(at).ok()), now);
                }
                Ok(Verdict::Valid(key))
            }
        }
    }
}
