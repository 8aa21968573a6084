//! Servers that behave like exchanges, with candles of all times in BTC/EUR.

use crate::server::{Reply, Request};

fn now() -> u32 {
    u32::try_from(cairn_clock::now_secs()).unwrap()
}

/// Candles that open from one time to another; both ends belong to them. The last one may be open.
fn openings(from: u32, to: u32, step: u32) -> impl Iterator<Item = u32> {
    (from.div_ceil(step)..=to / step).map(move |n| n * step)
}

/// Binance with candles of all times, up to the open one.
pub fn binance(request: &Request) -> Reply {
    if request.path.contains("/ticker/price") {
        return Reply::ok(r#"{"symbol":"BTCEUR","price":"100.00"}"#);
    }
    let number = |name: &str| (request.parameter(name).unwrap().parse::<u64>().unwrap() / 1_000) as u32;
    let step = if request.parameter("interval") == Some("1d") { 86_400 } else { 3_600 };
    // It sends more than it is asked for: the candle that is still open.
    let to = number("endTime").max(now() / step * step);
    let all = openings(number("startTime"), to, step).take(1_001);
    let rows: Vec<String> = all
        .map(|at| format!(r#"[{at}000,"100","102","99","101","1.5",{}999,"1",1,"1","1","0"]"#, at + step - 1))
        .collect();
    Reply::ok(format!("[{}]", rows.join(",")))
}

/// Kraken: at most 720, and the open one at the end, whatever is asked for.
pub fn kraken(request: &Request) -> Reply {
    if request.path.contains("/Ticker") {
        return Reply::ok(r#"{"error":[],"result":{"XXBTZEUR":{"c":["102.0","1"]}}}"#);
    }
    let step = request.parameter("interval").unwrap().parse::<u32>().unwrap() * 60;
    let since = request.parameter("since").unwrap().parse::<u32>().unwrap();
    let open = now() / step * step;
    let from = (since + 1).max(open - 719 * step);
    let rows: Vec<String> =
        openings(from, open, step).map(|at| format!(r#"[{at},"100","102","99","101","100.5","1.5",3]"#)).collect();
    Reply::ok(format!(r#"{{"error":[],"result":{{"XXBTZEUR":[{}],"last":{open}}}}}"#, rows.join(",")))
}
