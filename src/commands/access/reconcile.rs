//! `cairn access reconcile`: finds payments that the Lightning node has received and that were never redeemed.

use std::{
    io::{self, Write},
    sync::Arc,
};

use cairn_clock::now_secs;
use cairn_lightning::{BackendError, BackendKind, InvoiceState, Invoices, PaymentHash};
use cairn_model::Network;
use cairn_state::{Challenge, ChallengeState, State};

use super::laid_out;
use crate::{
    cli::AccessReconcile,
    exit::{Exit, Failure},
    lightning::{backend, blocking},
    out::{harmless, print, time},
    with_state::with_state,
};

/// Challenges that are read at once.
const PAGE: u32 = 500;
/// Failures in a row after which the look-ups end: the Lightning node is away.
const MAX_FAILURES_IN_A_ROW: u32 = 3;
const HEADER: [&str; 6] = ["challenge", "capability", "path", ">sats", "paid at", "redeemable"];

pub(super) fn reconcile(args: &AccessReconcile) -> Result<Exit, Failure> {
    let settings = &args.lightning;
    let Some(kind) = settings.kind() else {
        return Err(Failure::usage("--lightning is missing").hint(
            "name the Lightning node of the server: give the flag, or set CAIRN_LIGHTNING or lightning in cairn.toml",
        ));
    };
    settings.check(None)?;
    let found = with_state(&args.at.url()?, async |state| {
        // An invoice is looked up by its hash, on whatever network: only simulated ones are of one network.
        let network = if kind == BackendKind::Simulated { Network::Regtest } else { Network::Main };
        let invoices = backend(settings, kind, network, state).await?;
        walked(state, kind, &invoices).await
    })?;
    let now = now_secs();
    let rows: Vec<Vec<String>> = found.paid.iter().map(|paid| row(paid, now)).collect();
    print(&laid_out(args.format, &HEADER, &rows))?;
    writeln!(io::stderr(), "{}", found.summary(kind))?;
    match found.failure(kind) {
        Some(failure) => Err(failure),
        None => Ok(Exit::Done),
    }
}

/// A challenge that is paid and was never redeemed.
#[derive(Debug)]
struct PaidChallenge {
    challenge: Challenge,
    /// In seconds since 1970.
    paid_at: u64,
}

/// The result of the look-ups.
#[derive(Debug, Default)]
struct Found {
    paid: Vec<PaidChallenge>,
    unpaid: u64,
    /// The node does not know their invoices.
    unknown: u64,
    /// The invoices are of another kind of node.
    of_others: u64,
    failed: u64,
    failed_in_a_row: u32,
    last_error: Option<BackendError>,
}

impl Found {
    fn is_over(&self) -> bool {
        self.failed_in_a_row >= MAX_FAILURES_IN_A_ROW
    }

    /// Looks up challenges until the node seems to be away.
    fn look_up(&mut self, challenges: Vec<Challenge>, kind: BackendKind, invoices: &dyn Invoices) {
        for challenge in challenges {
            if self.is_over() {
                return;
            }
            if challenge.content.provider != kind.name() {
                self.of_others += 1;
                continue;
            }
            let state = invoices.lookup(&PaymentHash(challenge.content.payment_hash));
            self.failed_in_a_row = if state.is_err() { self.failed_in_a_row + 1 } else { 0 };
            match state {
                Ok(InvoiceState::Paid { paid_at, .. }) => self.paid.push(PaidChallenge { challenge, paid_at }),
                Ok(InvoiceState::Open | InvoiceState::Expired | InvoiceState::Cancelled) => self.unpaid += 1,
                Ok(InvoiceState::Unknown) => self.unknown += 1,
                Err(error) => {
                    tracing::warn!(challenge = challenge.id, %error, "an invoice cannot be looked up");
                    self.failed += 1;
                    self.last_error = Some(error);
                }
            }
        }
    }

    fn summary(&self, kind: BackendKind) -> String {
        format!(
            "Challenges that were never redeemed: {} paid, {} unpaid, {} unknown to {kind}, {} of another Lightning node.",
            self.paid.len(),
            self.unpaid,
            self.unknown,
            self.of_others
        )
    }

    fn failure(&self, kind: BackendKind) -> Option<Failure> {
        let error = self.last_error.as_ref()?;
        let end = if self.is_over() { "; the rest was not looked up" } else { "" };
        let message = format!("{} challenges could not be looked up{end}. The last failure: {error}", self.failed);
        Some(Failure::new(Exit::Other, message).hint(format!("run the same command again when {kind} answers")))
    }
}

/// Looks up all challenges that were never redeemed.
async fn walked(state: &State, kind: BackendKind, invoices: &Arc<dyn Invoices>) -> Result<Found, Failure> {
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
        let status = state.challenge_status(&paid.challenge.id, now_secs()).await?;
        if status.is_none_or(|status| status.state != ChallengeState::Redeemed) {
            unredeemed.push(paid);
        }
    }
    found.paid = unredeemed;
    Ok(found)
}

fn row(paid: &PaidChallenge, now: u64) -> Vec<String> {
    let PaidChallenge { challenge, paid_at } = paid;
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
        let mut found = Found::default();
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
        assert!(Found::default().failure(BackendKind::Lnd).is_none());
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
