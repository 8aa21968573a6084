//! Transactions for the node: to send, alone or as a package, or to test.

use std::time::{Duration, Instant};

use axum::{
    Router,
    extract::{Query, Request, State},
    http::request::Parts,
    routing::{get, post},
};
use bitcoin::{Transaction, consensus::deserialize};
use cairn_chain::{BroadcastLimits, Chain, Question, Refused};
use cairn_http::{ApiError, Cost, ErrorCode, Work};
use cairn_link::Absent;
use cairn_model::Txid;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    answer::{Age, Answer, Refusal},
    state::Esplora,
};

/// Transactions of a package.
const MAX_PACKAGE: usize = 25;
/// Digits of a transaction of a package: more than 60 bytes, and no more than nodes relay.
const DIGITS: std::ops::Range<usize> = 120..800_000;
/// The node's answer to bytes that are not a transaction.
const UNDECODABLE: (i64, &str) = (-22, "TX decode failed. Make sure the tx has at least one input.");
/// How long an answer waits at most until the mempool has the transactions that the node has accepted.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// How long it waits at a time: in between, the request may be cancelled.
const WAIT: Duration = Duration::from_millis(100);

/// The routes that hand transactions to the node.
pub(crate) fn routes() -> Router<Esplora> {
    Router::new()
        .route("/tx", post(send))
        .route("/broadcast", get(send_by_query))
        .route("/txs/package", post(package))
        .route("/txs/test", post(test))
}

/// The text of a request's body.
async fn text_of(esplora: &Esplora, request: Request) -> Result<(String, Parts), Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = esplora.api().body(body, &parts).await.map_err(Refusal::Written)?;
    let text = String::from_utf8(bytes.into()).map_err(|error| Refusal::bad(error.to_string()))?;
    Ok((text, parts))
}

async fn send(State(esplora): State<Esplora>, request: Request) -> Result<Answer, Refusal> {
    let (text, from) = text_of(&esplora, request).await?;
    broadcast(esplora, &from, text).await
}

/// A transaction in the query string.
#[derive(Debug, Deserialize)]
struct InQuery {
    tx: Option<String>,
}

async fn send_by_query(
    State(esplora): State<Esplora>,
    Query(query): Query<InQuery>,
    from: Parts,
) -> Result<Answer, Refusal> {
    let text = query.tx.ok_or_else(|| Refusal::bad("Missing tx"))?;
    broadcast(esplora, &from, text).await
}

async fn broadcast(esplora: Esplora, from: &Parts, text: String) -> Result<Answer, Refusal> {
    let chain = esplora.chain();
    esplora
        .work(Cost::Heavy, from, move |work| {
            const METHOD: &str = "sendrawtransaction";
            let (code, reason) = UNDECODABLE;
            let undecodable = || rpc_error(METHOD, code, reason);
            let raw = hex::decode(text.trim()).map_err(|_| undecodable())?;
            work.read(raw.len())?;
            deserialize::<Transaction>(&raw).map_err(|_| undecodable())?;
            let node = chain.node()?;
            work.give_turn_back();
            let sent = node.broadcast(&raw, BroadcastLimits::default());
            let txid = sent.map_err(|refused| of_node(METHOD, refused))?;
            wait_for(&chain, work, &[txid])?;
            Ok(Answer::text(txid.to_string(), Age::None))
        })
        .await
}

/// Waits until the mempool has these transactions, so that clients find what they have sent. Gives up after
/// [`MAX_WAIT`].
fn wait_for(chain: &Chain, work: &Work, txids: &[Txid]) -> Result<(), Refusal> {
    let (slot, started) = (chain.index().mempool(), Instant::now());
    loop {
        work.poll()?;
        let mark = slot.mark();
        let pinned = slot.pin();
        let is_readable = matches!(pinned.absent(None), None | Some(Absent::OtherTip));
        let left = MAX_WAIT.saturating_sub(started.elapsed());
        let has_all = || txids.iter().all(|txid| pinned.mempool().get(txid).is_some());
        if !is_readable || left.is_zero() || has_all() {
            return Ok(());
        }
        drop(pinned);
        slot.wait(mark, left.min(WAIT));
    }
}

/// Limits in the query string, in bitcoin: `maxfeerate` per 1,000 virtual bytes, and `maxburnamount`.
#[derive(Debug, Deserialize)]
struct LimitsInQuery {
    maxfeerate: Option<String>,
    maxburnamount: Option<String>,
}

/// Satoshis per bitcoin.
const COIN: f64 = 100_000_000.0;

impl LimitsInQuery {
    fn parse(&self) -> Result<BroadcastLimits, Refusal> {
        let sats = |text: &Option<String>, name: &str, unit: f64| {
            let parsed =
                text.as_ref().map(|text| text.parse::<f64>().ok().filter(|btc| btc.is_finite() && *btc >= 0.0));
            match parsed {
                Some(None) => Err(Refusal::bad(format!("Invalid {name}"))),
                // Rounded up, since a limit of 0 stands for none; too large ones saturate.
                Some(Some(btc)) => Ok(Some((btc * unit).ceil() as u64)),
                None => Ok(None),
            }
        };
        let rate = sats(&self.maxfeerate, "maxfeerate", COIN / 1_000.0)?;
        Ok(BroadcastLimits {
            max_fee_rate_sat_vb: rate.map(|rate| u32::try_from(rate).unwrap_or(u32::MAX)),
            max_burn_sats: sats(&self.maxburnamount, "maxburnamount", COIN)?,
        })
    }
}

async fn package(
    State(esplora): State<Esplora>,
    Query(limits): Query<LimitsInQuery>,
    request: Request,
) -> Result<Answer, Refusal> {
    ask(esplora, limits, request, Question::SubmitPackage, accepted).await
}

async fn test(
    State(esplora): State<Esplora>,
    Query(limits): Query<LimitsInQuery>,
    request: Request,
) -> Result<Answer, Refusal> {
    ask(esplora, limits, request, Question::TestAccept, |_| Vec::new()).await
}

/// The transactions of a package that the node has in its mempool by its own answer.
fn accepted(answer: &Value) -> Vec<Txid> {
    let results = answer.get("tx-results").and_then(Value::as_object);
    let is_accepted = |result: &&Value| result.get("error").is_none();
    let txid = |result: &Value| result.get("txid")?.as_str()?.parse().ok();
    results.into_iter().flat_map(Map::values).filter(is_accepted).filter_map(txid).collect()
}

/// Passes transactions to the node, and its answer to the client: once the mempool has what `accepted` finds in it.
async fn ask(
    esplora: Esplora,
    limits: LimitsInQuery,
    request: Request,
    question: fn(Vec<Vec<u8>>, BroadcastLimits) -> Question,
    accepted: fn(&Value) -> Vec<Txid>,
) -> Result<Answer, Refusal> {
    let (text, from) = text_of(&esplora, request).await?;
    let chain = esplora.chain();
    esplora
        .work(Cost::Heavy, &from, move |work| {
            work.read(text.len())?;
            let question = question(transactions(&text)?, limits.parse()?);
            let node = chain.node()?;
            work.give_turn_back();
            let answer = node.ask(&question).map_err(|refused| of_node(question.method(), refused))?;
            wait_for(&chain, work, &accepted(&answer))?;
            Answer::json(&answer, Age::None)
        })
        .await
}

/// The transactions of a JSON list of hexadecimal texts.
fn transactions(text: &str) -> Result<Vec<Vec<u8>>, Refusal> {
    let all: Vec<String> = serde_json::from_str(text).map_err(|error| Refusal::bad(error.to_string()))?;
    if all.len() > MAX_PACKAGE {
        return Err(Refusal::bad(format!("Exceeded maximum of {MAX_PACKAGE} transactions")));
    }
    let decode = |(index, digits): (usize, &String)| {
        if !DIGITS.contains(&digits.len()) {
            return Err(Refusal::bad(format!("Invalid transaction size for item {index}")));
        }
        hex::decode(digits).map_err(|_| Refusal::bad(format!("Invalid transaction hex for item {index}")))
    };
    all.iter().enumerate().map(decode).collect()
}

/// Why the node did not do what a method asks for.
fn of_node(method: &str, refused: Refused) -> Refusal {
    match refused {
        Refused::Rejected { code, reason } => rpc_error(method, code, &reason),
        Refused::Unavailable => {
            ApiError::unavailable(ErrorCode::NodeUnavailable, "the node cannot be reached", 5).into()
        }
    }
}

/// The node's error in the form of electrs, in which clients look for its code and message.
fn rpc_error(method: &str, code: i64, reason: &str) -> Refusal {
    Refusal::bad(format!("{method} RPC error: {}", json!({"code": code, "message": reason})))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
        match result.unwrap_err() {
            Refusal::Said(status, text) if status.as_u16() == 400 => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_of_the_node_keep_code_and_message() {
        let refused = Refused::Rejected { code: -27, reason: "Transaction \"outputs\" already in utxo set".to_owned() };
        let text = text_of(Err::<(), _>(of_node("sendrawtransaction", refused)));
        let expected = r#"{"code":-27,"message":"Transaction \"outputs\" already in utxo set"}"#;
        assert_eq!(text, format!("sendrawtransaction RPC error: {expected}"));
    }

    #[test]
    fn packages_are_checked_before_the_node_is_asked() {
        let list = |all: &[String]| serde_json::to_string(all).unwrap();
        let fine = "00".repeat(61);
        assert_eq!(transactions(&list(std::slice::from_ref(&fine))).unwrap(), [vec![0; 61]]);
        assert_eq!(text_of(transactions(&list(&vec![fine.clone(); 26]))), "Exceeded maximum of 25 transactions");
        let short = list(&[fine.clone(), "00".to_owned()]);
        assert_eq!(text_of(transactions(&short)), "Invalid transaction size for item 1");
        assert_eq!(text_of(transactions(&list(&["zz".repeat(61)]))), "Invalid transaction hex for item 0");
        for wrong in ["", "{}", "[1]", "[", "\"00\"", "null"] {
            assert!(!text_of(transactions(wrong)).is_empty());
        }
        assert!(transactions("[]").unwrap().is_empty());
    }

    #[test]
    fn refused_transactions_of_a_package_are_not_waited_for() {
        let of = |byte: u8| Txid([byte; 32]);
        let fine = json!({"txid": of(1).to_string(), "vsize": 110, "fees": {"base": 0.0001}});
        let refused = json!({"txid": of(2).to_string(), "error": "insufficient fee"});
        let answer = json!({"package_msg": "transaction failed", "tx-results": {"aa": fine, "bb": refused}});
        assert_eq!(accepted(&answer), [of(1)]);
        for other in [json!(null), json!([]), json!({"tx-results": []}), json!({"tx-results": {"aa": {"txid": 1}}})] {
            assert_eq!(accepted(&other), []);
        }
    }

    #[test]
    fn limits_are_in_bitcoin() {
        let parse = |rate: Option<&str>, burn: Option<&str>| {
            LimitsInQuery { maxfeerate: rate.map(str::to_owned), maxburnamount: burn.map(str::to_owned) }.parse()
        };
        let limits = parse(Some("0.1"), Some("0.00000001")).unwrap();
        assert_eq!((limits.max_fee_rate_sat_vb, limits.max_burn_sats), (Some(10_000), Some(1)));
        let limits = parse(Some("0.000001"), None).unwrap();
        assert_eq!((limits.max_fee_rate_sat_vb, limits.max_burn_sats), (Some(1), None));
        assert_eq!(parse(Some("1e300"), None).unwrap().max_fee_rate_sat_vb, Some(u32::MAX));
        for wrong in ["", "x", "-1", "NaN", "inf"] {
            assert_eq!(text_of(parse(Some(wrong), None)), "Invalid maxfeerate");
            assert_eq!(text_of(parse(None, Some(wrong))), "Invalid maxburnamount");
        }
    }
}
