//! The pages of transactions: what one moved, where it stands, and the form that sends one.

mod answers;
mod flow;
mod push;

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

use self::answers::{Data, Pending, Side, Standing, Transaction};
use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Told},
    assets::FOLLOW_SCRIPT,
    format,
    links::{self, Markup},
    query::Parameters,
    route::{PageRoutes, see},
    site::Site,
};

/// Inputs and outputs of a page.
const ROWS: u32 = 50;

#[derive(Template)]
#[template(path = "tx/tx.html")]
struct TxPage<'a> {
    txid: &'a str,
    status: Told<Standing>,
    tx: Option<Part<Transaction>>,
    pending: Option<Part<Pending>>,
    data: Option<Part<Data>>,
    flow: Markup,
    /// The output that the reader asked for.
    marked: Option<u64>,
}

impl TxPage<'_> {
    /// True for the output that the reader asked for.
    fn is_marked(&self, vout: &u64) -> bool {
        self.marked == Some(*vout)
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
    let parameters = Parameters::of(&parts);
    let from = &parts;
    let status = match site.ask::<Standing>(from, "tx_status", json!({"txid": txid})).await {
        Ok(status) => status,
        Err(refused) => return answer::refused(&site, "Transaction", "", &refused),
    };
    let is_known = matches!(status.data.state.as_str(), "confirmed" | "mempool");
    let is_pending = status.data.state == "mempool";
    let lookup = json!({
        "txid": txid,
        "io_limit": ROWS,
        "inputs_from": parameters.number("inputs_from"),
        "outputs_from": parameters.number("outputs_from"),
    });
    let (tx, pending, data) = join!(
        async { if is_known { Some(site.ask::<Transaction>(from, "tx_lookup", lookup).await) } else { None } },
        async {
            let input = json!({"txid": txid, "relatives_limit": 25, "io_limit": 1});
            if is_pending { Some(site.ask(from, "mempool_tx", input).await) } else { None }
        },
        async { if is_known { Some(site.ask(from, "op_return_decode", json!({"txid": txid})).await) } else { None } },
    );
    let flow = tx.as_ref().and_then(|tx| tx.as_ref().ok()).map(|told| flow::draw(&told.data)).unwrap_or_default();
    let (http, marked) = (if is_known { StatusCode::OK } else { StatusCode::NOT_FOUND }, parameters.number("out"));
    let shown = status.data.txid.clone();
    let content = TxPage { txid: &shown, status, tx, pending, data, flow, marked };
    // A confirmed transaction has nothing more to wait for.
    let follows = content.status.data.state != "confirmed";
    let scripts: &[&str] = if follows { &[FOLLOW_SCRIPT.path()] } else { &[] };
    Shown { title: "Transaction", place: "", kind: Kind::Unlisted, status: http, scripts, content: &content }
        .answer(&site)
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
        assert!(!html.contains("<script>x") && !html.contains("follow.js"));
    }

    #[tokio::test]
    async fn missing_raw_bytes_leave_inputs_and_outputs() {
        let bare =
            TX.replace("\"version\":2,\"locktime\":0", "\"version\":null,\"locktime\":null,\"raw_reason\":\"pruned\"");
        let bare = bare.replace("\"witness\":[\"00ff\"]", "\"witness\":null");
        let html = body_of(get(confirmed().told("tx_lookup", &bare), "/tx/ab").await).await;
        assert!(
            html.contains("unknown (pruned)") && html.contains("witness unknown") && html.contains("9 days"),
            "{html}"
        );
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
        assert!(html.contains("in no block") && html.contains("/tx/cd") && html.contains("follow.js"), "{html}");
    }

    #[tokio::test]
    async fn an_outpoint_leads_to_its_output() {
        let response = get(Canned::new(), "/tx/ab:3").await;
        assert_eq!(response.headers()[header::LOCATION], "ab?out=3#out-3");
    }
}
