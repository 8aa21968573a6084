//! Fees and the mempool.

use cairn_chain::{Question, Refused};
use cairn_domain::FeeRate;
use cairn_http::Cost;
use cairn_model::NodeFloor;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, write},
    client::Client,
    electrum::said,
    failure::Failure,
    params::Params,
};

/// Farthest block that the node estimates for.
const MAX_TARGET: u32 = 1_008;
/// The answer without an estimate.
const UNKNOWN: i32 = -1;
/// Bitcoin Core's default of its fixed minimum and of its increment, in satoshis per 1,000 virtual bytes.
const DEFAULT_RELAY_FEE: u64 = 1_000;

/// Satoshis per 1,000 virtual bytes in bitcoin.
fn btc(sats: u64) -> f64 {
    // Feerates are far below 2^53.
    sats as f64 / 100_000_000.0
}

pub(super) async fn estimate(client: &Client, params: &Params) -> Answer {
    let target = params.number(0, "number")?.clamp(1, MAX_TARGET);
    let target = u16::try_from(target).map_err(|_| Failure::params("number is too large"))?;
    let mode = match params.get(1, "mode").filter(|_| client.is_1_6()) {
        None | Some(Value::Null) => None,
        Some(mode) => match mode.as_str().map(str::to_ascii_uppercase).as_deref() {
            Some("ECONOMICAL") => Some("ECONOMICAL"),
            Some("CONSERVATIVE") => Some("CONSERVATIVE"),
            Some("UNSET") => Some("UNSET"),
            _ => return Err(Failure::bad("mode is not ECONOMICAL, CONSERVATIVE or UNSET")),
        },
    };
    let chain = client.electrum.chain.clone();
    let asked = client.electrum.work(Cost::Standard, client.asker, move |_| {
        // Wallets give up a server over an error here; the protocol has a number for an unknown feerate.
        let Ok(node) = chain.node() else { return Ok(json!(UNKNOWN)) };
        match node.ask(&Question::EstimateFee(target, mode)) {
            Ok(answer) => Ok(answer.get("feerate").cloned().unwrap_or_else(|| json!(UNKNOWN))),
            Err(Refused::Rejected { reason, .. }) => Err(Failure::new(Failure::NODE, reason).into()),
            Err(Refused::Unavailable) => Ok(json!(UNKNOWN)),
        }
    });
    write(&asked.await.map_err(said)?)
}

async fn floor(client: &Client) -> Result<Option<NodeFloor>, Failure> {
    client.electrum.read(Cost::Light, client.asker, |at, _| Ok(at.mempool()?.stats(0).floor)).await
}

pub(super) async fn relay(client: &Client) -> Answer {
    let floor = floor(client).await?;
    write(&btc(floor.map_or(DEFAULT_RELAY_FEE, |floor| floor.min_relay_fee)))
}

pub(super) async fn info(client: &Client) -> Answer {
    let floor = floor(client).await?;
    let chain = client.electrum.chain.clone();
    let asked = client.electrum.work(Cost::Standard, client.asker, move |_| {
        // Without a node, the defaults are answered.
        let Ok(node) = chain.node() else { return Ok(Value::Null) };
        let unknown = || Failure::new(Failure::NODE, "the node cannot be reached; try again later");
        Ok(node.ask(&Question::MempoolInfo).map_err(|_| unknown())?)
    });
    let answer = asked.await.map_err(said)?;
    let of = |name: &str, known: Option<u64>| match answer.get(name) {
        Some(value @ Value::Number(_)) => value.clone(),
        _ => json!(btc(known.unwrap_or(DEFAULT_RELAY_FEE))),
    };
    write(&json!({
        "mempoolminfee": of("mempoolminfee", floor.map(|floor| floor.entry_fee())),
        "minrelaytxfee": of("minrelaytxfee", floor.map(|floor| floor.min_relay_fee)),
        "incrementalrelayfee": of("incrementalrelayfee", None),
    }))
}

pub(super) async fn histogram(client: &Client) -> Answer {
    let found = client.electrum.read(Cost::Light, client.asker, |at, _| {
        let buckets = at.projection()?.map_or(&[][..], |projection| &projection.histogram);
        let filled = buckets.iter().rev().filter(|bucket| bucket.vsize > 0);
        Ok(filled.map(|bucket| json!([sats_per_vbyte(bucket.from), bucket.vsize])).collect::<Vec<Value>>())
    });
    write(&found.await?)
}

/// A feerate as a number, whole if it is.
fn sats_per_vbyte(rate: FeeRate) -> Value {
    if rate.0.is_multiple_of(1_000) { json!(rate.0 / 1_000) } else { json!(rate.0 as f64 / 1_000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feerates_are_numbers() {
        assert_eq!(sats_per_vbyte(FeeRate(2_000)).to_string(), "2");
        assert_eq!(sats_per_vbyte(FeeRate(1_500)).to_string(), "1.5");
        assert_eq!(json!(btc(1_000)).to_string(), "0.00001");
        assert_eq!(json!(btc(101_079)).to_string(), "0.00101079");
    }
}
