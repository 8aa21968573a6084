//! The state of a checkout: its payment is looked up, what follows is noted, and a paid one gives its key once.

use cairn_domain::mempool::Mempool;
use cairn_http::{PassMethod, SecretHeader};
use cairn_payments::CheckoutSight;
use cairn_state::{Checkout, CheckoutPayment, CheckoutState, ClaimSecret, Claiming, SeenPayment};

use super::pass_payment::{PassPayment, away, method_of};
use crate::{
    invoices::{InvoiceStatus, LightningUnavailable},
    operation::prelude::*,
    values::rfc3339_ms,
};

pub(crate) const SECRET: SecretHeader = SecretHeader { name: "X-Checkout-Secret", field: "checkout_secret" };

/// Which checkout is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CheckoutInput {
    /// Id of the checkout, from the answer that opened it.
    #[schemars(length(min = 1, max = 64), example = &"co_00000000000000000000000000000000")]
    checkout_id: String,
    /// `claim_secret` of the answer that opened it. Without the right one, the checkout is not found.
    #[schemars(
        example = &"cairn_claim_000000000000_0000000000000000000000000000000000000000000000000000000000000000b5d8e203"
    )]
    checkout_secret: Option<String>,
}

/// State of a checkout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckoutWord {
    /// It waits for its payment, or for confirmations of it.
    Open,
    /// It is paid.
    Paid,
    /// It was not paid in time.
    Expired,
    /// Less than the price is confirmed. It can be topped up until `top_up_until`.
    Underpaid,
    /// It was paid after `expires_at`, and counts as paid.
    Late,
    /// A reorganization of the chain took the payment away. The pass is suspended until the payment is confirmed again.
    Reverted,
}

impl From<CheckoutState> for CheckoutWord {
    fn from(state: CheckoutState) -> Self {
        match state {
            CheckoutState::Open => CheckoutWord::Open,
            CheckoutState::Paid => CheckoutWord::Paid,
            CheckoutState::Expired => CheckoutWord::Expired,
            CheckoutState::Underpaid => CheckoutWord::Underpaid,
            CheckoutState::Late => CheckoutWord::Late,
            CheckoutState::Reverted => CheckoutWord::Reverted,
        }
    }
}

/// Why an answer has no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoKey {
    /// The checkout is not paid.
    NotPaid,
    /// An earlier answer had it.
    ShownBefore,
    /// The payment is reverted.
    Reverted,
    /// The time of the pass is over.
    PassEnded,
    /// HEAD has no body to show it in.
    HeadRequest,
}

/// A checkout, with its payment as it is seen now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckoutOutput {
    checkout_id: String,
    state: CheckoutWord,
    plan_id: String,
    payment_method_id: PassMethod,
    /// The amount, and where to pay it.
    payment: PassPayment,
    created_at: String,
    /// Time until which it should be paid. A later payment in full is honoured while the checkout is kept.
    expires_at: String,
    /// Time until which an underpaid checkout can be topped up.
    top_up_until: String,
    /// Satoshis that have arrived: confirmed payments on chain, or the paid invoice.
    received_sats: Sats,
    /// Sum of unconfirmed payments to the address; null over Lightning, and while the mempool cannot be read.
    unconfirmed_sats: Option<Sats>,
    /// Satoshis that are missing, apart from unconfirmed payments.
    missing_sats: Sats,
    /// Satoshis paid beyond the price.
    overpaid_sats: Sats,
    /// Confirmations of the payment, counted from the block that completes it; 0 before. Null over Lightning, and while
    /// the index cannot say.
    confirmations: Option<u32>,
    /// When the payment became complete; null before.
    paid_at: Option<String>,
    /// When the pass began: the first time that the payment was accepted; null before.
    pass_begins_at: Option<String>,
    /// When the pass ends; null before it is paid.
    pass_ends_at: Option<String>,
    /// The key of the pass, in the first answer after the payment only. It cannot be shown again: keep it.
    api_key: Option<String>,
    /// Why there is no key in this answer; null if there is.
    api_key_reason: Option<NoKey>,
    /// Public id of the key, by which the operator knows it; null before it is shown.
    key_id: Option<String>,
    /// The request header that takes the key.
    header: &'static str,
    /// Explanation of the state, if there is something to explain; otherwise null.
    note: Option<String>,
}

/// Finds the checkout of a request.
///
/// # Errors
/// 404 `checkout_not_found`, also for a wrong secret and without one.
pub(super) fn find(ctx: &Ctx<'_>, input: CheckoutInput) -> Result<Checkout, ApiError> {
    let not_found = || {
        let detail = "this server has no checkout with the id and this secret; send the claim_secret of the answer that \
            opened it in the header X-Checkout-Secret";
        ApiError::new(ErrorCode::CheckoutNotFound, detail)
    };
    let secret = input.checkout_secret.unwrap_or_default();
    let secret: ClaimSecret = secret.trim().parse().map_err(|_| not_found())?;
    let id = input.checkout_id.trim();
    ctx.with_state(async |state| state.checkout(id, &secret).await)?.ok_or_else(not_found)
}

/// Runs `work` with the mempool as it is now, if it can be read together with the index.
pub(super) fn with_mempool<T>(ctx: &Ctx<'_>, view: &View<'_>, work: impl FnOnce(Option<&Mempool>) -> T) -> T {
    let pinned = ctx.slot.pin();
    work(pinned.absent(Some(&view.tip().hash)).is_none().then(|| pinned.mempool()))
}

/// A checkout with what is seen of its payment.
pub(super) struct FollowedCheckout {
    checkout: Checkout,
    /// The payment in the index and the mempool; `None` over Lightning, and while the index cannot say.
    sight: Option<CheckoutSight>,
    is_pool_read: bool,
}

impl FollowedCheckout {
    /// Looks up the payment, and notes what follows. The Lightning node is asked only if `asks_node` holds.
    pub(super) fn look(ctx: &Ctx<'_>, checkout: Checkout, asks_node: bool) -> Result<Self, ApiError> {
        let payment_hash = match &checkout.payment {
            CheckoutPayment::OnChain { .. } => return Self::on_chain(ctx, checkout, asks_node),
            CheckoutPayment::Lightning { payment_hash, .. } => *payment_hash,
        };
        let mut followed = FollowedCheckout { checkout, sight: None, is_pool_read: false };
        if asks_node && followed.checkout.first_paid_at.is_none() {
            let gone = LightningUnavailable { kind: "not_configured" };
            let invoices = ctx.invoices.ok_or_else(|| away(gone))?;
            ctx.give_place_back();
            if let InvoiceStatus::Paid { at, received_sats } = invoices.look_up(&payment_hash).map_err(away)? {
                let price = followed.checkout.content.price_sats;
                followed.note(ctx, &SeenPayment::of_invoice(price, at, received_sats))?;
            }
        }
        Ok(followed)
    }

    /// The same for a payment on chain. Without an index, the stored state stands, unless the index must be asked.
    fn on_chain(ctx: &Ctx<'_>, checkout: Checkout, must_look: bool) -> Result<Self, ApiError> {
        let view = match ctx.view() {
            Ok(view) => view,
            Err(error) if must_look => return Err(error),
            Err(error) => {
                let message = format!("the payment cannot be looked up at present: {}", error.detail);
                ctx.warn("payment_not_looked_up", message);
                return Ok(FollowedCheckout { checkout, sight: None, is_pool_read: false });
            }
        };
        let (sight, is_pool_read) = with_mempool(ctx, view, |pool| {
            CheckoutSight::look(view, pool, &checkout).map(|sight| (sight, pool.is_some()))
        })?;
        let mut followed = FollowedCheckout { checkout, sight, is_pool_read };
        if let Some(seen) = followed.sight.as_ref().map(|sight| sight.seen.clone()) {
            followed.note(ctx, &seen)?;
        }
        Ok(followed)
    }

    /// Notes how the payment is seen, if that changes something.
    fn note(&mut self, ctx: &Ctx<'_>, seen: &SeenPayment) -> Result<(), ApiError> {
        let (id, now) = (self.checkout.id.clone(), ctx.now_ms / 1_000);
        if self.checkout.is_settled || self.checkout.seen(seen, now) == self.checkout {
            return Ok(());
        }
        let noted = ctx.with_state(async |state| state.note_checkout_payment(&id, seen, now).await)?;
        self.checkout = noted.ok_or_else(gone)?;
        Ok(())
    }

    /// Answers with the checkout. A paid one gives its key, once.
    pub(super) fn answer(mut self, ctx: &Ctx<'_>) -> Result<CheckoutOutput, ApiError> {
        let now = ctx.now_ms / 1_000;
        let mut api_key = None;
        let mut reason = no_key(ctx, &self.checkout, now);
        if reason.is_none() {
            let id = self.checkout.id.clone();
            match ctx.with_state(async |state| state.claim_checkout(&id, now).await)? {
                Claiming::Done(key, secret) => {
                    self.checkout.claimed = Some((now, key.id));
                    api_key = Some(secret.expose().to_owned());
                }
                // Another request was first, or the payment is reverted since.
                Claiming::Not(checkout) => {
                    self.checkout = *checkout;
                    reason = no_key(ctx, &self.checkout, now).or(Some(NoKey::ShownBefore));
                }
                Claiming::Unknown => return Err(gone()),
            }
        }
        Ok(self.output(now, api_key, reason))
    }

    fn output(self, now: u64, api_key: Option<String>, api_key_reason: Option<NoKey>) -> CheckoutOutput {
        let note = self.note_of(now);
        let FollowedCheckout { checkout, sight, is_pool_read } = self;
        let time = |secs: u64| rfc3339_ms(secs.saturating_mul(1_000));
        let price = checkout.content.price_sats;
        let payment = sight.as_ref().map(|sight| &sight.payment);
        CheckoutOutput {
            state: checkout.state(now).into(),
            payment_method_id: method_of(&checkout),
            payment: PassPayment::new(&checkout),
            created_at: time(checkout.created_at),
            expires_at: time(checkout.content.expires_at),
            top_up_until: time(checkout.top_up_until()),
            received_sats: checkout.received_sats,
            unconfirmed_sats: payment.filter(|_| is_pool_read).map(|payment| payment.unconfirmed),
            missing_sats: price.saturating_sub(checkout.received_sats),
            overpaid_sats: checkout.received_sats.saturating_sub(price),
            confirmations: sight.as_ref().map(CheckoutSight::confirmations),
            paid_at: checkout.paid_at.map(time),
            pass_begins_at: checkout.first_paid_at.map(time),
            pass_ends_at: checkout.pass_ends_at().map(time),
            api_key,
            api_key_reason,
            key_id: checkout.claimed.map(|(_, key_id)| key_id),
            header: "X-WR-API-Key",
            note,
            plan_id: checkout.content.plan,
            checkout_id: checkout.id,
        }
    }

    /// One or two sentences about the state, if it is not the usual one.
    fn note_of(&self, now: u64) -> Option<String> {
        let checkout = &self.checkout;
        let unconfirmed = self.sight.as_ref().map_or(0, |sight| sight.payment.unconfirmed);
        match checkout.state(now) {
            CheckoutState::Paid => None,
            CheckoutState::Late => {
                Some("The payment came after the checkout had expired. It is honoured all the same.".to_owned())
            }
            CheckoutState::Reverted => Some(
                "A reorganization of the chain took the payment away. The key of the pass is suspended, and works again once \
                 the payment is confirmed again."
                    .to_owned(),
            ),
            CheckoutState::Underpaid => Some(format!(
                "{} satoshis are missing. Further payments to the same address add up.",
                checkout.content.price_sats.saturating_sub(checkout.received_sats)
            )),
            CheckoutState::Open if checkout.received_sats > 0 => {
                Some("The payment waits for more confirmations.".to_owned())
            }
            CheckoutState::Open | CheckoutState::Expired if unconfirmed > 0 => {
                Some("The payment is not confirmed yet.".to_owned())
            }
            CheckoutState::Open => match method_of(checkout) {
                PassMethod::Lightning => Some("The Lightning node is asked by POST to the path with /refresh.".to_owned()),
                PassMethod::Onchain => None,
            },
            CheckoutState::Expired if checkout.received_sats > 0 => Some(
                "The time to top up is over. If the rest arrives, it is honoured while the checkout is kept; otherwise ask the \
                 operator of this server."
                    .to_owned(),
            ),
            CheckoutState::Expired => match method_of(checkout) {
                PassMethod::Lightning => Some("The invoice has expired. Open another checkout.".to_owned()),
                PassMethod::Onchain => Some(
                    "The checkout has expired. A payment to its address is honoured for 30 days; it is safer to open another \
                     checkout."
                        .to_owned(),
                ),
            },
        }
    }
}

/// Why a checkout gives no key now; `None` if it does.
fn no_key(ctx: &Ctx<'_>, checkout: &Checkout, now: u64) -> Option<NoKey> {
    match checkout.state(now) {
        _ if checkout.claimed.is_some() => Some(NoKey::ShownBefore),
        CheckoutState::Reverted => Some(NoKey::Reverted),
        CheckoutState::Open | CheckoutState::Expired | CheckoutState::Underpaid => Some(NoKey::NotPaid),
        CheckoutState::Paid | CheckoutState::Late if checkout.pass_ends_at().is_none_or(|end| end <= now) => {
            Some(NoKey::PassEnded)
        }
        CheckoutState::Paid | CheckoutState::Late => ctx.is_head.then_some(NoKey::HeadRequest),
    }
}

/// 404: the checkout was removed meanwhile.
fn gone() -> ApiError {
    ApiError::new(ErrorCode::CheckoutNotFound, "the checkout is gone; ask the operator of this server")
}
