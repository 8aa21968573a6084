//! The metrics, by subject.

use crate::spec::{Area, Kind, MetricSpec};

macro_rules! metrics {
    ($(area $title:literal, $by:literal { $($id:ident = $kind:ident $name:literal [$($label:literal),*] $help:literal;)+ })+) => {
        $($(
            #[doc = $help]
            pub const $id: MetricSpec =
                MetricSpec { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help };
        )+)+

        /// All metrics, by subject.
        pub const AREAS: &[Area] =
            &[$(Area { title: $title, exposed_by: $by, metrics: &[$($id),+] }),+];
    };
}

metrics! {
    area "Troubles", "all" {
        TROUBLE = Gauge "cairn_trouble" ["part"]
            "1 if this part of the service does not work at present, otherwise 0.";
        TROUBLE_SINCE = Time "cairn_trouble_since_seconds" ["part"]
            "Since when this part of the service does not work, in seconds since 1970; 0 if it works.";
        BUILD_INFO = Gauge "cairn_build_info" ["version"] "The version of this server.";
    }
    area "Chain", "all; `cairn_source_gap` if blocks are followed" {
        INDEX_TIP_HEIGHT = Gauge "cairn_index_tip_height" [] "Height of the newest block in the index.";
        BEST_HEIGHT = Gauge "cairn_best_height" [] "Height of the best known chain.";
        SOURCE_GAP = Gauge "cairn_source_gap" [] "1 if block files are missing or damaged, otherwise 0.";
    }
    area "Following", "`cairn run`" {
        BLOCKS_CONNECTED = Counter "cairn_index_blocks_connected_total" [] "Connected blocks.";
        BLOCKS_DISCONNECTED = Events "cairn_index_blocks_disconnected_total" [] "Disconnected blocks.";
        REORGANIZATIONS = Events "cairn_index_reorganizations_total" [] "Reorganizations.";
        MEMPOOL_SNAPSHOTS = Counter "cairn_mempool_snapshots_total" []
            "Comparisons with the full mempool of the node.";
        MEMPOOL_CORRECTIONS = Counter "cairn_mempool_corrections_total" []
            "Transactions that comparisons added or removed, without the first comparison.";
        MEMPOOL_GAPS_REPAIRED = Events "cairn_mempool_gaps_repaired_total" []
            "Repaired possible gaps in the messages of the node.";
    }
    area "Damage", "all" {
        DAMAGED_TABLES = Gauge "cairn_index_damaged_tables" [] "Tables that are damaged, as far as known.";
        DAMAGES = Events "cairn_index_damages_total" ["table"]
            "How often damage of a table was met, by requests or the scrubber.";
        SCRUB_BYTES = Counter "cairn_scrub_bytes_total" [] "Bytes of table files that the scrubber has read.";
        SCRUBS = Events "cairn_scrubs_total" [] "Scrubs that have read every table file since the start.";
        SCRUB_LAST_END = Time "cairn_scrub_last_end_seconds" []
            "End of the last complete scrub, in seconds since 1970.";
    }
    area "Requests", "all" {
        REQUESTS = Counter "cairn_http_requests_total" ["operation", "class", "status"]
            "Answers by operation, cost class and status.";
        REQUEST_DURATION = Histogram "cairn_http_request_duration_seconds" ["operation"]
            "Time from request to answer, without sending the body.";
        ROWS_READ = Counter "cairn_http_rows_read_total" ["operation"] "Rows of the index read for answers.";
        REQUESTS_IN_FLIGHT = Gauge "cairn_http_requests_in_flight" [] "Requests that are being answered.";
        REQUESTS_QUEUED = Gauge "cairn_http_requests_queued" [] "Requests that are waiting.";
        LOST_ANSWERS = Events "cairn_paid_answers_lost_total" []
            "Paid answers that could not be sent, because the client had disconnected meanwhile.";
        SPANS_DROPPED = Events "cairn_trace_spans_dropped_total" []
            "Spans of traces that could not be exported, because the collector was slow or unreachable.";
    }
    area "Prices", "`cairn run` with `price_sources`" {
        PRICE_FETCHES = Counter "cairn_price_fetches_total" ["source"] "Requests to sources of prices.";
        PRICE_FETCH_FAILURES = Events "cairn_price_fetch_failures_total" ["source"]
            "Requests to sources of prices that failed.";
        PRICE_CANDLES = Events "cairn_price_candles_total" ["source"]
            "Closed candles and rates that were handed to the ledger.";
        PRICE_LAST_TICK = Time "cairn_price_last_tick_seconds" ["pair"]
            "Time of the newest price of the moment, in seconds since 1970. Its age is time() less this.";
    }
    area "Timestamps", "`cairn run` with `timestamps_wallet`" {
        ANCHORER = Gauge "cairn_timestamps_anchorer" []
            "1 if this process anchors; 0 if another one has the lease.";
        OLDEST_UNANCHORED = Gauge "cairn_timestamps_oldest_unanchored_seconds" []
            "Seconds since the oldest hash that is in no block was handed in, or since its batch was made; 0 without such a hash.";
        HASHES_WAITING = Gauge "cairn_timestamps_waiting" []
            "Hashes that wait for a batch, counted up to the size of a batch.";
        OPEN_BATCHES = Gauge "cairn_timestamps_open_batches" [] "Batches that are not final.";
        ANCHORS_LEFT = Gauge "cairn_timestamps_anchors_left" []
            "Anchors that the wallet can pay for; -1 if unknown.";
        STUCK_BATCHES = Gauge "cairn_timestamps_stuck_batches" []
            "Batches that need a transaction with a higher fee than limits and coins allow.";
        WALLET = Gauge "cairn_timestamps_wallet" ["state"]
            "1 for the state that the wallet has, 0 for the others.";
        WALLET_FRAGMENTED = Gauge "cairn_timestamps_wallet_fragmented" []
            "1 if the coins of the wallet are too small for an anchor that can be proven.";
        FEES_OF_DAY = Gauge "cairn_timestamps_fees_sats_24h" []
            "Fees of the transactions of the last 24 hours, in satoshis.";
        FAILING_ROUNDS = Gauge "cairn_timestamps_failing_rounds" [] "Rounds in a row that ended with an error.";
        ANCHOR_TRANSACTIONS = Events "cairn_timestamps_transactions_total" ["reason"]
            "Signed transactions, by their reason.";
    }
    area "Community reports", "servers with `payments_descriptor`" {
        REPORTS_WAITING = Gauge "cairn_reports_waiting" ["waits_for"]
            "Community reports that wait for their payment or for the operator's decision; -1 if unknown.";
        PAYMENT_ADDRESSES = Gauge "cairn_payment_addresses" []
            "Payment addresses that were given out; -1 if unknown.";
    }
    area "Sales", "servers with `access_mode = \"live\"`; passes with `pass_price_sats`" {
        SALES_WAITING = Gauge "cairn_sales_waiting" ["waits_for"]
            "Sales that are not done: challenges that wait for a payment, x402 payments that wait until their outcome is known, settled x402 payments that wait until their client fetches the answer; -1 if unknown.";
        PASSES_SOLD = Gauge "cairn_passes_sold" ["method"]
            "Passes that were sold in the last 400 days and whose payment stands; -1 if unknown.";
        PASSES_SOLD_SATS = Gauge "cairn_passes_sold_sats" ["method"]
            "Sum of the prices of these passes in satoshis; -1 if unknown.";
        CHECKOUTS_OPEN = Gauge "cairn_checkouts_open" [] "Checkouts that can be paid; -1 if unknown.";
        PASSES_REVERTED = Gauge "cairn_passes_reverted" []
            "Passes that are suspended because the chain lacks their payment; -1 if unknown.";
    }
}
