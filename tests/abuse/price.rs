//! What requests cost, and what their clients are charged for it.

use std::time::{Duration, Instant};

use crate::{
    client::Client,
    support::{Server, WORLD},
    usage::{UNITS_PER_MINUTE, charged, server_time},
};

/// A unit of processor time.
const UNIT: Duration = Duration::from_micros(1_000);
/// Requests of one path are repeated for so long.
const ENOUGH: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 150 });

/// Every operation that is asked with GET, as dear as it gets here, and what is no operation.
fn paths() -> Vec<String> {
    let worst = &WORLD.worst;
    let (busy, quiet) = (&worst.busy_address, crate::support::by_hash(&worst.quiet));
    let mut paths: Vec<String> = [&worst.inputs, &worst.outputs, &worst.witness, &worst.pushes, &worst.carriers]
        .iter()
        .flat_map(|tx| {
            let id = tx.compute_txid();
            ["", "?io_limit=25000", "?include_hex=true", "/status", "/op-return"]
                .map(|rest| format!("/v1/tx/{id}{rest}"))
        })
        .collect();
    for wallet in [busy, &quiet] {
        let of = |rest: &str| format!("/v1/wallets/{wallet}/{rest}");
        paths.extend(["overview", "transactions?limit=100", "transactions?limit=100&offset=2000"].map(of));
        paths.extend(["balance-history", "balance-history?format=csv"].map(of));
    }
    let tip = worst.payouts;
    paths.extend([format!("/v1/blocks/{tip}"), format!("/v1/blocks/{}", tip - 1), format!("/v1/qr?data={busy}")]);
    let others = ["/v1/chain/recent-blocks", "/v1/network/summary", "/api/health", "/api/health/full", "/livez"];
    paths.extend(others.map(str::to_owned));
    paths.extend(["/openapi.json", "/llms-full.txt", "/v1/capabilities", "/"].map(str::to_owned));
    paths.push(format!("/{}", "x".repeat(60_000)));
    paths.push(format!("/v1/wallets?{}", "y=1&".repeat(10_000)));
    paths
}

/// No request takes more than twice the processor time that its units stand for.
#[test]
fn units_stand_for_processor_time() {
    let server = Server::start(UNITS_PER_MINUTE);
    let mut failed = Vec::new();
    println!("| request | times | \u{b5}s each | units each | ratio |");
    println!("|---|---|---|---|---|");
    for (n, path) in paths().iter().enumerate() {
        // Once to warm it up, with another budget.
        Client::from(250, server.address).get(path);
        std::thread::sleep(Duration::from_millis(5));
        let (start, began) = (server_time(), Instant::now());
        let mut times = 0u32;
        let (answer, units) = charged(&server, 10 + n as u8, |client| {
            loop {
                times += 1;
                let answer = client.get(path);
                if answer.status == 429 || began.elapsed() >= ENOUGH {
                    return answer;
                }
            }
        });
        assert!(answer.status < 500, "{path}: {}", answer.head);
        let used = server_time().saturating_sub(start);
        // The two looks at the budget are charged too.
        let ratio = used.as_secs_f64() / (UNIT.as_secs_f64() * (units + 2.0));
        // What tells it from the others: the middle of a path is a long id.
        let shown =
            if path.len() > 80 { format!("{}…{}", &path[..14], &path[path.len() - 24..]) } else { path.clone() };
        let micros = used.as_micros() / u128::from(times);
        println!("| `{shown}` | {times} | {micros} | {:.1} | {ratio:.2} |", units / f64::from(times));
        if ratio > 2.0 {
            failed.push(format!("{shown}: {micros} µs for {:.1} units", units / f64::from(times)));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
