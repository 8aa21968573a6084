//! Wallet sessions and bridge keys of requests. An invalid one counts as absent, with a warning. An unreachable
//! database never fails a request.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use cairn_state::{BadSecret, KeyKind, Secret, State, Verdict};
use moka::{policy::EvictionPolicy, sync::Cache};
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::{access::headers::PAYMENT_SIGNATURE, answers::meta::Warning};

/// The header of bridge keys.
pub(crate) const API_KEY: HeaderName = HeaderName::from_static("x-wr-api-key");

/// Cached sessions and keys. Each takes about 200 bytes.
const REMEMBERED: u64 = 4096;
/// Maximum lifetime of a cache entry, whatever is configured.
const LONGEST: Duration = Duration::from_secs(86_400);
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

/// True if a request has a session, key or payment, valid or not. Its answer must not be shared.
pub(crate) fn presents_any(headers: &HeaderMap) -> bool {
    [header::AUTHORIZATION, API_KEY, PAYMENT_SIGNATURE].iter().any(|name| headers.contains_key(name))
}

/// Why a session or key counts as absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RejectionReason {
    Several,
    Scheme,
    Unknown,
    Mistyped,
    OtherHeader,
    Expired,
    Revoked,
    Suspended,
    Unavailable,
}

/// Checks sessions and keys of requests.
pub(crate) struct Sessions {
    state: Option<State>,
    /// Milliseconds since 1970.
    clock: fn() -> u64,
    /// Expiry of valid secrets in seconds since 1970, if they have one, keyed by the hash of the secret. The secret
    /// itself is not stored. With more valid keys than entries, the database is asked more often.
    valid: Cache<[u8; 32], Option<u64>>,
    /// The database failed and is not asked before this time.
    down_until: Mutex<Option<Instant>>,
}

impl Sessions {
    /// Checks against a database; without one, all are unknown. A valid secret is cached for `keep`.
    pub(crate) fn of(state: Option<State>, keep: Duration, clock: fn() -> u64) -> Self {
        let valid = Cache::builder().max_capacity(REMEMBERED).time_to_live(keep.min(LONGEST));
        let valid = valid.eviction_policy(EvictionPolicy::lru()).build();
        Sessions { state, clock, valid, down_until: Mutex::default() }
    }

    fn is_valid(&self, hash: &[u8; 32], unix: u64) -> bool {
        self.valid.get(hash).is_some_and(|expires_at| expires_at.is_none_or(|end| unix < end))
    }

    /// Checks the session or key of a request. Values of `Authorization` for which `is_proof` holds are left out.
    pub(crate) async fn access(&self, headers: &HeaderMap, is_proof: impl Fn(&[u8]) -> bool) -> Access {
        let mut access = Access::default();
        for (name, kind) in [(header::AUTHORIZATION, KeyKind::Session), (API_KEY, KeyKind::Bridge)] {
            let is_other = |value: &&HeaderValue| kind == KeyKind::Bridge || !is_proof(value.as_bytes());
            let mut values = headers.get_all(&name).iter().filter(is_other);
            let Some(value) = values.next() else { continue };
            let judged =
                if values.next().is_some() { Err(RejectionReason::Several) } else { self.judge(value, kind).await };
            match judged {
                Ok(()) => access.has_session = true,
                Err(why) => access.warnings.push(warning(kind, why)),
            }
        }
        access
    }

    async fn judge(&self, value: &HeaderValue, kind: KeyKind) -> Result<(), RejectionReason> {
        let text = value.to_str().map_err(|_| RejectionReason::Unknown)?.trim();
        let token = match kind {
            KeyKind::Bridge => text,
            KeyKind::Session => {
                let (scheme, token) = text.split_once(' ').ok_or(RejectionReason::Scheme)?;
                if !scheme.eq_ignore_ascii_case("bearer") {
                    return Err(RejectionReason::Scheme);
                }
                token.trim_start()
            }
        };
        let secret: Secret = token.parse().map_err(|bad| match bad {
            BadSecret::Form => RejectionReason::Unknown,
            BadSecret::Check => RejectionReason::Mistyped,
        })?;
        if secret.kind() != kind {
            return Err(RejectionReason::OtherHeader);
        }
        self.look_up(&secret).await
    }

    async fn look_up(&self, secret: &Secret) -> Result<(), RejectionReason> {
        let state = self.state.as_ref().ok_or(RejectionReason::Unknown)?;
        let (hash, unix) = (secret.sha256(), (self.clock)() / 1000);
        if self.is_valid(&hash, unix) {
            return Ok(());
        }
        if self.down_until.lock().is_some_and(|until| Instant::now() < until) {
            return Err(RejectionReason::Unavailable);
        }
        let failure = match timeout(PATIENCE, state.check(secret, unix)).await {
            Ok(Ok(Verdict::Valid(key))) => {
                self.valid.insert(hash, key.expires_at);
                return Ok(());
            }
            Ok(Ok(verdict)) => {
                self.valid.invalidate(&hash);
                return Err(match verdict {
                    Verdict::Expired => RejectionReason::Expired,
                    Verdict::Revoked => RejectionReason::Revoked,
                    Verdict::Suspended => RejectionReason::Suspended,
                    Verdict::Unknown | Verdict::Valid(_) => RejectionReason::Unknown,
                });
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(error = failure, "sessions and keys cannot be checked: they count as absent");
        *self.down_until.lock() = Some(Instant::now() + PAUSE);
        Err(RejectionReason::Unavailable)
    }
}

/// The warning for the client. It never contains the secret.
fn warning(kind: KeyKind, why: RejectionReason) -> Warning {
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
        RejectionReason::Several => "is given more than once".to_owned(),
        RejectionReason::Scheme => "does not have the form `Bearer <token>`".to_owned(),
        RejectionReason::Unknown => format!("has no {noun} that this server issued"),
        RejectionReason::Mistyped => format!("has a mistyped or truncated {noun}"),
        RejectionReason::OtherHeader => format!("has {elsewhere}"),
        RejectionReason::Expired => format!("has an expired {noun}"),
        RejectionReason::Revoked => format!("has a revoked {noun}"),
        RejectionReason::Suspended => format!(
            "has a {noun} whose payment a reorganization of the chain took away; it works again once that is confirmed again"
        ),
        RejectionReason::Unavailable => "cannot be checked at present".to_owned(),
    };
    Warning::new(code, format!("the {header} header {what}; it counts as absent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_for(keep: Duration) -> Sessions {
        Sessions::of(None, keep, || 0)
    }

    fn hash_of(number: u64) -> [u8; 32] {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        hash
    }

    #[test]
    fn what_was_valid_counts_until_its_end_and_no_longer_than_it_is_kept() {
        let sessions = kept_for(Duration::from_secs(3_600));
        sessions.valid.insert([1; 32], None);
        sessions.valid.insert([2; 32], Some(1_000));
        assert!(sessions.is_valid(&[1; 32], u64::MAX));
        assert!(sessions.is_valid(&[2; 32], 999) && !sessions.is_valid(&[2; 32], 1_000));
        assert!(!sessions.is_valid(&[3; 32], 0));

        let (keep, began) = (Duration::from_millis(100), Instant::now());
        let sessions = kept_for(keep);
        sessions.valid.insert([1; 32], None);
        while sessions.is_valid(&[1; 32], 0) {
            assert!(began.elapsed() < Duration::from_secs(20), "it counts for ever");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(began.elapsed() >= keep);
        let forgetful = kept_for(Duration::ZERO);
        forgetful.valid.insert([1; 32], None);
        assert!(!forgetful.is_valid(&[1; 32], 0));
    }

    #[test]
    fn the_memory_is_bounded() {
        let sessions = kept_for(Duration::MAX);
        for number in 0..10 * REMEMBERED {
            sessions.valid.insert(hash_of(number), None);
            assert!(sessions.is_valid(&hash_of(number), 0));
            // Entries in use stay.
            assert!(sessions.is_valid(&hash_of(0), 0), "{number}");
        }
        sessions.valid.run_pending_tasks();
        assert_eq!(sessions.valid.entry_count(), REMEMBERED);
        assert!(sessions.is_valid(&hash_of(10 * REMEMBERED - 1), 0) && !sessions.is_valid(&hash_of(1), 0));
    }

    #[tokio::test]
    async fn what_is_no_good_is_said_and_not_repeated() {
        let sessions = kept_for(Duration::ZERO);
        let session = "cairn_ses_000000000000_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        for (name, value, says) in [
            ("authorization", "Bearer hunter2", "has no wallet session"),
            ("authorization", "Basic aHVudGVyMg==", "the form `Bearer <token>`"),
            ("authorization", "L402 hunter2:hunter2", "the form `Bearer <token>`"),
            ("authorization", "hunter2", "the form `Bearer <token>`"),
            ("authorization", "", "the form `Bearer <token>`"),
            ("authorization", &format!("Bearer {session}"), "mistyped or truncated"),
            ("x-wr-api-key", "hunter2", "has no key that"),
            ("x-wr-api-key", "", "has no key that"),
            ("x-wr-api-key", session, "mistyped"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            let access = sessions.access(&headers, |_| false).await;
            assert!(presents_any(&headers) && !access.has_session);
            let [warning] = access.warnings.as_slice() else { panic!("{value}: {:?}", access.warnings) };
            assert!(warning.message.contains(says) && !warning.message.contains("hunter2"), "{warning:?}");
        }
        let mut headers = HeaderMap::new();
        headers.append(API_KEY, HeaderValue::from_static("a"));
        headers.append(API_KEY, HeaderValue::from_static("b"));
        headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").unwrap());
        let codes: Vec<_> = sessions.access(&headers, |_| false).await.warnings.iter().map(|w| w.code).collect();
        assert_eq!(codes, ["authorization_ignored", "api_key_ignored"]);
        let proof = sessions.access(&headers, |value| value.starts_with(b"Bearer")).await;
        assert_eq!(proof.warnings.len(), 1, "a proof of payment is not taken for a session");
        assert!(!presents_any(&HeaderMap::new()));
        let none = sessions.access(&HeaderMap::new(), |_| false).await;
        assert!(!none.has_session && none.warnings.is_empty());
    }
}
