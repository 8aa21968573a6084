//! Checkouts: opened, seen as paid, claimed once, and suspended with their payment.

use cairn_state::{
    CHECKOUT_WATCHED_SECS, Checkout, CheckoutPayment, CheckoutState, ClaimSecret, Claiming, ClientHashes, IndexUse,
    KeyState, MAX_CHECKOUTS_OF_CLIENT, NewCheckout, OpenedCheckout, OpeningCheckout, PassCounts, PaymentBlock,
    PaymentInvoice, SeenPayment, State, StateError, StateUrl, TOP_UP_SECS, Verdict, check,
};

use crate::database::TestDatabase;

on_both!(
    a_checkout_is_found_by_its_secret_only,
    a_paid_checkout_gives_one_key,
    one_of_many_claims_gets_the_key,
    the_key_follows_the_payment,
    a_payment_that_moves_to_another_block_stays,
    only_a_higher_tip_changes_what_was_accepted,
    unpaid_checkouts_are_watched_and_removed,
    invoices_are_asked_for_in_turn,
    passes_are_summed_by_day,
    clients_have_limits,
    what_cannot_be_stored_is_refused,
    a_damaged_checkout_is_an_error,
);

const NOW: u64 = 1_700_000_000;
const PRICE: u64 = 9_000;
const DAY: u64 = 86_400;
const VALID: u64 = 31 * DAY;
const DESCRIPTOR: &str = "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";

fn new_checkout(expires_at: u64) -> NewCheckout {
    NewCheckout { plan: "wallet-monthly".to_owned(), price_sats: PRICE, valid_secs: VALID, expires_at }
}

fn client(name: &str) -> ClientHashes {
    ClientHashes { number: 1, current: name.to_owned(), previous: format!("{name} before") }
}

fn free(index: u32) -> Option<IndexUse> {
    Some(IndexUse::Free { script: index.to_be_bytes().to_vec(), address: format!("address {index}") })
}

fn taken(opening: OpeningCheckout) -> OpenedCheckout {
    let OpeningCheckout::Opened(opened) = opening else { panic!("no checkout was opened") };
    *opened
}

/// Opens a checkout on chain, in a database with a counter.
async fn on_chain(state: &State, name: &str, now: u64) -> OpenedCheckout {
    state.begin_payment_counter(DESCRIPTOR, 0).await.unwrap();
    let opening = state.open_onchain_checkout(new_checkout(now + DAY), DESCRIPTOR, &client(name), now, free).await;
    taken(opening.unwrap())
}

fn invoice(number: u8) -> PaymentInvoice {
    PaymentInvoice { provider: "simulated".to_owned(), payment_hash: [number; 32], invoice: format!("lnbcrt{number}") }
}

async fn over_lightning(state: &State, number: u8, now: u64) -> OpenedCheckout {
    let name = number.to_string();
    let opening = state.open_lightning_checkout(new_checkout(now + 3_600), invoice(number), &client(&name), now).await;
    taken(opening.unwrap())
}

/// A payment in the block at the tip.
fn paid_in(height: u32, at: u64) -> SeenPayment {
    SeenPayment {
        received_sats: PRICE,
        completed_at: Some(at),
        block: Some(PaymentBlock { height, hash: format!("block {height}") }),
        tip_height: Some(height),
        is_accepted: true,
        is_settled: false,
    }
}

/// A chain without a payment.
fn missing(tip_height: u32) -> SeenPayment {
    SeenPayment { tip_height: Some(tip_height), ..SeenPayment::default() }
}

async fn see(state: &State, checkout: &Checkout, seen: &SeenPayment, now: u64) -> Checkout {
    state.note_checkout_payment(&checkout.id, seen, now).await.unwrap().unwrap()
}

async fn a_checkout_is_found_by_its_secret_only(database: &TestDatabase) {
    let state = database.open().await;
    let one = on_chain(&state, "a", NOW).await;
    let other = over_lightning(&state, 1, NOW).await;
    assert_eq!(
        one.checkout.payment,
        CheckoutPayment::OnChain { script: 0u32.to_be_bytes().to_vec(), address: "address 0".to_owned() }
    );
    assert_eq!((one.checkout.payment.method(), other.checkout.payment.method()), ("onchain", "lightning"));
    for OpenedCheckout { checkout, secret } in [&one, &other] {
        assert_eq!(state.checkout(&checkout.id, secret).await.unwrap().as_ref(), Some(checkout));
        let read: ClaimSecret = secret.expose().parse().unwrap();
        assert_eq!(state.checkout(&checkout.id, &read).await.unwrap().as_ref(), Some(checkout));
        let shown = format!("{secret:?}");
        assert!(!shown.contains(secret.expose()) && shown.len() < 50, "{shown}");
    }
    assert_eq!(state.checkout(&one.checkout.id, &other.secret).await.unwrap(), None);
    assert_eq!(state.checkout("co_0", &one.secret).await.unwrap(), None);
    assert_eq!(state.checkouts(9).await.unwrap().len(), 2);
    // The address is given out, and no secret is stored.
    let report = check(&database.state_url()).await.unwrap();
    assert_eq!((report.checkouts, report.payments, report.problems), (2, 1, Vec::new()));
    assert!("cairn_claim_0".parse::<ClaimSecret>().is_err() && "x".parse::<ClaimSecret>().is_err());
}

async fn a_paid_checkout_gives_one_key(database: &TestDatabase) {
    let state = database.open().await;
    let OpenedCheckout { checkout, secret } = over_lightning(&state, 1, NOW).await;
    assert!(matches!(state.claim_checkout(&checkout.id, NOW).await.unwrap(), Claiming::Not(_)), "it is not paid");
    let paid = see(&state, &checkout, &SeenPayment::of_invoice(PRICE, NOW + 5, PRICE - 10), NOW + 9).await;
    assert_eq!((paid.state(NOW + 9), paid.received_sats, paid.is_settled), (CheckoutState::Paid, PRICE, true));
    assert_eq!((paid.paid_at, paid.first_paid_at), (Some(NOW + 5), Some(NOW + 9)));
    // Settled: nothing changes it.
    assert_eq!(see(&state, &paid, &SeenPayment::default(), NOW + 10).await, paid);

    let Claiming::Done(key, of_key) = state.claim_checkout(&checkout.id, NOW + 99).await.unwrap() else { panic!() };
    assert_eq!(key.expires_at, Some(NOW + 9 + VALID), "its time begins with the payment, not with the claim");
    assert_eq!(key.label, format!("checkout {}", checkout.id));
    assert_eq!(state.check(&of_key, NOW + 100).await.unwrap(), Verdict::Valid(key.clone()));
    let found = state.checkout(&checkout.id, &secret).await.unwrap().unwrap();
    assert_eq!(found.claimed, Some((NOW + 99, key.id)));
    let again = state.claim_checkout(&checkout.id, NOW + 100).await.unwrap();
    assert!(matches!(&again, Claiming::Not(of) if **of == found), "{again:?}");
    assert!(matches!(state.claim_checkout("co_0", NOW).await.unwrap(), Claiming::Unknown));
    assert_eq!(state.keys().await.unwrap().len(), 1);

    // A pass that has ended gives no key.
    let late = over_lightning(&state, 2, NOW).await.checkout;
    see(&state, &late, &SeenPayment::of_invoice(PRICE, NOW, PRICE), NOW).await;
    assert!(matches!(state.claim_checkout(&late.id, NOW + VALID).await.unwrap(), Claiming::Not(_)));
    assert!(matches!(state.claim_checkout(&late.id, NOW + VALID - 1).await.unwrap(), Claiming::Done(..)));
}

/// Many connections and two pools: one key comes of it.
async fn one_of_many_claims_gets_the_key(database: &TestDatabase) {
    let states = [database.open().await, database.open().await];
    let checkout = over_lightning(&states[0], 1, NOW).await.checkout;
    see(&states[0], &checkout, &SeenPayment::of_invoice(PRICE, NOW, PRICE), NOW).await;
    let tasks: Vec<_> = (0..40)
        .map(|n| {
            let (state, id) = (states[n % 2].clone(), checkout.id.clone());
            tokio::spawn(async move { state.claim_checkout(&id, NOW + 1).await })
        })
        .collect();
    let mut keys = 0;
    for task in tasks {
        match task.await.unwrap().unwrap() {
            Claiming::Done(..) => keys += 1,
            Claiming::Not(checkout) => assert!(checkout.claimed.is_some()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((keys, states[1].keys().await.unwrap().len()), (1, 1));
}

async fn the_key_follows_the_payment(database: &TestDatabase) {
    let state = database.open().await;
    let OpenedCheckout { checkout, .. } = on_chain(&state, "a", NOW).await;
    let part = SeenPayment { received_sats: PRICE - 1, ..SeenPayment::default() };
    let under = see(&state, &checkout, &part, NOW + 1).await;
    assert_eq!(under.state(NOW + DAY + TOP_UP_SECS), CheckoutState::Underpaid);
    assert_eq!(under.state(NOW + DAY + TOP_UP_SECS + 1), CheckoutState::Expired);
    // Complete, without the confirmations.
    let ripening = SeenPayment { is_accepted: false, ..paid_in(7, NOW + 2) };
    let open = see(&state, &checkout, &ripening, NOW + 2).await;
    assert_eq!((open.state(NOW + 2), open.first_paid_at), (CheckoutState::Open, None));
    see(&state, &checkout, &paid_in(7, NOW + 2), NOW + 3).await;
    let Claiming::Done(key, secret) = state.claim_checkout(&checkout.id, NOW + 4).await.unwrap() else { panic!() };
    let other_key = {
        let other = over_lightning(&state, 1, NOW).await.checkout;
        see(&state, &other, &SeenPayment::of_invoice(PRICE, NOW, PRICE), NOW).await;
        let Claiming::Done(_, secret) = state.claim_checkout(&other.id, NOW).await.unwrap() else { panic!() };
        secret
    };

    let gone = see(&state, &checkout, &missing(8), NOW + 5).await;
    assert_eq!(
        (gone.state(NOW + 5), gone.reverted_at, gone.received_sats),
        (CheckoutState::Reverted, Some(NOW + 5), 0)
    );
    assert_eq!(state.check(&secret, NOW + 5).await.unwrap(), Verdict::Suspended);
    let listed = state.keys().await.unwrap().into_iter().find(|of| of.id == key.id).unwrap();
    assert_eq!((listed.state(NOW + 5), listed.suspended_at), (KeyState::Suspended, Some(NOW + 5)));
    assert!(matches!(state.check(&other_key, NOW + 5).await.unwrap(), Verdict::Valid(_)), "only its own key");
    // Seen again in the same way, it changes nothing.
    assert_eq!(see(&state, &checkout, &missing(8), NOW + 6).await, gone);
    // It needs its confirmations again.
    let back = see(&state, &checkout, &SeenPayment { is_accepted: false, ..paid_in(9, NOW + 7) }, NOW + 7).await;
    assert_eq!(back.state(NOW + 7), CheckoutState::Reverted);
    assert_eq!(state.check(&secret, NOW + 7).await.unwrap(), Verdict::Suspended);
    let back = see(&state, &checkout, &SeenPayment { tip_height: Some(10), ..paid_in(9, NOW + 7) }, NOW + 8).await;
    assert_eq!((back.state(NOW + 8), back.first_paid_at), (CheckoutState::Paid, Some(NOW + 3)));
    let Verdict::Valid(again) = state.check(&secret, NOW + 8).await.unwrap() else { panic!() };
    assert_eq!(again.expires_at, key.expires_at, "a reversal moves no end");
    // An operator's revocation, and the end, come first.
    see(&state, &checkout, &missing(11), NOW + 9).await;
    assert_eq!(state.check(&secret, NOW + 3 + VALID).await.unwrap(), Verdict::Expired);
    state.revoke(&key.id, NOW + 9).await.unwrap();
    assert_eq!(state.check(&secret, NOW + 9).await.unwrap(), Verdict::Revoked);

    // A reverted checkout gives no key.
    let unclaimed = on_chain(&state, "b", NOW).await.checkout;
    see(&state, &unclaimed, &paid_in(9, NOW), NOW).await;
    see(&state, &unclaimed, &missing(10), NOW + 1).await;
    assert!(matches!(state.claim_checkout(&unclaimed.id, NOW + 2).await.unwrap(), Claiming::Not(_)));
}

async fn a_payment_that_moves_to_another_block_stays(database: &TestDatabase) {
    let state = database.open().await;
    let checkout = on_chain(&state, "a", NOW).await.checkout;
    see(&state, &checkout, &paid_in(7, NOW + DAY), NOW).await;
    // Nobody saw it missing.
    let moved = SeenPayment { is_accepted: false, ..paid_in(9, NOW + DAY + 1) };
    let moved = see(&state, &checkout, &moved, NOW + 1).await;
    assert_eq!((moved.reverted_at, moved.first_paid_at), (None, Some(NOW)));
    assert_eq!(moved.paid_in.as_ref().map(|block| block.height), Some(9));
    assert_eq!(moved.state(NOW), CheckoutState::Late, "the newer block is after the expiry");
    let settled = SeenPayment { tip_height: Some(108), is_settled: true, ..paid_in(9, NOW + DAY) };
    assert!(see(&state, &checkout, &settled, NOW + 2).await.is_settled);
    assert_eq!(state.unsettled_checkouts("", NOW, 9).await.unwrap(), []);
}

/// Two servers with one database: one of them is on a branch that lost, or behind.
async fn only_a_higher_tip_changes_what_was_accepted(database: &TestDatabase) {
    let state = database.open().await;
    let checkout = on_chain(&state, "a", NOW).await.checkout;
    let paid = see(&state, &checkout, &paid_in(7, NOW), NOW).await;
    assert_eq!(paid.judged_height, Some(7));
    for tip in [6, 7] {
        assert_eq!(see(&state, &checkout, &missing(tip), NOW + 1).await, paid, "{tip}");
    }
    // The other one is at the tip, and says so.
    let at = |tip| SeenPayment { tip_height: Some(tip), ..paid_in(7, NOW) };
    let paid = see(&state, &checkout, &at(12), NOW + 2).await;
    assert_eq!((paid.reverted_at, paid.judged_height), (None, Some(12)));
    assert_eq!(see(&state, &checkout, &missing(12), NOW + 3).await, paid);
    let gone = see(&state, &checkout, &missing(13), NOW + 4).await;
    assert_eq!((gone.reverted_at, gone.judged_height), (Some(NOW + 4), Some(13)));
    for tip in [12, 13] {
        assert_eq!(see(&state, &checkout, &at(tip), NOW + 5).await, gone, "{tip}");
    }
    let back = see(&state, &checkout, &at(14), NOW + 6).await;
    assert_eq!((back.reverted_at, back.judged_height), (None, Some(14)));
    // Before it is accepted, a payment is as it was last seen.
    let open = on_chain(&state, "b", NOW).await.checkout;
    let part = SeenPayment { received_sats: 5, ..missing(9) };
    assert_eq!(see(&state, &open, &part, NOW).await.received_sats, 5);
    assert_eq!(see(&state, &open, &missing(8), NOW).await, open);
}

async fn unpaid_checkouts_are_watched_and_removed(database: &TestDatabase) {
    let state = database.open().await;
    let [never, partly, paid] = [
        on_chain(&state, "a", NOW).await.checkout,
        on_chain(&state, "b", NOW).await.checkout,
        on_chain(&state, "c", NOW).await.checkout,
    ];
    see(&state, &partly, &SeenPayment { received_sats: 5, ..SeenPayment::default() }, NOW).await;
    see(&state, &paid, &paid_in(7, NOW), NOW).await;
    over_lightning(&state, 1, NOW).await;
    let end = NOW + DAY + CHECKOUT_WATCHED_SECS;
    let watched = async |now: u64| {
        let mut ids = Vec::new();
        let mut after = String::new();
        // Page by page.
        while let [one] = state.unsettled_checkouts(&after, now, 1).await.unwrap().as_slice() {
            after.clone_from(&one.id);
            ids.push(one.id.clone());
        }
        ids
    };
    let mut all = vec![never.id.clone(), partly.id.clone(), paid.id.clone()];
    all.sort_unstable();
    assert_eq!(watched(end - 1).await, all);
    assert_eq!(watched(end).await, std::slice::from_ref(&paid.id), "a paid one may still be reverted");

    assert_eq!(state.purge_checkouts(NOW + 3_600 + CHECKOUT_WATCHED_SECS - 1).await.unwrap(), 0);
    assert_eq!(state.purge_checkouts(end).await.unwrap(), 2, "the invoice, and the one without a payment");
    let mut left: Vec<String> = state.checkouts(9).await.unwrap().into_iter().map(|of| of.id).collect();
    left.sort_unstable();
    let mut expected = vec![partly.id, paid.id];
    expected.sort_unstable();
    assert_eq!(left, expected);
    assert_eq!(state.purge_checkouts(NOW + DAY + 400 * DAY).await.unwrap(), 1);
    assert_eq!(state.purge_checkouts(NOW + VALID + 400 * DAY).await.unwrap(), 1);
    // Its address stays given out.
    assert_eq!(check(&database.state_url()).await.unwrap().payments, 3);
}

async fn invoices_are_asked_for_in_turn(database: &TestDatabase) {
    let state = database.open().await;
    let all = [over_lightning(&state, 1, NOW).await.checkout, over_lightning(&state, 2, NOW).await.checkout];
    let next = async |now: u64| {
        let found = state.unpaid_invoices(now, 30, 1).await.unwrap();
        found.first().map(|of| of.id.clone())
    };
    let first = next(NOW).await.unwrap();
    state.note_invoice_asked(&first, NOW).await.unwrap();
    let second = next(NOW).await.unwrap();
    assert_ne!(first, second);
    state.note_invoice_asked(&second, NOW + 1).await.unwrap();
    assert_eq!(next(NOW + 30).await, None);
    assert_eq!(next(NOW + 31).await, Some(first));
    assert!(next(NOW + 3_600 + 3_599).await.is_some(), "a payment that began in time may end a little later");
    assert_eq!(next(NOW + 3_600 + 3_600).await, None);
    let listed = async |after: &str| state.unpaid_lightning_checkouts(after, 9).await.unwrap();
    let [one, two] = listed("").await.try_into().unwrap();
    assert_eq!(listed(&one.id).await, [two]);
    for checkout in &all {
        see(&state, checkout, &SeenPayment::of_invoice(PRICE, NOW, PRICE), NOW).await;
    }
    assert_eq!((next(NOW + 99).await, listed("").await), (None, Vec::new()));
}

async fn passes_are_summed_by_day(database: &TestDatabase) {
    let state = database.open().await;
    let first_day = NOW / DAY * DAY;
    for (number, at) in [(1, first_day), (2, first_day + DAY - 1), (3, first_day + DAY)] {
        let checkout = over_lightning(&state, number, at).await.checkout;
        see(&state, &checkout, &SeenPayment::of_invoice(PRICE, at, PRICE), at).await;
    }
    let on_chain = on_chain(&state, "a", first_day).await.checkout;
    let more = SeenPayment { received_sats: PRICE + 5, ..paid_in(7, first_day) };
    see(&state, &on_chain, &more, first_day).await;
    over_lightning(&state, 4, first_day).await;
    let sums = async || {
        let rows = state.sales_report(first_day, first_day + DAY).await.unwrap();
        assert!(rows.iter().all(|row| row.capability == "wallet-monthly" && row.method.unit() == "sats"));
        rows.into_iter().map(|row| (row.day, row.method.name(), row.count, row.amount)).collect::<Vec<_>>()
    };
    let lightning = [(first_day, "lightning", 2, 2 * PRICE), (first_day + DAY, "lightning", 1, PRICE)];
    let both = [lightning[0], (first_day, "onchain", 1, PRICE), lightning[1]];
    assert_eq!(sums().await, both);
    let counts = state.sales_counts(first_day).await.unwrap();
    assert_eq!((counts.open_checkouts, counts.reverted_passes), (1, 0));
    let sold = PassCounts {
        open_checkouts: 1,
        reverted: 0,
        over_lightning: 3,
        over_lightning_sats: 3 * PRICE,
        on_chain: 1,
        on_chain_sats: PRICE,
    };
    assert_eq!(state.pass_counts(first_day).await.unwrap(), sold);
    // A payment that is gone does not count as a sale until it is back.
    see(&state, &on_chain, &missing(8), first_day + DAY).await;
    assert_eq!(sums().await, lightning);
    let counts = state.sales_counts(first_day + 3_600).await.unwrap();
    assert_eq!((counts.open_checkouts, counts.reverted_passes), (0, 1));
    let gone = PassCounts { open_checkouts: 0, reverted: 1, on_chain: 0, on_chain_sats: 0, ..sold };
    assert_eq!(state.pass_counts(first_day + 3_600).await.unwrap(), gone);
    see(&state, &on_chain, &paid_in(9, first_day + DAY), first_day + DAY).await;
    assert_eq!(sums().await, both);
}

async fn clients_have_limits(database: &TestDatabase) {
    let state = database.open().await;
    for at in 0..u64::from(MAX_CHECKOUTS_OF_CLIENT) {
        on_chain(&state, "a", NOW + at).await;
    }
    let another = async |name: &ClientHashes, now: u64| {
        state.open_onchain_checkout(new_checkout(now + DAY), DESCRIPTOR, name, now, free).await.unwrap()
    };
    for name in [client("a"), ClientHashes { number: 2, current: "new".to_owned(), previous: "a".to_owned() }] {
        let full = another(&name, NOW + 9).await;
        assert!(matches!(full, OpeningCheckout::TooManyOfClient { until } if until == NOW + DAY), "{full:?}");
        let room = state.checkout_room(&name, NOW + 9).await.unwrap();
        assert!(matches!(room, OpeningCheckout::TooManyOfClient { .. }), "{room:?}");
    }
    assert!(matches!(state.checkout_room(&client("b"), NOW + 9).await.unwrap(), OpeningCheckout::Room));
    let refused = state.open_lightning_checkout(new_checkout(NOW + DAY), invoice(9), &client("a"), NOW + 9).await;
    assert!(matches!(refused.unwrap(), OpeningCheckout::TooManyOfClient { .. }));
    // Paid ones do not count, and their client is forgotten.
    let first = state.checkouts(9).await.unwrap().pop().unwrap();
    see(&state, &first, &paid_in(7, NOW), NOW).await;
    let next = taken(another(&client("a"), NOW + 9).await);
    assert_eq!(next.checkout.payment.method(), "onchain");
    let CheckoutPayment::OnChain { address, .. } = next.checkout.payment else { panic!() };
    assert_eq!(address, "address 5", "a refusal gives no address out");
}

async fn what_cannot_be_stored_is_refused(database: &TestDatabase) {
    let state = database.open().await;
    state.begin_payment_counter(DESCRIPTOR, 0).await.unwrap();
    let good = || new_checkout(NOW + DAY);
    for new in [
        NewCheckout { plan: String::new(), ..good() },
        NewCheckout { plan: "x".repeat(101), ..good() },
        NewCheckout { price_sats: 0, ..good() },
        NewCheckout { price_sats: u64::MAX, ..good() },
        NewCheckout { valid_secs: 0, ..good() },
    ] {
        let refused = state.open_onchain_checkout(new.clone(), DESCRIPTOR, &client("a"), NOW, free).await;
        assert!(matches!(refused.unwrap_err(), StateError::Sale), "{new:?}");
        let refused = state.open_lightning_checkout(new.clone(), invoice(1), &client("a"), NOW).await;
        assert!(matches!(refused.unwrap_err(), StateError::Sale), "{new:?}");
    }
    let endless = NewCheckout { expires_at: u64::MAX, ..good() };
    let refused = state.open_onchain_checkout(endless, DESCRIPTOR, &client("a"), NOW, free).await;
    assert!(matches!(refused.unwrap_err(), StateError::Time));
    let empty = PaymentInvoice { invoice: String::new(), ..invoice(1) };
    let refused = state.open_lightning_checkout(good(), empty, &client("a"), NOW).await;
    assert!(matches!(refused.unwrap_err(), StateError::Sale));
    let none = state.open_onchain_checkout(good(), DESCRIPTOR, &client("a"), NOW, |_| None).await;
    assert!(matches!(none.unwrap_err(), StateError::NoAddress));
    // An invoice pays one checkout.
    over_lightning(&state, 1, NOW).await;
    let second = state.open_lightning_checkout(good(), invoice(1), &client("b"), NOW).await;
    assert!(matches!(second.unwrap_err(), StateError::Database { .. }));
    assert_eq!(state.checkouts(9).await.unwrap().len(), 1);
    let unknown = state.note_checkout_payment("co_0", &SeenPayment::default(), NOW).await.unwrap();
    assert_eq!(unknown, None);
}

async fn a_damaged_checkout_is_an_error(database: &TestDatabase) {
    let state = database.open().await;
    let OpenedCheckout { checkout, secret } = over_lightning(&state, 1, NOW).await;
    database.execute("UPDATE checkouts SET created_at = -1").await;
    let errors = [
        state.checkout(&checkout.id, &secret).await.unwrap_err(),
        state.claim_checkout(&checkout.id, NOW).await.unwrap_err(),
        state.note_checkout_payment(&checkout.id, &SeenPayment::default(), NOW).await.unwrap_err(),
        state.checkouts(9).await.unwrap_err(),
        state.unpaid_invoices(NOW, 30, 9).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, StateError::Row(_)), "{error}");
    }
    assert_eq!(state.keys().await.unwrap(), []);
}

/// The agreement and the claim count as changes; how a payment was last seen does not.
#[tokio::test]
async fn an_older_copy_without_a_claim_is_noticed() {
    let folder = cairn_testkit::temp_dir();
    let url = StateUrl::in_folder(folder.path());
    let state = State::open(&url).await.unwrap();
    let checkout = over_lightning(&state, 1, NOW).await.checkout;
    let copy = folder.path().join("copy");
    cairn_state::backup(&url, &copy, false).await.unwrap();
    see(&state, &checkout, &SeenPayment::of_invoice(PRICE, NOW, PRICE), NOW).await;
    assert!(matches!(state.claim_checkout(&checkout.id, NOW).await.unwrap(), Claiming::Done(..)));
    state.close().await;
    let report = check(&url).await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    std::fs::copy(&copy, folder.path().join("state.sqlite")).unwrap();
    assert!(matches!(State::open(&url).await.unwrap_err(), StateError::Lost { .. }));
}
