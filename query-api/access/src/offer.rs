//! The offer of a call: a challenge with its invoice, or the reason why the call has no invoice now.

use axum::http::{HeaderName, header};
use cairn_http::{ApiError, Call, CallOffer, SoldCall};
use cairn_l402::{Identifier, Macaroon, RootKey, challenge_header, legacy_challenge_header, mint};
use cairn_lightning::{Invoice, NewInvoice};
use cairn_model::rfc3339;
use cairn_state::{
    Challenge, ChallengeSecrets, ClientHashes, MAX_CHALLENGES_OF_CLIENT, NewChallenge, Offering, PAID_GRACE_SECS,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    invoicing::NoInvoice,
    lease::PATIENCE,
    request::{binding_of, body_of, fingerprint_of},
    seller::Seller,
};

const CHALLENGE_SECS: u64 = 600;
/// The invoice ends these seconds before its challenge, so that a late payment is still of use.
const INVOICE_MARGIN_SECS: u64 = 60;
/// How often a challenge is stored again after the key of clients' hashes has changed.
const TRIES: usize = 3;
/// Age at which the key of clients' hashes is replaced, unless votes need another one sooner: longer than any report
/// stays open, since its limits need the hashes.
const KEY_PERIOD_SECS: u64 = 31 * 86_400;
/// Path of the state of a challenge, without its id.
const STATUS: &str = "/v1/l402/challenges";

const HOW: &str = "Pay the invoice in payment_options.l402.payment, then repeat the same request with `Authorization: \
    L402 <macaroon>:<preimage>`.";
const NO_PRICE: &str = "the call has no price at present; its quote says why";

/// Why a call is offered without an invoice: a stable word, and a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
struct NoChallenge(&'static str, String);

impl NoChallenge {
    fn because(code: &'static str, detail: impl Into<String>) -> Self {
        NoChallenge(code, detail.into())
    }
}

impl From<NoInvoice> for NoChallenge {
    fn from(why: NoInvoice) -> Self {
        match why {
            NoInvoice::Unavailable(kind) => NoChallenge::because(
                "lightning_unavailable",
                format!(
                    "the Lightning node of this server makes no invoice at present ({kind}); try again in a moment"
                ),
            ),
            NoInvoice::Busy => NoChallenge::because(
                "lightning_busy",
                "too many requests wait for the Lightning node of this server; try again in a moment",
            ),
        }
    }
}

impl From<ApiError> for NoChallenge {
    fn from(error: ApiError) -> Self {
        NoChallenge::because(error.code.name(), error.detail.clone())
    }
}

pub(crate) fn offer(seller: &Seller, sold: &SoldCall<'_>, call: &Call<'_>) -> CallOffer {
    match challenge(seller, sold, call) {
        Ok(challenge) => with_challenge(seller, sold, &challenge),
        Err(NoChallenge(code, detail)) => without(sold, code, &detail),
    }
}

pub(crate) fn without(sold: &SoldCall<'_>, code: &str, detail: &str) -> CallOffer {
    let body = json!({
        "error": code,
        "error_detail": detail,
        "protocol": "L402",
        "offer": offer_of(sold, sold.price_sats),
    });
    CallOffer { body, headers: Vec::new(), how: HOW }
}

/// The open challenge of this client for this call, or a new one.
fn challenge(seller: &Seller, sold: &SoldCall<'_>, call: &Call<'_>) -> Result<Challenge, NoChallenge> {
    let price = sold.price_sats.ok_or_else(|| NoChallenge::because("price_unknown", NO_PRICE))?;
    let fingerprint = fingerprint_of(sold);
    let client = hashes(call)?;
    let key = Sha256::new().chain_update(&client.current).chain_update(fingerprint).finalize().into();
    // The rest waits for the node, or for another request that waits for it.
    call.give_place_back();
    let made = seller.flights.alone(key, PATIENCE, || {
        let now = call.now_ms / 1_000;
        let open =
            call.with_state_within(PATIENCE, async |state| state.open_challenge(&client, &fingerprint, now).await)?;
        match open {
            Offering::Offered(challenge) => Ok(*challenge),
            Offering::TooManyOfClient => Err(too_many()),
            Offering::Full => Err(full()),
            // Storing it looks again.
            Offering::Room | Offering::KeysChanged => {
                let new = make(seller, sold, price, fingerprint, now)?;
                store(new, client, now, call)
            }
        }
    });
    made.unwrap_or_else(|| Err(NoInvoice::Busy.into()))
}

fn too_many() -> NoChallenge {
    let detail = format!(
        "this client has {MAX_CHALLENGES_OF_CLIENT} unpaid invoices of the last minutes; pay one of them, or wait until they end"
    );
    NoChallenge::because("too_many_challenges", detail)
}

fn full() -> NoChallenge {
    NoChallenge::because("challenges_full", "too many invoices of this server are unpaid; try again in some minutes")
}

/// The hashes under which the client is counted.
fn hashes(call: &Call<'_>) -> Result<ClientHashes, NoChallenge> {
    let now = call.now_ms / 1_000;
    let keys = call.with_state_within(PATIENCE, async |state| state.client_keys(now, KEY_PERIOD_SECS).await)?;
    Ok(keys.hashes(|key| call.client_under(key, "l402")))
}

/// Makes an invoice and its macaroon.
fn make(
    seller: &Seller,
    sold: &SoldCall<'_>,
    price_sats: u64,
    fingerprint: [u8; 32],
    now: u64,
) -> Result<NewChallenge, NoChallenge> {
    let unsellable = |why: String| NoChallenge::because("not_for_sale", format!("the call cannot be sold: {why}"));
    let [token_id, root_key] = random().map_err(unsellable)?;
    let binding = binding_of(sold, body_of(sold)).map_err(|error| unsellable(error.to_string()))?;
    let expires_at = now.saturating_add(CHALLENGE_SECS);
    let expiry = u32::try_from(CHALLENGE_SECS.saturating_sub(INVOICE_MARGIN_SECS)).unwrap_or_default();
    let label = format!("cairn-{}", hex::encode(&token_id[..16]));
    let new = NewInvoice::new(price_sats, &format!("Cairn: {}", sold.capability), expiry, &label)
        .map_err(|error| unsellable(error.to_string()))?;
    let Invoice { bolt11, payment_hash, expires_at: invoice_expires_at } = seller.invoicing.make(&new)?;
    let identifier = Identifier { payment_hash: payment_hash.0, token_id };
    let end = expires_at.saturating_add(PAID_GRACE_SECS);
    let macaroon = mint(&RootKey::new(&root_key), &identifier, &binding, end);
    let macaroon = macaroon.map_err(|error| unsellable(error.to_string()))?.to_base64();
    Ok(NewChallenge {
        token_id,
        payment_hash: payment_hash.0,
        secrets: ChallengeSecrets { root_key, macaroon, invoice: bolt11 },
        capability: sold.capability.to_owned(),
        method: sold.method().to_owned(),
        path_template: sold.template.to_owned(),
        resource_path: sold.path.clone(),
        fingerprint,
        price_sats,
        provider: seller.provider.to_owned(),
        invoice_expires_at: invoice_expires_at.min(expires_at),
        expires_at,
    })
}

fn random() -> Result<[[u8; 32]; 2], String> {
    let mut bytes = [[0; 32]; 2];
    for part in &mut bytes {
        getrandom::fill(part).map_err(|error| format!("no random numbers: {error}"))?;
    }
    Ok(bytes)
}

/// Stores a challenge; of concurrent ones the first holds.
fn store(new: NewChallenge, mut client: ClientHashes, now: u64, call: &Call<'_>) -> Result<Challenge, NoChallenge> {
    for _ in 0..TRIES {
        let added =
            call.with_state_within(PATIENCE, async |state| state.add_challenge(new.clone(), &client, now).await)?;
        match added {
            Offering::Offered(challenge) => return Ok(*challenge),
            Offering::TooManyOfClient => return Err(too_many()),
            Offering::Full => return Err(full()),
            Offering::Room | Offering::KeysChanged => client = hashes(call)?,
        }
    }
    Err(NoChallenge::because("state_unavailable", "the key of clients' hashes is changing; try again in a moment"))
}

fn with_challenge(seller: &Seller, sold: &SoldCall<'_>, challenge: &Challenge) -> CallOffer {
    let content = &challenge.content;
    let ChallengeSecrets { macaroon, invoice, .. } = &content.secrets;
    let time = |at: u64| u32::try_from(at).map_or(Value::Null, |at| rfc3339(at).into());
    let body = json!({
        "error": "payment_required",
        "protocol": "L402",
        "offer": offer_of(sold, Some(content.price_sats)),
        "challenge": {
            "id": challenge.id,
            "offer_id": sold.info.name,
            "resource_path": content.resource_path,
            "status": "pending",
            "provider": content.provider,
            "created_at": time(challenge.created_at),
            "updated_at": time(challenge.created_at),
            "expires_at": time(content.expires_at),
        },
        "payment_method": {
            "id": "lightning",
            "name": "Lightning",
            "network": sold.network,
            "simulated": seller.is_simulated,
            "display_hint": "Show payment_uri as a QR code, or let a wallet pay the invoice.",
        },
        "payment": {
            "price_sats": content.price_sats,
            "currency": "SATS",
            "invoice": invoice,
            "payment_uri": format!("lightning:{invoice}"),
            "payment_hash": hex::encode(content.payment_hash),
            "macaroon": macaroon,
        },
        "links": { "status_url": format!("{}{STATUS}/{}", sold.base_url, challenge.id) },
        "authorization": {
            "scheme": "L402",
            "header_example": format!("Authorization: L402 {macaroon}:<preimage>"),
        },
    });
    CallOffer { body, headers: headers(macaroon, invoice), how: HOW }
}

/// The challenge as headers: in the form of today, then in the one of older clients.
fn headers(macaroon: &str, invoice: &str) -> Vec<(HeaderName, String)> {
    let Ok(parsed) = Macaroon::from_base64(macaroon) else { return Vec::new() };
    let values = [challenge_header(&parsed, invoice), legacy_challenge_header(&parsed, invoice)];
    values.into_iter().flatten().map(|value| (header::WWW_AUTHENTICATE, value)).collect()
}

fn offer_of(sold: &SoldCall<'_>, price_sats: Option<u64>) -> Value {
    json!({
        "id": sold.info.name,
        "path_template": sold.template,
        "price_sats": price_sats,
        "summary": sold.info.summary,
    })
}
