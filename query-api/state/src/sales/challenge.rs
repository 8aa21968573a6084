//! Challenges of L402.

use std::fmt;

use crate::{
    StateError,
    named::named,
    pool::stored_row,
    sales::limits::{MAX_LONG_BYTES, MAX_NAME_BYTES, bytes32, is_bounded},
};

/// Time in seconds after the end of a challenge during which a proof of its payment still counts.
pub const PAID_GRACE_SECS: u64 = 600;

/// The parts of a challenge that are given to its client only, or to nobody. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub struct ChallengeSecrets {
    /// The key of the macaroon, which nobody is given.
    pub root_key: [u8; 32],
    /// The macaroon, as the client was given it.
    pub macaroon: String,
    /// The invoice (BOLT 11).
    pub invoice: String,
}

impl fmt::Debug for ChallengeSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChallengeSecrets")
    }
}

/// A challenge to store. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewChallenge {
    /// Id of the token, which stands in the macaroon. Random.
    pub token_id: [u8; 32],
    /// SHA-256 of the preimage that proves the payment.
    pub payment_hash: [u8; 32],
    /// Root key, macaroon and invoice.
    pub secrets: ChallengeSecrets,
    /// Name of the capability that is sold.
    pub capability: String,
    /// HTTP method of the request.
    pub method: String,
    /// The path with the names of its parameters.
    pub path_template: String,
    /// The path of the request.
    pub resource_path: String,
    /// SHA-256 of method, path, query and body of the request.
    pub fingerprint: [u8; 32],
    /// The price.
    pub price_sats: u64,
    /// Name of the backend that made the invoice.
    pub provider: String,
    /// When the invoice ends: not after the challenge.
    pub invoice_expires_at: u64,
    /// When the challenge ends. A proof of payment counts [`PAID_GRACE_SECS`] longer.
    pub expires_at: u64,
}

/// A stored challenge. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Challenge {
    /// Its public id.
    pub id: String,
    /// The offer.
    pub content: NewChallenge,
    /// When it was made.
    pub created_at: u64,
    /// The end of its redemption. It is later than usual if an operator has opened the challenge again, and then holds
    /// instead of an end that the macaroon names.
    pub redeemable_until: u64,
    /// Until when a request has it in use; `None` if none has.
    pub leased_until: Option<u64>,
    /// When it was redeemed; `None` if it was not, or if an operator has opened it again.
    pub redeemed_at: Option<u64>,
    /// Number of requests that it was released by after an answer such as 404.
    pub not_found: u64,
}

named! {
    /// State of a challenge for clients.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum ChallengeState {
        /// It can be paid and redeemed, or is being redeemed.
        Pending = "pending",
        /// It has given its answer.
        Redeemed = "redeemed",
        /// Its time is over.
        Expired = "expired",
    }
}

/// The public part of a challenge, for whoever knows its id. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChallengeStatus {
    /// Its id.
    pub id: String,
    /// Its state.
    pub state: ChallengeState,
    /// Name of the capability that is sold.
    pub capability: String,
    /// HTTP method of the request.
    pub method: String,
    /// The path with the names of its parameters.
    pub path_template: String,
    /// The path of the request.
    pub resource_path: String,
    /// The price.
    pub price_sats: u64,
    /// Name of the backend that made the invoice.
    pub provider: String,
    /// When it was made.
    pub created_at: u64,
    /// When it ends.
    pub expires_at: u64,
    /// When it was redeemed.
    pub redeemed_at: Option<u64>,
}

impl NewChallenge {
    pub(super) fn check(&self) -> Result<(), StateError> {
        let names = [&self.capability, &self.method, &self.provider];
        let longs = [&self.path_template, &self.resource_path, &self.secrets.macaroon, &self.secrets.invoice];
        let fits = names.into_iter().all(|name| is_bounded(name, MAX_NAME_BYTES))
            && longs.into_iter().all(|text| is_bounded(text, MAX_LONG_BYTES));
        if !fits {
            return Err(StateError::Sale);
        }
        if self.price_sats == 0 || i64::try_from(self.price_sats).is_err() {
            return Err(StateError::Sale);
        }
        if self.invoice_expires_at > self.expires_at { Err(StateError::Time) } else { Ok(()) }
    }
}

impl Challenge {
    /// Its state at a time (seconds since 1970). One that is being redeemed is pending.
    #[must_use]
    pub fn state(&self, now: u64) -> ChallengeState {
        if self.redeemed_at.is_some() {
            ChallengeState::Redeemed
        } else if self.redeemable_until > now || self.is_leased(now) {
            ChallengeState::Pending
        } else {
            ChallengeState::Expired
        }
    }

    /// True if a request has it in use.
    #[must_use]
    pub fn is_leased(&self, now: u64) -> bool {
        self.redeemed_at.is_none() && self.leased_until.is_some_and(|end| end > now)
    }

    /// Its public part at a time (seconds since 1970).
    #[must_use]
    pub fn status(self, now: u64) -> ChallengeStatus {
        ChallengeStatus {
            state: self.state(now),
            id: self.id,
            capability: self.content.capability,
            method: self.content.method,
            path_template: self.content.path_template,
            resource_path: self.content.resource_path,
            price_sats: self.content.price_sats,
            provider: self.content.provider,
            created_at: self.created_at,
            expires_at: self.content.expires_at,
            redeemed_at: self.redeemed_at,
        }
    }
}

/// Columns of a challenge, in a query that ends with `$rest`.
macro_rules! challenge_columns {
    ($rest:literal) => {
        concat!(
            "SELECT id, token_id, payment_hash, root_key, macaroon, invoice, capability, method, path_template, ",
            "resource_path, fingerprint, price_sats, provider, created_at, invoice_expires_at, expires_at, ",
            "redeemable_until, holder, fence, leased_until, not_found, redeemed_at, sold_at FROM l402_challenges ",
            $rest
        )
    };
}
pub(super) use challenge_columns;

stored_row! {
    pub(super) struct StoredChallenge {
        id: String,
        token_id: Vec<u8>,
        payment_hash: Vec<u8>,
        root_key: Vec<u8>,
        macaroon: String,
        invoice: String,
        capability: String,
        method: String,
        path_template: String,
        resource_path: String,
        fingerprint: Vec<u8>,
        price_sats: i64,
        provider: String,
        created_at: i64,
        invoice_expires_at: i64,
        expires_at: i64,
        redeemable_until: i64,
        holder: Option<String>,
        fence: i64,
        leased_until: Option<i64>,
        not_found: i64,
        redeemed_at: Option<i64>,
        sold_at: Option<i64>,
    }
}

impl StoredChallenge {
    pub(super) fn read(self) -> Result<Challenge, StateError> {
        let id = self.id.clone();
        let bad = |what: &str| StateError::Row(format!("challenge {id} {what}"));
        let number = |number: i64| u64::try_from(number).map_err(|_| bad("has an invalid time or number"));
        let hash = |bytes: Vec<u8>| bytes32(bytes).ok_or_else(|| bad("has a hash of another length"));
        number(self.fence)?;
        // A redeemed one keeps its last holder, but one that is open has both or neither.
        if self.redeemed_at.is_none() && self.holder.is_some() != self.leased_until.is_some() {
            return Err(bad("has half a lease"));
        }
        if self.redeemed_at.is_some() && self.sold_at.is_none() {
            return Err(bad("is redeemed and was not sold"));
        }
        self.sold_at.map(number).transpose()?;
        let root_key = hash(self.root_key)?;
        let content = NewChallenge {
            token_id: hash(self.token_id)?,
            payment_hash: hash(self.payment_hash)?,
            secrets: ChallengeSecrets { root_key, macaroon: self.macaroon, invoice: self.invoice },
            fingerprint: hash(self.fingerprint)?,
            price_sats: number(self.price_sats)?,
            invoice_expires_at: number(self.invoice_expires_at)?,
            expires_at: number(self.expires_at)?,
            capability: self.capability,
            method: self.method,
            path_template: self.path_template,
            resource_path: self.resource_path,
            provider: self.provider,
        };
        Ok(Challenge {
            content,
            created_at: number(self.created_at)?,
            redeemable_until: number(self.redeemable_until)?,
            leased_until: self.leased_until.map(number).transpose()?,
            redeemed_at: self.redeemed_at.map(number).transpose()?,
            not_found: number(self.not_found)?,
            id: self.id,
        })
    }
}
