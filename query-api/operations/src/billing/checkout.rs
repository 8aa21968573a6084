//! `POST /v1/billing/checkout`.

use cairn_http::{Effect, Freshness, Location, Method, PASS_DAYS, PASS_PLAN, PassMethod};
use cairn_model::DAY_SECS;
use cairn_state::{
    ClientHashes, MAX_CHECKOUTS_OF_CLIENT, MAX_OPEN_CHECKOUTS, NewCheckout, OpenedCheckout, OpeningCheckout,
    PaymentInvoice,
};

use super::{
    followed::with_mempool,
    pass_payment::{PassPayment, PlanId, away, paused, unusable},
};
use crate::{allotment::Allotment, client_hashes::client_hashes, operation::prelude::*, values::rfc3339_ms};

const SCOPE: &str = "checkout";
/// How long a checkout waits for its payment: over Lightning, and on chain.
const LIGHTNING_SECS: u64 = 3_600;
const ONCHAIN_SECS: u64 = DAY_SECS as u64;
/// The invoice ends these seconds before its checkout, so that a payment in its last second is in time.
const INVOICE_MARGIN_SECS: u64 = 60;
/// The description that payers see in their wallets.
const MEMO: &str = "Cairn: pass of 31 days";
/// Longest address of mail (RFC 5321).
const MAX_EMAIL_CHARS: usize = 254;

pub(crate) struct CreateCheckout;

/// The purchase.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CreateCheckoutInput {
    /// The plan to buy.
    #[schemars(example = &"wallet-monthly")]
    plan_id: PlanId,
    /// How to pay. The catalog lists the methods of this server.
    #[schemars(example = &"onchain")]
    payment_method_id: PassMethod,
    /// Not kept: this server sends no mail and has no accounts. The holder of `claim_secret` has the checkout.
    #[schemars(length(min = 1, max = MAX_EMAIL_CHARS))]
    customer_email: Option<String>,
}

/// The open checkout. Keep `claim_secret`: it is in no other answer, and without it the pass cannot be had.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CreateCheckoutOutput {
    checkout_id: String,
    /// Secret of the buyer, for the header `X-Checkout-Secret`. It cannot be shown again.
    claim_secret: String,
    /// The request header that takes the secret.
    secret_header: &'static str,
    /// Always `open`.
    state: &'static str,
    plan_id: &'static str,
    payment_method_id: PassMethod,
    /// The amount, and where to pay it.
    payment: PassPayment,
    /// Time until which it should be paid.
    expires_at: String,
    /// Path of the state of the checkout (GET).
    status_path: String,
    /// Path at which the payment is looked up now (POST).
    refresh_path: String,
    /// Always false: an address of mail is not kept.
    customer_email_kept: bool,
}

impl Operation for CreateCheckout {
    const INFO: Info = Info {
        method: Method::Post,
        summary: "Buy a pass of 31 days, paid in bitcoin over Lightning or on chain",
        description: "Opens a checkout and returns what to pay, and a secret. Send the secret in the header \
            `X-Checkout-Secret` to ask for the state; the first answer after the payment has the key of the pass, once. \
            A Lightning payment counts at once. On chain 1 confirmation is needed, and 3 from 0.01 BTC; several payments \
            add up. No account is needed, and an address of mail is not kept. A client can have 5 open checkouts. While \
            passes are not sold, the answer is 503 `checkout_paused` with the reason.",
        cost: Cost::Heavy,
        source: "service",
        freshness: &[Freshness::NOW, TIP],
        freshness_semantics: "time of the request",
        errors: &[
            ErrorCode::CheckoutPaused,
            ErrorCode::CheckoutsFull,
            ErrorCode::LightningUnavailable,
            ErrorCode::RateLimited,
            ErrorCode::StateUnavailable,
            ErrorCode::IndexSyncing,
        ],
        private: true,
        tool: Tool { effect: Effect::Adds, ..Tool::UNLISTED },
        ..Info::get("create_checkout", "/v1/billing/checkout", "billing")
    };
    type Input = CreateCheckoutInput;
    type Output = CreateCheckoutOutput;

    fn run(ctx: &Ctx<'_>, input: CreateCheckoutInput) -> Result<CreateCheckoutOutput, ApiError> {
        let offer = ctx.config.pass_for_sale().map_err(paused)?;
        let method = input.payment_method_id;
        if !offer.methods.contains(&method) {
            let message = format!("is not offered by this server; choose {}", ctx.config.pass_methods().join(" or "));
            return Err(ApiError::validation(Location::Body, "payment_method_id", message));
        }
        let PlanId::WalletMonthly = input.plan_id;
        let client = client_hashes(ctx, SCOPE)?;
        let secs = if method == PassMethod::Lightning { LIGHTNING_SECS } else { ONCHAIN_SECS };
        let new = NewCheckout {
            plan: PASS_PLAN.to_owned(),
            price_sats: offer.price_sats,
            valid_secs: u64::from(PASS_DAYS) * u64::from(DAY_SECS),
            expires_at: (ctx.now_ms / 1_000).saturating_add(secs),
        };
        let opening = match method {
            PassMethod::Lightning => by_invoice(ctx, new, &client)?,
            PassMethod::Onchain => to_address(ctx, new, &client)?,
        };
        let opened = opened(ctx, opening)?;
        if input.customer_email.is_some() {
            ctx.warn(
                "customer_email_not_kept",
                "customer_email is not kept: keep claim_secret, which is all that counts",
            );
        }
        Ok(answer(opened, method))
    }
}

/// Opens a checkout that is paid over Lightning.
fn by_invoice(ctx: &Ctx<'_>, new: NewCheckout, client: &ClientHashes) -> Result<OpeningCheckout, ApiError> {
    let now = ctx.now_ms / 1_000;
    // Making an invoice is slow, and some nodes keep each for ever.
    let room = ctx.with_state(async |state| state.checkout_room(client, now).await)?;
    if !matches!(room, OpeningCheckout::Room) {
        return Ok(room);
    }
    let invoices = ctx.invoices.ok_or_else(|| paused(cairn_http::CheckoutPause::NoMethod))?;
    let expiry = u32::try_from(LIGHTNING_SECS.saturating_sub(INVOICE_MARGIN_SECS)).unwrap_or_default();
    ctx.give_place_back();
    let made = invoices.create(new.price_sats, MEMO, expiry).map_err(away)?;
    let invoice =
        PaymentInvoice { provider: made.provider.to_owned(), payment_hash: made.payment_hash, invoice: made.bolt11 };
    ctx.with_state(async |state| state.open_lightning_checkout(new, invoice, client, now).await)
}

fn to_address(ctx: &Ctx<'_>, new: NewCheckout, client: &ClientHashes) -> Result<OpeningCheckout, ApiError> {
    let descriptor =
        ctx.chain.payments.descriptor.as_ref().ok_or_else(|| paused(cairn_http::CheckoutPause::NoMethod))?;
    let view = ctx.view()?;
    // An index that is behind does not know which addresses are used.
    if ctx.is_behind() {
        return Err(ApiError::syncing(format!("a payment address needs the tip, but the index is {}", ctx.behind())));
    }
    with_mempool(ctx, view, |pool| {
        let allotment = Allotment::ready(ctx, view, pool, descriptor, unusable)?;
        let look = |index| allotment.look(index);
        let opened = ctx.with_state(async |state| {
            state.open_onchain_checkout(new, descriptor.id(), client, ctx.now_ms / 1_000, look).await
        });
        let opened = opened.map_err(|error| allotment.failure(error))?;
        allotment.remember(ctx)?;
        Ok(opened)
    })
}

/// Returns the checkout that was opened, or the reason why none was.
fn opened(ctx: &Ctx<'_>, opening: OpeningCheckout) -> Result<OpenedCheckout, ApiError> {
    match opening {
        OpeningCheckout::Opened(opened) => Ok(*opened),
        OpeningCheckout::TooManyOfClient { until } => {
            let wait = u32::try_from(until.saturating_sub(ctx.now_ms / 1_000)).unwrap_or(u32::MAX).max(1);
            let detail = format!(
                "this client has {MAX_CHECKOUTS_OF_CLIENT} open checkouts; pay one of them, or wait until the first one expires"
            );
            Err(ApiError::new(ErrorCode::RateLimited, detail).retryable(Some(wait)))
        }
        OpeningCheckout::Full => {
            let detail =
                format!("{MAX_OPEN_CHECKOUTS} checkouts are open; no more are opened until some are paid or expire");
            Err(ApiError::unavailable(ErrorCode::CheckoutsFull, detail, 600))
        }
        OpeningCheckout::Room => Err(ApiError::internal()),
    }
}

fn answer(OpenedCheckout { checkout, secret }: OpenedCheckout, method: PassMethod) -> CreateCheckoutOutput {
    let path = format!("/v1/billing/checkout/{}", checkout.id);
    CreateCheckoutOutput {
        claim_secret: secret.expose().to_owned(),
        secret_header: super::followed::SECRET.name,
        state: "open",
        plan_id: PASS_PLAN,
        payment_method_id: method,
        payment: PassPayment::new(&checkout),
        expires_at: rfc3339_ms(checkout.content.expires_at.saturating_mul(1_000)),
        refresh_path: format!("{path}/refresh"),
        status_path: path,
        customer_email_kept: false,
        checkout_id: checkout.id,
    }
}
