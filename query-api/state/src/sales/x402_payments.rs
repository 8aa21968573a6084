//! How a payment of x402 is taken for one request, before it is settled.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::{Statement, sql},
    sales::{
        limits::{MAX_NAME_BYTES, is_bounded},
        x402_payment::{
            NewX402Payment, StoredX402Payment, X402Payment, X402PaymentKey, X402PaymentState, payment_columns,
        },
    },
};

/// The lease of a payment, as its holder has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct X402Lease {
    /// Identifies the payment.
    pub key: X402PaymentKey,
    /// Name of the process that has it.
    pub holder: String,
    /// Its fencing number.
    pub fence: i64,
    /// When it ends by itself, in seconds since 1970.
    pub expires_at: u64,
}

/// Result of taking a payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum X402Taking {
    /// The caller alone has it, and may settle it: see [`State::begin_settling`].
    Taken(X402Lease),
    /// It is settled for this request, and its answer was never given out: the caller alone may do so, without another
    /// settlement. See [`State::deliver_x402_payment`].
    Owed(X402Lease),
    /// Another request has it for the same thing.
    SameInProgress {
        /// When that lease ends at the latest, in seconds since 1970.
        until: u64,
    },
    /// Its outcome is not known: find it out, and record it by [`State::reconcile_x402_payment`]. It is never settled
    /// again.
    Pending(Box<X402Payment>),
    /// It is settled, and the answer was given out.
    Used(Box<X402Payment>),
    /// Its settlement was refused: the client has to sign another one.
    Refused(Box<X402Payment>),
    /// It pays another request.
    UsedElsewhere,
}

const INSERT: &str = "INSERT INTO x402_payments (chain_id, asset, payer, nonce, fingerprint, capability, amount, payload, \
    valid_before, state, holder, fence, leased_until, taken_at, changed_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'taken', $10, 1, $11, $12, $12)";
// A request that died before it settled has used nothing, so another request may use the payment.
const RETAKE: &str = "UPDATE x402_payments SET fingerprint = $5, capability = $6, amount = $7, payload = $8, \
    valid_before = $9, holder = $10, fence = fence + 1, leased_until = $11, taken_at = $12, changed_at = $12 \
    WHERE chain_id = $1 AND asset = $2 AND payer = $3 AND nonce = $4 AND state = 'taken' AND leased_until <= $12 \
    RETURNING fence";
const LEASE_OWED: &str = "UPDATE x402_payments SET holder = $5, fence = fence + 1, leased_until = $6 \
    WHERE chain_id = $1 AND asset = $2 AND payer = $3 AND nonce = $4 AND state = 'settled' AND delivered_at IS NULL \
    AND leased_until <= $7 RETURNING fence";
const ONE: &str = payment_columns!("WHERE chain_id = $1 AND asset = $2 AND payer = $3 AND nonce = $4");

/// Binds a key to the first four parameters of a statement.
pub(super) fn of_key<'q>(text: &'static str, key: &'q X402PaymentKey) -> Result<Statement<'q>, StateError> {
    let chain_id = to_stored(key.chain_id)?;
    Ok(sql(text).bind(chain_id).bind(&key.asset).bind(&key.payer).bind(key.nonce.as_slice()))
}

/// The step after looking at a payment that is known.
enum Step {
    /// Take it, since its request died before it settled.
    Retake,
    /// Take it to give its answer out.
    Owe,
    /// Nothing can be taken.
    Answer(X402Taking),
}

fn step(payment: X402Payment, fingerprint: &[u8; 32], now: u64) -> Step {
    let (is_same, until) = (payment.content.fingerprint == *fingerprint, payment.leased_until);
    let is_leased = until > now;
    let answer = match &payment.state {
        X402PaymentState::Taken if !is_leased => return Step::Retake,
        _ if !is_same => X402Taking::UsedElsewhere,
        X402PaymentState::Settled { delivered_at: Some(_), .. } => X402Taking::Used(Box::new(payment)),
        X402PaymentState::Refused { .. } => X402Taking::Refused(Box::new(payment)),
        X402PaymentState::Unknown { .. } => X402Taking::Pending(Box::new(payment)),
        X402PaymentState::Taken | X402PaymentState::Settling | X402PaymentState::Settled { .. } if is_leased => {
            X402Taking::SameInProgress { until }
        }
        X402PaymentState::Settled { .. } => return Step::Owe,
        X402PaymentState::Taken | X402PaymentState::Settling => X402Taking::Pending(Box::new(payment)),
    };
    Step::Answer(answer)
}

impl State {
    /// Takes a payment for one request, for `ttl_secs`, which must be longer than a request may take until it settles.
    /// The caller has verified the signature. `now` is in seconds since 1970.
    ///
    /// A payment that was used costs a look-up only. If the process of a request dies before it settles, the payment is
    /// free when the lease ends. If it dies later, the outcome is pending until somebody finds it out.
    ///
    /// # Errors
    /// Fails if a text is too long or empty, if an address has another form, or if a time or an amount is out of range.
    pub async fn take_x402_payment(
        &self,
        new: &NewX402Payment,
        holder: &str,
        ttl_secs: u64,
        now: u64,
    ) -> Result<X402Taking, StateError> {
        new.check()?;
        if !is_bounded(holder, MAX_NAME_BYTES) {
            return Err(StateError::Sale);
        }
        let expires_at = now.saturating_add(ttl_secs);
        let (at, end) = (to_stored(now)?, to_stored(expires_at)?);
        let (amount, valid_before) = (to_stored(new.amount)?, to_stored(new.valid_before)?);
        // Replays wait for no writer.
        if let Some(payment) = self.x402_payment(&new.key).await?
            && let Step::Answer(answer) = step(payment, &new.fingerprint, now)
        {
            return Ok(answer);
        }
        let what = "cannot take a payment";
        let key = &new.key;
        let mut tx = self.pool.serialized().await?;
        let found: Option<StoredX402Payment> = of_key(ONE, key)?.first(&mut tx, what).await?;
        let found = found.map(StoredX402Payment::read).transpose()?;
        let (is_owed, fence) = match found.map(|payment| step(payment, &new.fingerprint, now)) {
            None => {
                let insert = of_key(INSERT, key)?.bind(new.fingerprint.as_slice());
                let insert = insert.bind(&new.capability).bind(amount).bind(&new.payload).bind(valid_before);
                insert.bind(holder).bind(end).bind(at).run(&mut tx, what).await?;
                (false, Some(1))
            }
            Some(Step::Retake) => {
                let retake = of_key(RETAKE, key)?.bind(new.fingerprint.as_slice());
                let retake = retake.bind(&new.capability).bind(amount).bind(&new.payload).bind(valid_before);
                (false, retake.bind(holder).bind(end).bind(at).first_value(&mut tx, what).await?)
            }
            Some(Step::Owe) => {
                let lease = of_key(LEASE_OWED, key)?.bind(holder).bind(end).bind(at);
                (true, lease.first_value(&mut tx, what).await?)
            }
            Some(Step::Answer(answer)) => return Ok(answer),
        };
        tx.end().await?;
        let Some(fence) = fence else {
            // Its holder, whose lease has ended, has moved on meanwhile.
            return Ok(X402Taking::SameInProgress { until: now });
        };
        let lease = X402Lease { key: key.clone(), holder: holder.to_owned(), fence, expires_at };
        Ok(if is_owed { X402Taking::Owed(lease) } else { X402Taking::Taken(lease) })
    }

    /// The payment with this key.
    pub async fn x402_payment(&self, key: &X402PaymentKey) -> Result<Option<X402Payment>, StateError> {
        self.ready().await?;
        let row: Option<StoredX402Payment> = of_key(ONE, key)?.first(&self.reads, "cannot look up a payment").await?;
        row.map(StoredX402Payment::read).transpose()
    }
}
