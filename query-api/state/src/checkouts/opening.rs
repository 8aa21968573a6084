//! Opens checkouts, finds them, and removes old ones.

use crate::{
    ClaimSecret, IndexUse, State, StateError,
    checkouts::{
        checkout::{Checkout, CheckoutPayment, NewCheckout, StoredCheckout, checkout_columns},
        seen::CHECKOUT_WATCHED_SECS,
    },
    keys::to_stored,
    payments::{first_free, give_out, next_index},
    pool::{On, SqlTx, sql},
    reports::new_id,
    sales::limits::{MAX_LONG_BYTES, MAX_NAME_BYTES, PURGED_AT_ONCE, SALES_KEPT_SECS, is_bounded},
    votes::ClientHashes,
};

/// Maximum number of open checkouts. At the limit, new ones are refused until some are paid or expire.
pub const MAX_OPEN_CHECKOUTS: u32 = 10_000;
/// Maximum number of open checkouts of one client.
pub const MAX_CHECKOUTS_OF_CLIENT: u32 = 5;

/// An invoice to pay a checkout with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PaymentInvoice {
    /// Kind of the node that made it.
    pub provider: String,
    /// Its payment hash.
    pub payment_hash: [u8; 32],
    /// The invoice (BOLT 11).
    pub invoice: String,
}

/// A checkout with the secret that its buyer shows.
#[derive(Clone, Debug)]
pub struct OpenedCheckout {
    /// The checkout.
    pub checkout: Checkout,
    /// The secret. It is returned only here; only its hash is stored.
    pub secret: ClaimSecret,
}

/// Result of opening a checkout.
#[derive(Clone, Debug)]
pub enum OpeningCheckout {
    /// It is stored.
    Opened(Box<OpenedCheckout>),
    /// One may be opened. Only [`State::checkout_room`] returns it.
    Room,
    /// The client has [`MAX_CHECKOUTS_OF_CLIENT`] open checkouts; the first of them expires at this time (seconds since
    /// 1970).
    TooManyOfClient {
        /// When one of them expires.
        until: u64,
    },
    /// [`MAX_OPEN_CHECKOUTS`] are open.
    Full,
}

const OPEN: &str = "SELECT count(*) FROM (SELECT 1 FROM checkouts WHERE first_paid_at IS NULL AND expires_at > $1 \
    LIMIT $2) AS open_ones";
const OPEN_OF_CLIENT: &str = "SELECT count(*), min(expires_at) FROM checkouts WHERE first_paid_at IS NULL \
    AND expires_at > $1 AND (client = $2 OR client = $3)";
const INSERT: &str = "INSERT INTO checkouts (id, claim_sha256, plan, price_sats, valid_secs, client, created_at, expires_at, \
    method, payment_script, payment_address, payment_hash, invoice, provider) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
const ONE: &str = checkout_columns!("WHERE id = $1");
const NEWEST: &str = checkout_columns!("ORDER BY created_at DESC, id DESC LIMIT $1");
const PURGE_UNPAID: &str = "DELETE FROM checkouts WHERE first_paid_at IS NULL AND received_sats = 0 AND id IN (SELECT id \
    FROM checkouts WHERE first_paid_at IS NULL AND received_sats = 0 AND expires_at <= $1 ORDER BY expires_at LIMIT $2)";
const PURGE_OLD: &str = "DELETE FROM checkouts WHERE id IN (SELECT id FROM checkouts WHERE expires_at <= $1 \
    AND (first_paid_at IS NULL OR first_paid_at + valid_secs <= $1) ORDER BY expires_at LIMIT $2)";

/// Looks for room for another open checkout of a client.
async fn look_for_room(mut on: On<'_>, client: &ClientHashes, at: i64) -> Result<OpeningCheckout, StateError> {
    let what = "cannot look for open checkouts";
    let of_client = sql(OPEN_OF_CLIENT).bind(at).bind(&client.current).bind(&client.previous);
    let (open, first): (i64, Option<i64>) = of_client.row(&mut on, what).await?;
    if open >= i64::from(MAX_CHECKOUTS_OF_CLIENT) {
        let until = first.and_then(|end| u64::try_from(end).ok()).unwrap_or_default();
        return Ok(OpeningCheckout::TooManyOfClient { until });
    }
    let max = i64::from(MAX_OPEN_CHECKOUTS);
    let open: i64 = sql(OPEN).bind(at).bind(max).value(&mut on, what).await?;
    Ok(if open >= max { OpeningCheckout::Full } else { OpeningCheckout::Room })
}

impl NewCheckout {
    fn check(&self) -> Result<(), StateError> {
        if !is_bounded(&self.plan, MAX_NAME_BYTES) || self.price_sats == 0 || self.valid_secs == 0 {
            return Err(StateError::Sale);
        }
        // The end of the pass must be a time, too.
        to_stored(self.expires_at.saturating_add(self.valid_secs))?;
        to_stored(self.price_sats).map(drop).map_err(|_| StateError::Sale)
    }
}

/// Texts and numbers of a new row, as the database has them.
struct Row<'a> {
    id: &'a str,
    secret: &'a ClaimSecret,
    new: &'a NewCheckout,
    client: &'a ClientHashes,
    now: u64,
}

async fn insert(tx: &mut SqlTx<'_>, row: &Row<'_>, payment: &CheckoutPayment) -> Result<(), StateError> {
    let Row { id, secret, new, client, now } = row;
    let (script, address, hash, invoice, provider) = match payment {
        CheckoutPayment::OnChain { script, address } => (Some(hex::encode(script)), Some(address), None, None, None),
        CheckoutPayment::Lightning { provider, payment_hash, invoice } => {
            (None, None, Some(payment_hash.as_slice()), Some(invoice), Some(provider))
        }
    };
    let insert = sql(INSERT).bind(*id).bind(secret.stored()).bind(&new.plan).bind(to_stored(new.price_sats)?);
    let insert = insert.bind(to_stored(new.valid_secs)?).bind(&client.current).bind(to_stored(*now)?);
    let insert = insert.bind(to_stored(new.expires_at)?).bind(payment.method()).bind(script).bind(address);
    insert.bind(hash).bind(invoice).bind(provider).run(tx, "cannot store a checkout").await.map(drop)
}

fn opened(row: Row<'_>, payment: CheckoutPayment) -> OpeningCheckout {
    let checkout = Checkout {
        id: row.id.to_owned(),
        content: row.new.clone(),
        created_at: row.now,
        payment,
        received_sats: 0,
        paid_at: None,
        paid_in: None,
        first_paid_at: None,
        reverted_at: None,
        judged_height: None,
        is_settled: false,
        claimed: None,
    };
    OpeningCheckout::Opened(Box::new(OpenedCheckout { checkout, secret: row.secret.clone() }))
}

impl State {
    /// Looks for room for another open checkout of a client. It only reads. `now` is in seconds since 1970.
    ///
    /// Making an invoice is slow, so it happens between this call and [`State::open_lightning_checkout`], without any
    /// lock.
    pub async fn checkout_room(&self, client: &ClientHashes, now: u64) -> Result<OpeningCheckout, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        look_for_room(On::from(&self.reads), client, at).await
    }

    /// Opens a checkout that is paid by an invoice. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if a text or a number is invalid, if the invoice pays another checkout, or if a time is out of range.
    pub async fn open_lightning_checkout(
        &self,
        new: NewCheckout,
        invoice: PaymentInvoice,
        client: &ClientHashes,
        now: u64,
    ) -> Result<OpeningCheckout, StateError> {
        new.check()?;
        if !is_bounded(&invoice.invoice, MAX_LONG_BYTES) || !is_bounded(&invoice.provider, MAX_NAME_BYTES) {
            return Err(StateError::Sale);
        }
        let (at, id, secret) = (to_stored(now)?, new_id("co_")?, ClaimSecret::generate()?);
        let PaymentInvoice { provider, payment_hash, invoice } = invoice;
        let payment = CheckoutPayment::Lightning { provider, payment_hash, invoice };
        let row = Row { id: &id, secret: &secret, new: &new, client, now };
        self.ready().await?;
        let mut tx = self.pool.serialized().await?;
        let room = look_for_room(On::from(&mut tx), client, at).await?;
        if !matches!(room, OpeningCheckout::Room) {
            return Ok(room);
        }
        insert(&mut tx, &row, &payment).await?;
        tx.end().await?;
        self.changed().await;
        Ok(opened(row, payment))
    }

    /// Opens a checkout that is paid on chain, and gives out an address of the descriptor to pay to: both or none. The
    /// counter of the descriptor must have begun. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if a text or a number is invalid, if no index is free, or if a time is out of range.
    pub async fn open_onchain_checkout(
        &self,
        new: NewCheckout,
        descriptor: &str,
        client: &ClientHashes,
        now: u64,
        look: impl Fn(u32) -> Option<IndexUse>,
    ) -> Result<OpeningCheckout, StateError> {
        new.check()?;
        let (at, id, secret) = (to_stored(now)?, new_id("co_")?, ClaimSecret::generate()?);
        let purpose = format!("checkout:{id}");
        let row = Row { id: &id, secret: &secret, new: &new, client, now };
        self.ready().await?;
        let mut tx = self.pool.serialized().await?;
        let room = look_for_room(On::from(&mut tx), client, at).await?;
        if !matches!(room, OpeningCheckout::Room) {
            return Ok(room);
        }
        let given = first_free(next_index(&mut tx, descriptor).await?, look)?;
        give_out(&mut tx, descriptor, &purpose, at, &given).await?;
        let payment = CheckoutPayment::OnChain { script: given.script, address: given.address };
        insert(&mut tx, &row, &payment).await?;
        tx.end().await?;
        self.changed().await;
        Ok(opened(row, payment))
    }

    /// The checkout with this id, if the secret is its own. The id is public, so the row is not used before.
    pub async fn checkout(&self, id: &str, secret: &ClaimSecret) -> Result<Option<Checkout>, StateError> {
        let found = self.stored_checkout(id).await?;
        found.filter(|row| secret.is_of(&row.claim_sha256)).map(StoredCheckout::read).transpose()
    }

    pub(super) async fn stored_checkout(&self, id: &str) -> Result<Option<StoredCheckout>, StateError> {
        self.ready().await?;
        sql(ONE).bind(id).first(&self.reads, "cannot look up a checkout").await
    }

    /// The newest checkouts, at most `limit`.
    pub async fn checkouts(&self, limit: u32) -> Result<Vec<Checkout>, StateError> {
        self.ready().await?;
        let rows: Vec<StoredCheckout> =
            sql(NEWEST).bind(i64::from(limit)).all(&self.reads, "cannot list checkouts").await?;
        rows.into_iter().map(StoredCheckout::read).collect()
    }

    /// Removes checkouts for which nothing was ever paid, [`CHECKOUT_WATCHED_SECS`] after their expiry, and all others
    /// [`SALES_KEPT_SECS`] after their expiry and the end of their pass; at most 1,000 of each. Returns their number:
    /// call again until it is 0. `now` is in seconds since 1970. Addresses stay given out.
    pub async fn purge_checkouts(&self, now: u64) -> Result<u64, StateError> {
        let (unpaid, old) = (now.saturating_sub(CHECKOUT_WATCHED_SECS), now.saturating_sub(SALES_KEPT_SECS));
        self.ready().await?;
        let mut removed = 0;
        for (purge, before) in [(PURGE_UNPAID, to_stored(unpaid)?), (PURGE_OLD, to_stored(old)?)] {
            let purge = sql(purge).bind(before).bind(PURGED_AT_ONCE);
            removed += purge.run(&self.pool, "cannot remove old checkouts").await?;
        }
        if removed > 0 {
            self.changed().await;
        }
        Ok(removed)
    }
}
