//! `cairn access unknown` and `cairn access conclude`: x402 payments whose outcome is not known.

use cairn_clock::now_secs;
use cairn_state::{SettlementOutcome, State, StateError, X402Payment, X402PaymentKey, X402PaymentState};
use cairn_x402::{Address, Network};

use super::laid_out;
use crate::{
    cli::{AccessConclude, AccessUnknown},
    exit::{Exit, Failure},
    out::{harmless, print, time},
};

const HEADER: [&str; 6] = ["payment", "capability", ">amount", "taken at", "valid before", "why it is not known"];
const HASH_DIGITS: usize = 64;

pub(super) async fn unknown(state: &State, args: &AccessUnknown) -> Result<Exit, Failure> {
    let payments = state.open_settlements(now_secs(), args.limit).await?;
    let rows: Vec<Vec<String>> = payments.iter().map(row).collect();
    print(&laid_out(args.format, &HEADER, &rows))?;
    Ok(Exit::Done)
}

fn row(payment: &X402Payment) -> Vec<String> {
    let content = &payment.content;
    let why = match &payment.state {
        X402PaymentState::Unknown { reason } => reason.as_str(),
        _ => "the process died while it was settled",
    };
    vec![
        name(&content.key),
        harmless(&content.capability),
        content.amount.to_string(),
        time(payment.taken_at),
        time(content.valid_before),
        harmless(why),
    ]
}

/// The name of a payment on the command line.
fn name(key: &X402PaymentKey) -> String {
    format!("eip155:{}/{}/{}/0x{}", key.chain_id, harmless(&key.asset), harmless(&key.payer), hex::encode(key.nonce))
}

/// Reads the name of a payment.
fn key(text: &str) -> Option<X402PaymentKey> {
    let mut parts = text.trim().split('/');
    let (network, asset, payer, nonce) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let network: Network = network.parse().ok()?;
    let lower = |text: &str| text.parse().ok().map(|at: Address| format!("0x{}", hex::encode(at.as_bytes())));
    let mut bytes = [0; 32];
    hex::decode_to_slice(nonce.strip_prefix("0x")?, &mut bytes).ok()?;
    let key = X402PaymentKey { chain_id: network.0, asset: lower(asset)?, payer: lower(payer)?, nonce: bytes };
    parts.next().is_none().then_some(key)
}

pub(super) async fn conclude(state: &State, args: &AccessConclude) -> Result<Exit, Failure> {
    let key = key(&args.payment).ok_or_else(|| {
        Failure::usage("this is not the name of an x402 payment")
            .hint("copy it from `cairn access unknown`: chain/token/payer/nonce")
    })?;
    let (outcome, said) = match (&args.transaction, &args.refused) {
        (Some(hash), _) if is_hash(hash) => {
            let transaction = hash.trim().to_ascii_lowercase();
            (SettlementOutcome::Settled { transaction }, "settled; its client gets the answer with the same payment")
        }
        (Some(_), _) => {
            return Err(Failure::usage("--transaction is not the hash of a transaction")
                .hint("give 0x and 64 hexadecimal digits, from the event AuthorizationUsed of the token"));
        }
        (None, reason) => {
            (SettlementOutcome::Refused { reason: reason.clone().unwrap_or_default() }, "refused; it opens nothing")
        }
    };
    let concluded = state.reconcile_x402_payment(&key, &outcome, now_secs()).await.map_err(|error| match error {
        StateError::Sale => Failure::usage("--refused cannot be stored")
            .hint("a reason has 1 to 500 characters, and no control characters"),
        other => other.into(),
    })?;
    if concluded {
        print(&format!("{} is {said}\n", name(&key)))?;
        return Ok(Exit::Done);
    }
    let failure = Failure::new(Exit::Other, "no payment with an unknown outcome has this name");
    Err(failure.hint("`cairn access unknown` lists them; a server may have found the outcome out meanwhile"))
}

fn is_hash(text: &str) -> bool {
    let digits = text.trim().strip_prefix("0x").unwrap_or_default();
    digits.len() == HASH_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cairn_state::{NewX402Payment, StateUrl, X402Taking};
    use clap::Parser;

    use super::*;
    use crate::cli::{AccessArgs, AccessCommand};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        access: AccessArgs,
    }

    fn parsed(words: &[&str]) -> Result<AccessCommand, clap::Error> {
        Line::try_parse_from([&["cairn"], words].concat()).map(|line| line.access.what)
    }

    fn new() -> NewX402Payment {
        NewX402Payment {
            key: X402PaymentKey {
                chain_id: 8453,
                asset: format!("0x{}", "ab".repeat(20)),
                payer: format!("0x{}", "cd".repeat(20)),
                nonce: [7; 32],
            },
            fingerprint: [0; 32],
            capability: "wallet_summary".to_owned(),
            amount: 10_000,
            payload: "{}".to_owned(),
            valid_before: 100,
        }
    }

    #[test]
    fn a_name_is_read_as_it_is_printed() {
        let key_of = new().key;
        assert_eq!(key(&name(&key_of)), Some(key_of.clone()));
        for wrong in ["", "a/b/c/d", &name(&key_of).replace("eip155:", ""), &format!("{}/x", name(&key_of))] {
            assert_eq!(key(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn an_operator_concludes_a_payment_once() {
        let folder = cairn_testkit::temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let new = new();
        let X402Taking::Taken(lease) = state.take_x402_payment(&new, "one", 30, 50).await.unwrap() else { panic!() };
        assert!(state.begin_settling(&lease, 30, 50).await.unwrap());
        let unknown = SettlementOutcome::Unknown { reason: "a time-out".to_owned() };
        assert!(state.finish_settling(&lease, &unknown, 51).await.unwrap());
        let rows: Vec<_> = state.open_settlements(now_secs(), 9).await.unwrap().iter().map(row).collect();
        assert_eq!(
            rows,
            [[
                name(&new.key).as_str(),
                "wallet_summary",
                "10000",
                "1970-01-01T00:00:50Z",
                "1970-01-01T00:01:40Z",
                "a time-out",
            ]]
        );
        assert_eq!(state.settlements_to_ask(now_secs(), 9).await.unwrap(), [], "its authorization ended long ago");
        let (payment, hash) = (name(&new.key), format!("0x{}", "EF".repeat(32)));
        let run = async |words: &[&str]| {
            let AccessCommand::Conclude(args) = parsed(words).unwrap() else { panic!() };
            conclude(&state, &args).await
        };
        let wrong = run(&["conclude", &payment, "--transaction", "0x12"]).await.unwrap_err().to_string();
        assert!(wrong.contains("64 hexadecimal digits"), "{wrong}");
        run(&["conclude", &payment, "--transaction", &hash]).await.unwrap();
        let row = state.x402_payment(&new.key).await.unwrap().unwrap();
        assert!(matches!(&row.state, X402PaymentState::Settled { transaction, delivered_at: None, .. }
            if *transaction == hash.to_ascii_lowercase()));
        let second = run(&["conclude", &payment, "--refused", "cancelled"]).await.unwrap_err().to_string();
        assert!(second.contains("no payment with an unknown outcome"), "{second}");
        // One of both outcomes, and not both.
        assert!(parsed(&["conclude", &payment]).is_err());
        assert!(parsed(&["conclude", &payment, "--transaction", &hash, "--refused", "x"]).is_err());
    }
}
