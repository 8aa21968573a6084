//! Bridge keys and wallet sessions.

use crate::{KeyKind, MAX_LABEL_CHARS, Secret, State, StateError, pool::on};

/// The use of a key is written down at most this often, in seconds.
const USE_INTERVAL: i64 = 60;

/// What is to be issued.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewKey {
    /// What for.
    pub kind: KeyKind,
    /// Whose it is, or the like; may be empty.
    pub label: String,
    /// When it ends to be valid, in seconds since 1970; `None`: never.
    pub expires_at: Option<u64>,
}

/// What is known of a key. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// Its public id, in hex.
    pub id: String,
    /// What it is for.
    pub kind: KeyKind,
    /// Whose it is, or the like; may be empty.
    pub label: String,
    /// When it was issued.
    pub created_at: u64,
    /// When it ends to be valid; `None`: never.
    pub expires_at: Option<u64>,
    /// When it was revoked; `None` if it was not.
    pub revoked_at: Option<u64>,
    /// When it was last used, to about a minute; `None` if it never was.
    pub last_used_at: Option<u64>,
}

/// Whether a key opens anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyState {
    /// It does.
    Active,
    /// Its time is over.
    Expired,
    /// An operator has ended it.
    Revoked,
}

impl Key {
    /// Its first characters, as whoever has it sees them: all of it that is public.
    #[must_use]
    pub fn begins_with(&self) -> String {
        format!("{}{}", self.kind.prefix(), self.id)
    }

    /// Whether it opens anything at a time (seconds since 1970).
    #[must_use]
    pub fn state(&self, now: u64) -> KeyState {
        if self.revoked_at.is_some() {
            KeyState::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            KeyState::Expired
        } else {
            KeyState::Active
        }
    }
}

/// What a presented secret is worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It opens the gates. With what is known of its key.
    Valid(Key),
    /// It was issued here, and its time is over.
    Expired,
    /// It was issued here, and an operator has ended it.
    Revoked,
    /// It was never issued here.
    Unknown,
}

/// What came of revoking a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Revocation {
    /// It was valid until now, unless it had expired.
    Done,
    /// It was revoked before, at this time (seconds since 1970).
    Before(u64),
    /// There is no such key.
    Unknown,
}

const INSERT: &str = "INSERT INTO access_keys (id, kind, secret_sha256, label, created_at, expires_at) \
    VALUES ($1, $2, $3, $4, $5, $6)";
const COLUMNS_OF_ALL: &str = "SELECT id, kind, label, created_at, expires_at, revoked_at, last_used_at, secret_sha256 \
    FROM access_keys ORDER BY created_at, id";
const COLUMNS_OF_ONE: &str = "SELECT id, kind, label, created_at, expires_at, revoked_at, last_used_at, secret_sha256 \
    FROM access_keys WHERE id = $1";
const REVOKE: &str = "UPDATE access_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";
const USED: &str = "UPDATE access_keys SET last_used_at = $1 \
    WHERE id = $2 AND (last_used_at IS NULL OR last_used_at <= $3)";

/// A row as it is stored; the last is the secret's hash.
type StoredKey = (String, String, String, i64, Option<i64>, Option<i64>, Option<i64>, String);

fn to_stored(time: u64) -> Result<i64, StateError> {
    i64::try_from(time).map_err(|_| StateError::Time)
}

/// A key, and the hash of its secret.
fn key_of(row: StoredKey) -> Result<(Key, String), StateError> {
    let (id, kind, label, created_at, expires_at, revoked_at, last_used_at, hash) = row;
    let time = |time: i64| u64::try_from(time).map_err(|_| StateError::Row(format!("key {id} has a time {time}")));
    let key = Key {
        kind: KeyKind::named(&kind).ok_or_else(|| StateError::Row(format!("key {id} is of kind {kind:?}")))?,
        created_at: time(created_at)?,
        expires_at: expires_at.map(time).transpose()?,
        revoked_at: revoked_at.map(time).transpose()?,
        last_used_at: last_used_at.map(time).transpose()?,
        label,
        id,
    };
    Ok((key, hash))
}

impl State {
    /// Issues a key. Its secret is given back this once; only its hash is kept. `now` in seconds since 1970.
    ///
    /// # Errors
    /// The label or a time cannot be kept, or the database fails.
    pub async fn issue(&self, new: NewKey, now: u64) -> Result<(Key, Secret), StateError> {
        if new.label.chars().count() > MAX_LABEL_CHARS || new.label.chars().any(char::is_control) {
            return Err(StateError::Label);
        }
        let (created_at, expires_at) = (to_stored(now)?, new.expires_at.map(to_stored).transpose()?);
        self.ready().await?;
        let secret = Secret::generate(new.kind)?;
        let hash = hex::encode(secret.sha256());
        on!(&self.pool, pool => {
            let insert = sqlx::query(INSERT).bind(secret.id()).bind(new.kind.name()).bind(hash).bind(&new.label);
            insert.bind(created_at).bind(expires_at).execute(pool).await.map(drop)
        })
        .map_err(StateError::database("cannot keep the key"))?;
        let key = Key {
            id: secret.id().to_owned(),
            kind: new.kind,
            label: new.label,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        Ok((key, secret))
    }

    /// All keys that were ever issued, oldest first.
    ///
    /// # Errors
    /// The database fails.
    pub async fn keys(&self) -> Result<Vec<Key>, StateError> {
        self.ready().await?;
        let rows: Vec<StoredKey> = on!(&self.pool, pool => sqlx::query_as(COLUMNS_OF_ALL).fetch_all(pool).await)
            .map_err(StateError::database("cannot list keys"))?;
        rows.into_iter().map(|row| key_of(row).map(|(key, _)| key)).collect()
    }

    async fn find(&self, id: &str) -> Result<Option<(Key, String)>, StateError> {
        let row: Option<StoredKey> =
            on!(&self.pool, pool => sqlx::query_as(COLUMNS_OF_ONE).bind(id).fetch_optional(pool).await)
                .map_err(StateError::database("cannot look up a key"))?;
        row.map(key_of).transpose()
    }

    /// Ends the key of an id, for good. Who already has an answer of [`State::check`] has to forget it by himself.
    ///
    /// # Errors
    /// The database fails.
    pub async fn revoke(&self, id: &str, now: u64) -> Result<Revocation, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let changed = on!(&self.pool, pool => {
            sqlx::query(REVOKE).bind(now).bind(id).execute(pool).await.map(|done| done.rows_affected())
        })
        .map_err(StateError::database("cannot revoke the key"))?;
        if changed > 0 {
            return Ok(Revocation::Done);
        }
        let before = self.find(id).await?.and_then(|(key, _)| key.revoked_at);
        Ok(before.map_or(Revocation::Unknown, Revocation::Before))
    }

    /// What a secret is worth now (seconds since 1970). The use of a valid one is written down, once a minute.
    ///
    /// # Errors
    /// The database fails. That the use cannot be written down is none.
    pub async fn check(&self, secret: &Secret, now: u64) -> Result<Verdict, StateError> {
        self.ready().await?;
        let Some((key, hash)) = self.find(secret.id()).await? else { return Ok(Verdict::Unknown) };
        // The id is public; only the hash proves anything, so nothing of the row is told before.
        if !secret.is_of(&hash) || key.kind != secret.kind() {
            return Ok(Verdict::Unknown);
        }
        match key.state(now) {
            KeyState::Revoked => Ok(Verdict::Revoked),
            KeyState::Expired => Ok(Verdict::Expired),
            KeyState::Active => {
                self.note_use(&key, now).await;
                Ok(Verdict::Valid(key))
            }
        }
    }

    async fn note_use(&self, key: &Key, now: u64) {
        let Ok(now) = to_stored(now) else { return };
        let before = now.saturating_sub(USE_INTERVAL);
        if key.last_used_at.and_then(|at| to_stored(at).ok()).is_some_and(|at| at > before) {
            return;
        }
        let noted = on!(&self.pool, pool => {
            sqlx::query(USED).bind(now).bind(&key.id).bind(before).execute(pool).await.map(drop)
        });
        if let Err(error) = noted.map_err(StateError::database("cannot note the use of a key")) {
            tracing::warn!(id = key.id, %error, "the use of a key was not written down");
        }
    }
}
