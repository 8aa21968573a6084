//! The pages of transactions: what one moved, where it stands, and the form that sends one.

mod answers;
mod context;
mod cut;
mod flow;
mod push;
mod standing;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde_json::json;
use tokio::join;

use self::{
    answers::{Data, Pending, Side, Transaction},
    context::{BlockFees, Day, Now, Price, Recommended},
    standing::Standing,
};
use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Refused, Told},
    assets::TX_SCRIPT,
    format::{self, Plain},
    links::{self, Markup},
    meta::Source,
    query::Parameters,
    route::{PageRoutes, see},
    site::Site,
};

/// Inputs and outputs of a page.
const ROWS: u64 = 50;
/// OP_RETURN outputs and inscriptions of a page.
const CARRIERS: usize = 20;

#[derive(Template)]
#[template(path = "tx/tx.html")]
struct TxPage<'a> {
    txid: &'a str,
    /// True if only the state was asked for.
    is_state: bool,
    status: Told<Standing>,
    tx: Option<Part<Transaction>>,
    pending: Option<Part<Pending>>,
    data: Option<Part<Data>>,
    price: Option<Result<Known, Refused>>,
    fees: Option<Result<Told<Fees>, Refused>>,
    flow: Markup,
    /// The rows that the reader asked for.
    marked_input: Option<u64>,
    marked_output: Option<u64>,
}

/// A price, or the reason why it is unknown, with its source.
struct Known {
    price: Result<Price, String>,
    source: Source,
}

/// Feerates to compare with.
enum Fees {
    Block(BlockFees),
    Now(Recommended),
}

impl Fees {
    fn against(&self, rate: &serde_json::Number) -> String {
        match self {
            Fees::Block(fees) => fees.against(rate),
            Fees::Now(fees) => fees.against(rate),
        }
    }
}

impl TxPage<'_> {
    fn is_marked_input(&self, index: &u64) -> bool {
        self.marked_input == Some(*index)
    }

    fn is_marked_output(&self, index: &u64) -> bool {
        self.marked_output == Some(*index)
    }

    /// Path of the page with other rows. The rows of the other list stay.
    fn rows(&self, inputs_from: impl Plain<u64>, outputs_from: impl Plain<u64>) -> String {
        let (inputs_from, outputs_from) = (inputs_from.plain(), outputs_from.plain());
        format!("/tx/{}?inputs_from={inputs_from}&outputs_from={outputs_from}", cairn_http::segment(self.txid))
    }
}

pub(crate) fn routes() -> Router<Arc<Site>> {
    push::routes().page("/tx/{txid}", page)
}

async fn page(State(site): State<Arc<Site>>, Path(txid): Path<String>, parts: Parts) -> Response {
    // An outpoint leads to its output.
    if let Some((txid, vout)) = txid.split_once(':').filter(|(_, vout)| vout.parse::<u32>().is_ok()) {
        return see(StatusCode::SEE_OTHER, &format!("{}?out={vout}#out-{vout}", cairn_http::segment(txid)));
    }
    let (parameters, from) = (Parameters::of(&parts), &parts);
    let status = match site.ask::<Standing>(from, "tx_status", json!({"txid": txid})).await {
        Ok(status) => status,
        Err(refused) => return answer::refused(&site, "Transaction", "", &refused),
    };
    let (is_state, is_pending) = (parameters.get("part") == Some("state"), status.data.is_pending());
    let is_known = is_pending || status.data.is_confirmed();
    let is_whole = is_known && !is_state;
    // A row that is asked for is on the page.
    let (input, output) = (parameters.number("in"), parameters.number("out"));
    let first = |name: &str, row: Option<u64>| parameters.number(name).or(row.map(|row| row / ROWS * ROWS));
    let lookup = json!({
        "txid": txid,
        "io_limit": ROWS,
        "inputs_from": first("inputs_from", input),
        "outputs_from": first("outputs_from", output),
    });
    let (tx, pending, data, price, fees) = join!(
        async { if is_whole { Some(site.ask::<Transaction>(from, "tx_lookup", lookup).await) } else { None } },
        async {
            let input = json!({"txid": txid, "relatives_limit": 25, "io_limit": 1});
            if is_whole && is_pending { Some(site.ask(from, "mempool_tx", input).await) } else { None }
        },
        async { if is_whole { Some(site.ask(from, "op_return_decode", json!({"txid": txid})).await) } else { None } },
        async { if is_whole { Some(price_at(&site, from, &status.data).await) } else { None } },
        async { if is_whole { Some(fees_at(&site, from, &status.data).await) } else { None } },
    );
    let flow = tx.as_ref().and_then(|tx| tx.as_ref().ok()).map(|told| flow::draw(&told.data)).unwrap_or_default();
    let http = if is_known { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let txid = status.data.txid.clone();
    let content = TxPage {
        txid: &txid,
        is_state,
        status,
        tx,
        pending,
        data,
        price,
        fees,
        flow,
        marked_input: input,
        marked_output: output,
    };
    let scripts = &[TX_SCRIPT.path()];
    Shown { title: "Transaction", place: "", kind: Kind::Unlisted, status: http, scripts, content: &content }
        .answer(&site)
}

/// The price on the day of a transaction's block, or now.
async fn price_at(site: &Site, from: &Parts, standing: &Standing) -> Result<Known, Refused> {
    match &standing.block {
        Some(block) => {
            let day = block.time.split('T').next().unwrap_or_default();
            let input = json!({"currency": context::CURRENCY, "from": day, "to": day});
            let told: Told<Day> = site.ask(from, "price_history", input).await?;
            Ok(Known { price: told.data.price(), source: told.source })
        }
        None => {
            let told: Told<Now> = site.ask(from, "price", json!({"currency": context::CURRENCY})).await?;
            Ok(Known { price: told.data.price(), source: told.source })
        }
    }
}

/// The feerates of a transaction's block, or those that are recommended now.
async fn fees_at(site: &Site, from: &Parts, standing: &Standing) -> Part<Fees> {
    match &standing.block {
        Some(block) => {
            let input = json!({"height_or_hash": block.hash, "tx_limit": 1});
            let Told { data, source } = site.ask(from, "block_detail", input).await?;
            Ok(Told { data: Fees::Block(data), source })
        }
        None => {
            let Told { data, source } = site.ask(from, "fees_recommended", json!({})).await?;
            Ok(Told { data: Fees::Now(data), source })
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;
    use crate::testing::{Canned, body_of, get};

    const TX: &str = r#"{"txid":"ab","wtxid":"cd","version":2,"locktime":0,"size":100,"vsize":90,"weight":360,
        "fee_sats":10,"fee_rate_sat_vb":0.11,"input_count":1,"output_count":2,"rbf":true,"is_coinbase":false,
        "inputs":[{"index":0,"prevout":{"txid":"ef","vout":3,"value_sats":30,"address":"x<y","height":5,"coinbase":false},
            "label":{"value":"L <b>"},"age_days":9,"witness":["00ff"],"script_sig_hex":""}],
        "outputs":[{"index":0,"value_sats":15,"address":"z","spendable":true,"spent_by":{"txid":"77","vin":0,"state":"confirmed","height":6}},
            {"index":1,"value_sats":5,"address":null,"spendable":false,"asm":"OP_RETURN <i>"}],
        "inputs_omitted":0,"outputs_omitted":0}"#;

    fn confirmed() -> Canned {
        Canned::new()
            .told("tx_status", r#"{"txid":"ab","state":"confirmed","confirmations":7,"block":{"height":5,"hash":"aa","time":"2024-01-01T00:00:00Z"},"block_index":3}"#)
            .told("op_return_decode", r#"{"outputs":[{"vout":1,"value_sats":5,"text":"<script>x","data_hex":"00"}],"inscriptions":null,"inscriptions_reason":"no raw bytes"}"#)
    }

    #[tokio::test]
    async fn texts_of_the_chain_are_inert() {
        let html = body_of(get(confirmed().told("tx_lookup", TX), "/tx/ab?out=1").await).await;
        for part in [
            "Final",
            "L &#60;b&#62;",
            "/address/x%3Cy",
            "&#60;script&#62;x",
            "no raw bytes",
            "OP_RETURN &#60;i&#62;",
            "9 days",
            "/tx/77",
            "id=\"out-1\" class=\"marked\"",
            "<svg class=\"streams\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // It is final: nothing is followed.
        assert!(!html.contains("<script>x") && !html.contains("data-follow"));
    }

    #[tokio::test]
    async fn what_is_not_paid_for_leaves_the_rest() {
        let canned = confirmed().refused("tx_lookup", 402, "payment_required", "pay for it");
        let response = get(canned, "/tx/ab").await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["x-robots-tag"], "noindex");
        let html = body_of(response).await;
        assert!(html.contains("pay for it") && html.contains("Final") && html.contains("/getting-started"), "{html}");
    }

    #[tokio::test]
    async fn an_unknown_one_says_why_and_is_followed() {
        let canned = Canned::new().told(
            "tx_status",
            r#"{"txid":"ab","state":"unknown","confirmations":0,"reason":"in no block",
                "departed":{"reason":"replaced","replaced_by":"cd","left_at":"2024-01-01T00:00:00Z","mempool_first_seen":"2024-01-01T00:00:00Z"}}"#,
        );
        let response = get(canned, "/tx/ab").await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let html = body_of(response).await;
        assert!(
            html.contains("in no block")
                && html.contains("/tx/cd")
                && html.contains("data-follow=\"/tx/ab?part=state\""),
            "{html}"
        );
    }

    #[tokio::test]
    async fn an_outpoint_leads_to_its_output() {
        let response = get(Canned::new(), "/tx/ab:3").await;
        assert_eq!(response.headers()[header::LOCATION], "ab?out=3#out-3");
    }

    #[tokio::test]
    async fn nulls_say_why() {
        let raw = TX
            .replace("\"version\":2,\"locktime\":0", "\"version\":null,\"locktime\":null")
            .replace("\"rbf\":true", "\"rbf\":null,\"raw_reason\":\"the node is <away>\"")
            .replace("[\"00ff\"],\"script_sig_hex\":\"\"", "null,\"script_sig_hex\":null");
        let canned = confirmed()
            .told("tx_lookup", &raw)
            .told("price_history", r#"{"reason":"no <source>","candles":[]}"#)
            .refused("block_detail", 503, "index_behind", "wait <a> while");
        let html = body_of(get(canned, "/tx/ab").await).await;
        for part in ["unknown<small>the node is &#60;away&#62;", "no &#60;source&#62;", "wait &#60;a&#62; while"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("unknown<small></small>"), "{html}");
    }

    #[tokio::test]
    async fn values_and_fees_of_its_time() {
        let canned = confirmed()
            .told("tx_lookup", TX)
            .told("price_history", r#"{"reason":null,"candles":[{"closes_at":"2024-01-02T00:00:00Z","close":40000,"close_reason":null,"source":"s<"}]}"#)
            .told("block_detail", r#"{"fee_percentiles":{"p10_sat_vb":0.1,"p50_sat_vb":0.2,"p90_sat_vb":9}}"#);
        let html = body_of(get(canned, "/tx/ab").await).await;
        for part in
            ["40\u{202f}000 USD", "from s&#60;", "0.11 sat/vB is below the median of its block", "0.0000027 BTC days"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[tokio::test]
    async fn the_state_alone_asks_for_nothing_else() {
        let html = body_of(get(confirmed().told("tx_lookup", TX), "/tx/ab?part=state").await).await;
        assert!(html.contains("data-sentence") && !html.contains("data-item=\"flow\""), "{html}");
    }
}
