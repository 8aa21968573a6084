//! `cairn access reconcile`: finds payments that the Lightning node has received and that opened nothing.

use std::{
    io::{self, Write},
    sync::Arc,
};

use cairn_clock::now_secs;
use cairn_lightning::{BackendError, BackendKind, InvoiceState, Invoices, PaymentHash};
use cairn_model::Network;
use cairn_state::{Challenge, ChallengeState, Checkout, CheckoutPayment, SeenPayment, State};

use super::laid_out;
use crate::{
    cli::AccessReconcile,
    exit::{Exit, Failure},
    lightning::{backend, blocking},
    out::{harmless, print, time},
    with_state::with_state,
};

/// Challenges or checkouts that are read at once.
const PAGE: u32 = 500;
/// Failures in a row after which the look-ups end: the Lightning node is away.
const MAX_FAILURES_IN_A_ROW: u32 = 3;
const HEADER: [&str; 6] = ["id", "capability", "path", ">sats", "paid at", "redeemable"];

pub(super) fn reconcile(args: &AccessReconcile) -> Result<Exit, Failure> {
    let settings = &args.lightning;
    let Some(kind) = settings.kind() else {
        return Err(Failure::usage("--lightning is missing").hint(
            "name the Lightning node of the server: give the flag, or set CAIRN_LIGHTNING or lightning in cairn.toml",
        ));
    };
    settings.check(None)?;
    let (challenges, checkouts) = with_state(&args.at.url()?, async |state| {
        // An invoice is looked up by its hash, on whatever network: only simulated ones are of one network.
        let network = if kind == BackendKind::Simulated { Network::Regtest } else { Network::Main };
        let invoices = backend(settings, kind, network, state).await?;
        let challenges = walked_challenges(state, kind, &invoices).await?;
        // A node that is away is away for both.
        let checkouts = match challenges.is_over() {
            true => Found::default(),
            false => walked_checkouts(state, kind, &invoices).await?,
        };
        Ok::<_, Failure>((challenges, checkouts))
    })?;
    let now = now_secs();
    let mut rows: Vec<Vec<String>> = challenges.paid.iter().map(|paid| row(paid, now)).collect();
    rows.extend(checkouts.paid.iter().map(row_of_checkout));
    print(&laid_out(args.format, &HEADER, &rows))?;
    writeln!(io::stderr(), "{}\n{}", challenges.summary(kind), checkouts.summary(kind))?;
    match challenges.failure(kind).or_else(|| checkouts.failure(kind)) {
        Some(failure) => Err(failure),
        None => Ok(Exit::Done),
    }
}

trait Invoiced {
    /// The sales that are looked up, in words.
    const LOOKED_UP: &str;
    const PLURAL: &str;

    fn id(&self) -> &str;

    /// Kind of the node that made the invoice, and the payment hash; `None` if it is not paid over Lightning.
    fn invoice(&self) -> Option<(&str, [u8; 32])>;
}

impl Invoiced for Challenge {
    const LOOKED_UP: &str = "Challenges that were never redeemed";
    const PLURAL: &str = "challenges";

    fn id(&self) -> &str {
        &self.id
    }

    fn invoice(&self) -> Option<(&str, [u8; 32])> {
        Some((&self.content.provider, self.content.payment_hash))
    }
}

impl Invoiced for Checkout {
    const LOOKED_UP: &str = "Checkouts that were not known as paid";
    const PLURAL: &str = "checkouts";

    fn id(&self) -> &str {
        &self.id
    }

    fn invoice(&self) -> Option<(&str, [u8; 32])> {
        match &self.payment {
            CheckoutPayment::Lightning { provider, payment_hash, .. } => Some((provider, *payment_hash)),
            CheckoutPayment::OnChain { .. } => None,
        }
    }
}

/// A sale whose invoice is paid.
#[derive(Debug)]
struct Paid<T> {
    sale: T,
    /// In seconds since 1970.
    paid_at: u64,
    received_sats: u64,
}

/// The result of the look-ups.
#[derive(Debug)]
struct Found<T> {
    paid: Vec<Paid<T>>,
    unpaid: u64,
    /// The node does not know their invoices.
    unknown: u64,
    /// The invoices are of another kind of node.
    of_others: u64,
    failed: u64,
    failed_in_a_row: u32,
    last_error: Option<BackendError>,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Found { paid: Vec::new(), unpaid: 0, unknown: 0, of_others: 0, failed: 0, failed_in_a_row: 0, last_error: None }
    }
}

impl<T: Invoiced> Found<T> {
    fn is_over(&self) -> bool {
        self.failed_in_a_row >= MAX_FAILURES_IN_A_ROW
    }

    /// Looks up invoices until the node seems to be away.
    fn look_up(&mut self, sales: Vec<T>, kind: BackendKind, invoices: &dyn Invoices) {
        for sale in sales {
            if self.is_over() {
                return;
            }
            let Some((provider, payment_hash)) = sale.invoice() else { continue };
            if provider != kind.name() {
                self.of_others += 1;
                continue;
            }
            let state = invoices.lookup(&PaymentHash(payment_hash));
            self.failed_in_a_row = if state.is_err() { self.failed_in_a_row + 1 } else { 0 };
            match state {
                Ok(InvoiceState::Paid { paid_at, received_sats, .. }) => {
                    self.paid.push(Paid { sale, paid_at, received_sats });
                }
                Ok(InvoiceState::Open | InvoiceState::Expired | InvoiceState::Cancelled) => self.unpaid += 1,
                Ok(InvoiceState::Unknown) => self.unknown += 1,
                Err(error) => {
                    tracing::warn!(id = sale.id(), %error, "an invoice cannot be looked up");
                    self.failed += 1;
                    self.last_error = Some(error);
                }
            }
        }
    }

    fn summary(&self, kind: BackendKind) -> String {
        format!(
            "{}: {} paid, {} unpaid, {} unknown to {kind}, {} of another Lightning node.",
            T::LOOKED_UP,
            self.paid.len(),
            self.unpaid,
            self.unknown,
            self.of_others
        )
    }

    fn failure(&self, kind: BackendKind) -> Option<Failure> {
        let error = self.last_error.as_ref()?;
        let end = if self.is_over() { "; the rest was not looked up" } else { "" };
        let (failed, sales) = (self.failed, T::PLURAL);
        let message = format!("{failed} {sales} could not be looked up{end}. The last failure: {error}");
        Some(Failure::new(Exit::Other, message).hint(format!("run the same command again when {kind} answers")))
    }
}

/// Looks up all challenges that were never redeemed.
async fn walked_challenges(
    state: &State,
    kind: BackendKind,
    invoices: &Arc<dyn Invoices>,
) -> Result<Found<Challenge>, Failure> {
    let mut found = Found::default();
    let mut last: Option<(u64, String)> = None;
    while !found.is_over() {
        let position = last.as_ref().map(|(end, id)| (*end, id.as_str()));
        let page = state.unredeemed_challenges(position, PAGE).await?;
        let Some(challenge) = page.last() else { break };
        last = Some((challenge.redeemable_until, challenge.id.clone()));
        let invoices = Arc::clone(invoices);
        found = blocking(move || {
            found.look_up(page, kind, invoices.as_ref());
            found
        })
        .await?;
    }
    // Their clients may have redeemed some meanwhile.
    let mut unredeemed = Vec::new();
    for paid in std::mem::take(&mut found.paid) {
        let status = state.challenge_status(&paid.sale.id, now_secs()).await?;
        if status.is_none_or(|status| status.state != ChallengeState::Redeemed) {
            unredeemed.push(paid);
        }
    }
    found.paid = unredeemed;
    Ok(found)
}

/// Looks up the invoices of all checkouts that are not known as paid. A paid one is noted, as a server does that looks
/// in time: the next request of its buyer gets the key.
async fn walked_checkouts(
    state: &State,
    kind: BackendKind,
    invoices: &Arc<dyn Invoices>,
) -> Result<Found<Checkout>, Failure> {
    let mut found = Found::default();
    let mut after = String::new();
    while !found.is_over() {
        let page = state.unpaid_lightning_checkouts(&after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.id);
        let invoices = Arc::clone(invoices);
        found = blocking(move || {
            found.look_up(page, kind, invoices.as_ref());
            found
        })
        .await?;
    }
    let mut unclaimed = Vec::new();
    for paid in std::mem::take(&mut found.paid) {
        let seen = SeenPayment::of_invoice(paid.sale.content.price_sats, paid.paid_at, paid.received_sats);
        let noted = state.note_checkout_payment(&paid.sale.id, &seen, now_secs()).await?;
        // A server may have noted it meanwhile, and given its key out.
        if let Some(sale) = noted.filter(|checkout| checkout.claimed.is_none()) {
            unclaimed.push(Paid { sale, ..paid });
        }
    }
    found.paid = unclaimed;
    Ok(found)
}

fn row_of_checkout(paid: &Paid<Checkout>) -> Vec<String> {
    let checkout = &paid.sale;
    vec![
        checkout.id.clone(),
        harmless(&checkout.content.plan),
        format!("/v1/billing/checkout/{}", checkout.id),
        checkout.content.price_sats.to_string(),
        time(paid.paid_at),
        checkout.pass_ends_at().map_or_else(|| "no".to_owned(), |end| format!("until {}", time(end))),
    ]
}

fn row(paid: &Paid<Challenge>, now: u64) -> Vec<String> {
    let Paid { sale: challenge, paid_at, .. } = paid;
    let is_redeemable = challenge.redeemable_until > now;
    vec![
        challenge.id.clone(),
        harmless(&challenge.content.capability),
        harmless(&challenge.content.resource_path),
        challenge.content.price_sats.to_string(),
        time(*paid_at),
        if is_redeemable { format!("until {}", time(challenge.redeemable_until)) } else { "no".to_owned() },
    ]
}

#[cfg(test)]
mod tests {
    use cairn_lightning::{Invoice, NewInvoice, NodeInfo, Preimage};
    use cairn_state::{ChallengeSecrets, NewChallenge};

    use super::*;

    /// Knows invoices by the first byte of their hash; others fail.
    #[derive(Debug)]
    struct Node;

    impl Invoices for Node {
        fn create(&self, _: &NewInvoice) -> Result<Invoice, BackendError> {
            Err(BackendError::DuplicateLabel)
        }

        fn lookup(&self, payment_hash: &PaymentHash) -> Result<InvoiceState, BackendError> {
            match payment_hash.0[0] {
                0 => Ok(InvoiceState::Open),
                1 => Ok(InvoiceState::Paid { preimage: Preimage::new([0; 32]), paid_at: 50, received_sats: 9 }),
                2 => Ok(InvoiceState::Unknown),
                _ => Err(BackendError::Refused { backend: "lnd", reason: "no rights".to_owned() }),
            }
        }

        fn node(&self) -> Result<NodeInfo, BackendError> {
            Err(BackendError::DuplicateLabel)
        }
    }

    fn challenge(kind: u8, provider: &str) -> Challenge {
        let content = NewChallenge {
            token_id: [0; 32],
            payment_hash: [kind; 32],
            secrets: ChallengeSecrets { root_key: [0; 32], macaroon: "m".to_owned(), invoice: "i".to_owned() },
            capability: "wallet_summary".to_owned(),
            method: "GET".to_owned(),
            path_template: "/v1/{a}".to_owned(),
            resource_path: "/v1/a,b".to_owned(),
            fingerprint: [0; 32],
            price_sats: 10,
            provider: provider.to_owned(),
            invoice_expires_at: 60,
            expires_at: 60,
        };
        Challenge {
            id: format!("ch_{kind}"),
            content,
            created_at: 0,
            redeemable_until: 660,
            leased_until: None,
            redeemed_at: None,
            not_found: 0,
        }
    }

    #[test]
    fn paid_challenges_are_found_and_failures_are_named() {
        let mut found = Found::<Challenge>::default();
        let all = [0, 1, 9, 2, 9].map(|kind| challenge(kind, "lnd"));
        found.look_up(all.into_iter().chain([challenge(1, "phoenixd")]).collect(), BackendKind::Lnd, &Node);
        assert_eq!((found.paid.len(), found.unpaid, found.unknown, found.of_others, found.failed), (1, 1, 1, 1, 2));
        assert!(!found.is_over());
        let failure = found.failure(BackendKind::Lnd).map(|failure| failure.to_string()).unwrap_or_default();
        assert!(failure.contains("2 challenges") && failure.contains("lnd refused the credential"), "{failure}");
        assert_eq!(
            row(&found.paid[0], 659),
            ["ch_1", "wallet_summary", "/v1/a,b", "10", "1970-01-01T00:00:50Z", "until 1970-01-01T00:11:00Z"]
        );
        assert_eq!(row(&found.paid[0], 660)[5], "no");
        assert!(Found::<Challenge>::default().failure(BackendKind::Lnd).is_none());
    }

    #[test]
    fn a_node_that_is_away_ends_the_look_ups() {
        let mut found = Found::default();
        let all = [9, 9, 1, 9, 9, 9, 1, 0].map(|kind| challenge(kind, "lnd"));
        found.look_up(all.into(), BackendKind::Lnd, &Node);
        assert_eq!((found.failed, found.paid.len(), found.unpaid), (5, 1, 0));
        let failure = found.failure(BackendKind::Lnd).map(|failure| failure.to_string()).unwrap_or_default();
        assert!(failure.contains("the rest was not looked up"), "{failure}");
    }
}
