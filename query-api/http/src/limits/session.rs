//! Wallet sessions and bridge keys of requests. An invalid one counts as absent, with a warning. An unreachable
//! database never fails a request.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use cairn_state::{BadSecret, KeyKind, Secret, State, Verdict};
use tokio::time::timeout;

use crate::{answers::meta::Warning, clock::now_ms};

/// The header of bridge keys.
pub(crate) const API_KEY: HeaderName = HeaderName::from_static("x-wr-api-key");

/// Cached sessions and keys. Each takes about 100 bytes.
const REMEMBERED: usize = 4096;
/// How long a request waits for the database.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time after a failure in which the database is not asked.
const PAUSE: Duration = Duration::from_secs(5);

/// Access of a request.
#[derive(Debug, Default)]
pub(crate) struct Access {
    /// True if it has a valid session or key.
    pub(crate) has_session: bool,
    /// Warnings about invalid sessions and keys.
    pub(crate) warnings: Vec<Warning>,
}

/// True if a request has a session or key, valid or not. Its answer must not be shared.
pub(crate) fn presents_any(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) || headers.contains_key(API_KEY)
}

/// Why a session or key counts as absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    Several,
    Scheme,
    Unknown,
    Mistyped,
    OtherHeader,
    Expired,
    Revoked,
    Unavailable,
}

/// Checks sessions and keys of requests.
pub(crate) struct Sessions {
    state: Option<State>,
    /// How long a valid secret is cached.
    keep: Duration,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// Keyed by the hash of the secret. The secret itself is not stored.
    valid: HashMap<[u8; 32], Valid>,
    /// The database failed and is not asked before this time.
    down_until: Option<Instant>,
}

/// A cached valid secret.
#[derive(Clone, Copy)]
struct Valid {
    /// End of the cache entry.
    until: Instant,
    /// Expiry of the secret in seconds since 1970, if it has one.
    expires_at: Option<u64>,
}

impl Memory {
    fn is_valid(&self, hash: &[u8; 32], now: Instant, unix: u64) -> bool {
        self.valid.get(hash).is_some_and(|v| now < v.until && v.expires_at.is_none_or(|end| unix < end))
    }

    fn remember(&mut self, hash: [u8; 32], valid: Valid, now: Instant) {
        if self.valid.len() >= REMEMBERED {
            self.valid.retain(|_, v| now < v.until);
        }
        // With more valid keys than entries, the database is asked more often.
        if self.valid.len() >= REMEMBERED {
            self.valid.clear();
        }
        self.valid.insert(hash, valid);
    }
}

impl Sessions {
    /// Checks against a database; without one, all are unknown.
    pub(crate) fn of(state: Option<State>, keep: Duration) -> Self {
        Sessions { state, keep, memory: Mutex::default() }
    }

    /// Checks the session or key of a request.
    pub(crate) async fn access(&self, headers: &HeaderMap) -> Access {
        let mut access = Access::default();
        for (name, kind) in [(header::AUTHORIZATION, KeyKind::Session), (API_KEY, KeyKind::Bridge)] {
            let mut values = headers.get_all(&name).iter();
            let Some(value) = values.next() else { continue };
            let judged = if values.next().is_some() { Err(Why::Several) } else { self.judge(value, kind).await };
            match judged {
                Ok(()) => access.has_session = true,
                Err(why) => access.warnings.push(warning(kind, why)),
            }
        }
        access
    }

    async fn judge(&self, value: &HeaderValue, kind: KeyKind) -> Result<(), Why> {
        let text = value.to_str().map_err(|_| Why::Unknown)?.trim();
        let token = match kind {
            KeyKind::Bridge => text,
            KeyKind::Session => {
                let (scheme, token) = text.split_once(' ').ok_or(Why::Scheme)?;
                if !scheme.eq_ignore_ascii_case("bearer") {
                    return Err(Why::Scheme);
                }
                token.trim_start()
            }
        };
        let secret: Secret = token.parse().map_err(|bad| match bad {
            BadSecret::Form => Why::Unknown,
            BadSecret::Check => Why::Mistyped,
        })?;
        if secret.kind() != kind {
            return Err(Why::OtherHeader);
        }
        self.look_up(&secret).await
    }

    async fn look_up(&self, secret: &Secret) -> Result<(), Why> {
        let state = self.state.as_ref().ok_or(Why::Unknown)?;
        let (hash, unix) = (secret.sha256(), now_ms() / 1000);
        {
            let (memory, now) = (self.memory(), Instant::now());
            if memory.is_valid(&hash, now, unix) {
                return Ok(());
            }
            if memory.down_until.is_some_and(|until| now < until) {
                return Err(Why::Unavailable);
            }
        }
        let failure = match timeout(PATIENCE, state.check(secret, unix)).await {
            Ok(Ok(Verdict::Valid(key))) => {
                let now = Instant::now();
                let valid = Valid { until: now + self.keep, expires_at: key.expires_at };
                self.memory().remember(hash, valid, now);
                return Ok(());
            }
            Ok(Ok(verdict)) => {
                self.memory().valid.remove(&hash);
                return Err(match verdict {
                    Verdict::Expired => Why::Expired,
                    Verdict::Revoked => Why::Revoked,
                    Verdict::Unknown | Verdict::Valid(_) => Why::Unknown,
                });
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(error = failure, "sessions and keys cannot be checked: they count as absent");
        self.memory().down_until = Some(Instant::now() + PAUSE);
        Err(Why::Unavailable)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The warning for the client. It never contains the secret.
fn warning(kind: KeyKind, why: Why) -> Warning {
    let (code, header, noun, elsewhere) = match kind {
        KeyKind::Session => (
            "authorization_ignored",
            "Authorization",
            "wallet session",
            "the key of a bridge pass; send it in X-WR-API-Key",
        ),
        KeyKind::Bridge => {
            ("api_key_ignored", "X-WR-API-Key", "key", "a wallet session; send it as `Authorization: Bearer <token>`")
        }
    };
    let what = match why {
        Why::Several => "is given more than once".to_owned(),
        Why::Scheme => "does not have the form `Bearer <token>`".to_owned(),
        Why::Unknown => format!("has no {noun} that this server issued"),
        Why::Mistyped => format!("has a mistyped or truncated {noun}"),
        Why::OtherHeader => format!("has {elsewhere}"),
        Why::Expired => format!("has an expired {noun}"),
        Why::Revoked => format!("has a revoked {noun}"),
        Why::Unavailable => "cannot be checked at present".to_owned(),
    };
    Warning::new(code, format!("the {header} header {what}; it counts as absent"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn valid(until: Instant, expires_at: Option<u64>) -> Valid {
        Valid { until, expires_at }
    }

    #[test]
    fn what_was_valid_counts_until_its_end_and_no_longer_than_it_is_kept() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut memory = Memory::default();
        memory.remember([1; 32], valid(start + 30 * second, None), start);
        memory.remember([2; 32], valid(start + 30 * second, Some(1_000)), start);
        assert!(memory.is_valid(&[1; 32], start + 29 * second, u64::MAX));
        assert!(!memory.is_valid(&[1; 32], start + 30 * second, 0));
        assert!(memory.is_valid(&[2; 32], start, 999) && !memory.is_valid(&[2; 32], start, 1_000));
        assert!(!memory.is_valid(&[3; 32], start, 0));
    }

    #[test]
    fn the_memory_is_bounded() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut memory = Memory::default();
        for n in 0..10 * REMEMBERED {
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&n.to_be_bytes());
            memory.remember(hash, valid(start + second, None), start);
            assert!(memory.valid.len() <= REMEMBERED);
            assert!(memory.is_valid(&hash, start, 0));
        }
        // What has ended goes first.
        memory.remember([9; 32], valid(start + 9 * second, None), start);
        while memory.valid.len() < REMEMBERED {
            let mut hash = [7; 32];
            hash[..8].copy_from_slice(&memory.valid.len().to_be_bytes());
            memory.remember(hash, valid(start + second, None), start);
        }
        memory.remember([8; 32], valid(start + 9 * second, None), start + 2 * second);
        assert_eq!(memory.valid.len(), 2);
        assert!(memory.is_valid(&[9; 32], start + 2 * second, 0));
    }

    #[tokio::test]
    async fn what_is_no_good_is_said_and_not_repeated() {
        let sessions = Sessions::of(None, Duration::ZERO);
        let session = "cairn_ses_000000000000_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        for (name, value, says) in [
            ("authorization", "Bearer hunter2", "holds no wallet session"),
            ("authorization", "Basic aHVudGVyMg==", "the form `Bearer <token>`"),
            ("authorization", "L402 hunter2:hunter2", "the form `Bearer <token>`"),
            ("authorization", "hunter2", "the form `Bearer <token>`"),
            ("authorization", "", "the form `Bearer <token>`"),
            ("authorization", &format!("Bearer {session}"), "mistyped or cut off"),
            ("x-wr-api-key", "hunter2", "holds no key that"),
            ("x-wr-api-key", "", "holds no key that"),
            ("x-wr-api-key", session, "mistyped"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            let access = sessions.access(&headers).await;
            assert!(presents_any(&headers) && !access.has_session);
            let [warning] = access.warnings.as_slice() else { panic!("{value}: {:?}", access.warnings) };
            assert!(warning.message.contains(says) && !warning.message.contains("hunter2"), "{warning:?}");
        }
        let mut headers = HeaderMap::new();
        headers.append(API_KEY, HeaderValue::from_static("a"));
        headers.append(API_KEY, HeaderValue::from_static("b"));
        headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").unwrap());
        let codes: Vec<_> = sessions.access(&headers).await.warnings.iter().map(|w| w.code).collect();
        assert_eq!(codes, ["authorization_ignored", "api_key_ignored"]);
        assert!(!presents_any(&HeaderMap::new()));
        let none = sessions.access(&HeaderMap::new()).await;
        assert!(!none.has_session && none.warnings.is_empty());
    }
}
