//! Subscriptions to silent payments, as the server Frigate has them.

use cairn_domain::silent_payments::Scanner;
use cairn_http::Cost;
use cairn_model::Height;
use serde_json::Value;

use crate::{
    answer::{Answer, write},
    client::Client,
    failure::Failure,
    params::Params,
    scans::{ScanRange, not_indexed},
};

/// Larger numbers are times in seconds since 1970, as in nLockTime.
const FIRST_TIME: u64 = 500_000_000;

/// The beginning of a scan, as clients give it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    First,
    Height(Height),
    Time(u32),
    Range(Height, Height),
}

fn start(params: &Params) -> Result<Start, Failure> {
    let wrong = || {
        Failure::params(
            "start is neither a height, nor a time in seconds since 1970, nor a range of heights as in \"800000-800100\"",
        )
    };
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let single = |number: u64| {
        let fits = u32::try_from(number).map_err(|_| wrong())?;
        Ok(if number > FIRST_TIME { Start::Time(fits) } else { Start::Height(fits) })
    };
    match params.get(2, "start") {
        None | Some(Value::Null) => Ok(Start::First),
        Some(Value::Number(given)) => single(given.as_u64().ok_or_else(wrong)?),
        Some(Value::String(text)) => match text.split_once('-') {
            None => single(number(text).ok_or_else(wrong)?),
            Some((from, to)) => {
                let height = |text| number(text).and_then(|height| Height::try_from(height).ok()).ok_or_else(wrong);
                let (from, to) = (height(from)?, height(to)?);
                if from <= to { Ok(Start::Range(from, to)) } else { Err(wrong()) }
            }
        },
        Some(_) => Err(wrong()),
    }
}

fn scanner(params: &Params, labels: Vec<u32>) -> Result<Scanner, Failure> {
    let (scan, spend) = (params.text(0, "scan_private_key")?, params.text(1, "spend_public_key")?);
    Scanner::read(scan, spend, labels).map_err(|error| Failure::params(error.to_string()))
}

fn labels(params: &Params) -> Result<Vec<u32>, Failure> {
    let wrong = || Failure::params("labels is not a list of integers from 0 to 4294967295");
    match params.get(3, "labels") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(value) => {
            let all = value.as_array().ok_or_else(wrong)?.iter();
            all.map(|label| label.as_u64().and_then(|label| u32::try_from(label).ok()).ok_or_else(wrong)).collect()
        }
    }
}

pub(super) async fn subscribe(client: &mut Client, params: &Params) -> Answer {
    let (start, scanner) = (start(params)?, scanner(params, labels(params)?)?);
    let range = client.electrum.read(Cost::Light, client.asker, move |at, _| {
        let span = at.view.silent_payments().span()?.ok_or_else(not_indexed)?;
        let (chain, network) = (at.view.chain(), at.view.network());
        let since =
            |time: u32| time.checked_sub(1).and_then(|before| chain.height_at(before)).map_or(0, |last| last + 1);
        let range = match start {
            Start::First => ScanRange { start: span.first, end: None },
            Start::Height(height) => ScanRange { start: height, end: None },
            Start::Time(time) => ScanRange { start: since(time), end: None },
            Start::Range(from, to) => ScanRange { start: from, end: Some(to) },
        };
        Ok((range, network))
    });
    let (range, network) = range.await?;
    write(&client.scans.begin(&client.electrum, client.asker, (scanner, network), range)?.value())
}

pub(super) async fn unsubscribe(client: &mut Client, params: &Params) -> Answer {
    let scanner = scanner(params, Vec::new())?;
    let network = client.electrum.read(Cost::Light, client.asker, |at, _| Ok(at.view.network())).await?;
    let address = scanner.address(network.to_bitcoin());
    if client.scans.end(&address) {
        return write(&address);
    }
    Err(Failure::bad(format!("there is no subscription to {address}")))
}

/// Versions of silent payments that this index serves, for `server.features`.
pub(super) async fn versions(client: &Client) -> Result<Vec<u32>, Failure> {
    let read = client.electrum.read(Cost::Light, client.asker, |at, _| Ok(at.view.silent_payments().span()?.is_some()));
    Ok(if read.await? { vec![0] } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given(value: Value) -> Result<Start, i32> {
        start(&Params::List(vec![Value::Null, Value::Null, value])).map_err(|failure| failure.code)
    }

    #[test]
    fn beginnings() {
        assert_eq!(start(&Params::List(Vec::new())), Ok(Start::First));
        assert_eq!(given(Value::Null), Ok(Start::First));
        assert_eq!(given(json!(0)), Ok(Start::Height(0)));
        assert_eq!(given(json!("840000")), Ok(Start::Height(840_000)));
        assert_eq!(given(json!(500_000_001)), Ok(Start::Time(500_000_001)));
        assert_eq!(given(json!("1-1")), Ok(Start::Range(1, 1)));
        for wrong in [
            json!(-1),
            json!(1.5),
            json!(true),
            json!([]),
            json!("2-1"),
            json!("-1"),
            json!("1-"),
            json!("x"),
            json!("+1"),
            json!(4_294_967_296_u64),
            json!("1-2-3"),
        ] {
            assert_eq!(given(wrong.clone()), Err(Failure::BAD_PARAMS), "{wrong}");
        }
    }

    #[test]
    fn keys_are_not_repeated() {
        let secret = "0f694e068028a717f8af6b9411f9a133dd3565258714cc226594b34db90c1f2";
        let spend = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
        for (scan, spend) in [(secret, spend), (&format!("{secret}c"), secret), ("", ""), (&"0".repeat(64), spend)] {
            let params = Params::List(vec![json!(scan), json!(spend)]);
            let failure = scanner(&params, Vec::new()).unwrap_err();
            assert!(failure.code == Failure::BAD_PARAMS && !failure.message.contains("0f69"), "{}", failure.message);
        }
        let params = Params::List(vec![json!(format!("{secret}c")), json!(spend)]);
        assert!(scanner(&params, (0..=10).collect()).is_ok());
        assert!(scanner(&params, (0..=11).collect()).is_err());
        assert_eq!(format!("{:?}", scanner(&params, Vec::new()).unwrap()), "Scanner { .. }");
    }
}
