//! A paid checkout gives a key, once.

use crate::{
    Key, KeyKind, NewKey, Secret, State, StateError,
    checkouts::checkout::{Checkout, StoredCheckout},
    keys::{self, to_stored},
    pool::sql,
};

/// Result of a claim.
#[derive(Clone, Debug)]
pub enum Claiming {
    /// It gives this key, whose secret is returned only here.
    Done(Key, Secret),
    /// It gives no key: this is the checkout as it is now.
    Not(Box<Checkout>),
    /// There is no such checkout.
    Unknown,
}

// The conditions make the row a lock: of concurrent claims one succeeds, even without the transaction around it.
const CLAIM: &str = "UPDATE checkouts SET key_id = $1, claimed_at = $2 WHERE id = $3 AND key_id IS NULL \
    AND first_paid_at IS NOT NULL AND reverted_at IS NULL AND first_paid_at + valid_secs > $2";

impl State {
    /// Issues the key of a paid checkout, if it has not given one, if its payment is not reverted, and if its pass has
    /// not ended. `now` is in seconds since 1970. Checkout and key change in one transaction.
    ///
    /// The caller has checked the secret: see [`State::checkout`].
    pub async fn claim_checkout(&self, id: &str, now: u64) -> Result<Claiming, StateError> {
        let at = to_stored(now)?;
        let found = self.stored_checkout(id).await?.map(StoredCheckout::read).transpose()?;
        let Some(checkout) = found else { return Ok(Claiming::Unknown) };
        let Some(end) = checkout.pass_ends_at().filter(|_| checkout.claimed.is_none()) else {
            return Ok(Claiming::Not(Box::new(checkout)));
        };
        let new = NewKey { kind: KeyKind::Bridge, label: format!("checkout {id}"), expires_at: Some(end) };
        let (end, secret) = (to_stored(end)?, Secret::generate(new.kind)?);
        let what = "cannot claim a checkout";
        let mut tx = self.pool.serialized().await?;
        let claim = sql(CLAIM).bind(secret.id()).bind(at).bind(id);
        let is_first = claim.run(&mut tx, what).await? > 0;
        if is_first {
            let insert = sql(keys::INSERT).bind(secret.id()).bind(new.kind.name());
            let insert = insert.bind(hex::encode(secret.sha256())).bind(&new.label).bind(at).bind(Some(end));
            insert.run(&mut tx, what).await?;
        }
        tx.end().await?;
        if is_first {
            self.changed().await;
            return Ok(Claiming::Done(Key::new(&secret, new, now), secret));
        }
        // Another request was first, or the payment was reverted meanwhile.
        let found = self.stored_checkout(id).await?.map(StoredCheckout::read).transpose()?;
        Ok(found.map_or(Claiming::Unknown, |checkout| Claiming::Not(Box::new(checkout))))
    }
}
