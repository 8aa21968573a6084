//! How a payment of x402 is taken for one request, before it is settled.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::on,
    sales::{
        MAX_NAME_BYTES, is_bounded,
        x402_payment::{
            NewX402Payment, StoredX402Payment, X402Payment, X402PaymentKey, X402PaymentState, payment_columns,
        },
    },
    serialized::serialized,
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

/// Binds a key to the first four parameters.
macro_rules! bind_key {
    ($query:expr, $key:expr) => {
        $query.bind(to_stored($key.chain_id)?).bind(&$key.asset).bind(&$key.payer).bind($key.nonce.as_slice())
    };
}
pub(super) use bind_key;

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
        let failed = || StateError::database("cannot take a payment");
        let key = &new.key;
        let (is_owed, fence) = serialized!(&self.pool, tx => {
            let found = bind_key!(sqlx::query_as(ONE), key).fetch_optional(&mut *tx).await.map_err(failed())?;
            let found: Option<StoredX402Payment> = found;
            let found = found.map(StoredX402Payment::read).transpose()?;
            match found.map(|payment| step(payment, &new.fingerprint, now)) {
                None => {
                    let insert = bind_key!(sqlx::query(INSERT), key).bind(new.fingerprint.as_slice());
                    let insert = insert.bind(&new.capability).bind(amount).bind(&new.payload).bind(valid_before);
                    insert.bind(holder).bind(end).bind(at).execute(&mut *tx).await.map_err(failed())?;
                    (false, Some(1))
                }
                Some(Step::Retake) => {
                    let retake = bind_key!(sqlx::query_scalar(RETAKE), key).bind(new.fingerprint.as_slice());
                    let retake = retake.bind(&new.capability).bind(amount).bind(&new.payload).bind(valid_before);
                    let retake = retake.bind(holder).bind(end).bind(at);
                    (false, retake.fetch_optional(&mut *tx).await.map_err(failed())?)
                }
                Some(Step::Owe) => {
                    let lease = bind_key!(sqlx::query_scalar(LEASE_OWED), key).bind(holder).bind(end).bind(at);
                    (true, lease.fetch_optional(&mut *tx).await.map_err(failed())?)
                }
                Some(Step::Answer(answer)) => return Ok(answer),
            }
        });
        let Some(fence) = fence else {
            // Its holder, whose lease has ended, has moved on meanwhile.
            return Ok(X402Taking::SameInProgress { until: now });
        };
        let lease = X402Lease { key: key.clone(), holder: holder.to_owned(), fence, expires_at };
        Ok(if is_owed { X402Taking::Owed(lease) } else { X402Taking::Taken(lease) })
    }

    /// The payment with this key.
    ///
    /// # Errors
    /// Fails if the number of the chain is out of range.
    pub async fn x402_payment(&self, key: &X402PaymentKey) -> Result<Option<X402Payment>, StateError> {
        self.ready().await?;
        let row: Option<StoredX402Payment> =
            on!(&self.reads, pool => bind_key!(sqlx::query_as(ONE), key).fetch_optional(pool).await)
                .map_err(StateError::database("cannot look up a payment"))?;
        row.map(StoredX402Payment::read).transpose()
    }
}
