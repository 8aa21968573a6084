//! A server that sells calls and is killed: each payment opens one answer, before the kill or after it.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

use cairn_clock::now_secs;
use cairn_state::{State, StateUrl};
use cairn_support::{World, get, get_json, wait_until};
use serde_json::Value;

use crate::CAIRN;

const SERVER: &str = "demo --still --access-mode live --lightning simulated --datadir demo --listen 127.0.0.1:0 \
    --request-timeout 1";
const KILLS: usize = 4;
/// Payments that are on their way at each kill. A client can have 20 open challenges.
const AT_ONCE: usize = 5;

/// A paid call.
#[derive(Clone)]
struct Call {
    path: String,
    challenge: String,
    authorization: String,
}

/// Sends the call. Returns the status of its answer; `None` if none came.
fn status_of(address: &str, call: &Call) -> Option<u16> {
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: {}\r\n\r\n",
        call.path, call.authorization
    );
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    // A connection that breaks behind the head has brought an answer.
    drop(stream.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer);
    answer.split(' ').nth(1)?.parse().ok()
}

/// Asks for an offer, and pays it as a wallet would.
fn paid(state: &State, runtime: &tokio::runtime::Runtime, address: &str, path: String) -> Call {
    let (status, body) = get(address, &path);
    let offer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 402, "{offer}");
    let l402 = &offer["payment_options"]["l402"];
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{offer}")).to_owned();
    let mut hash = [0; 32];
    hex::decode_to_slice(text(&l402["payment"]["payment_hash"]), &mut hash).unwrap();
    let preimage = runtime.block_on(async {
        assert!(state.mark_simulated_invoice_paid(&hash, now_secs()).await.unwrap());
        state.simulated_invoice(&hash).await.unwrap().unwrap().preimage
    });
    let authorization = format!("L402 {}:{}", text(&l402["payment"]["macaroon"]), hex::encode(preimage));
    Call { path, challenge: text(&l402["challenge"]["id"]), authorization }
}

#[test]
fn each_payment_opens_one_answer_before_a_kill_or_after_it() {
    let world = World::empty(CAIRN);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut calls: Vec<(Call, Option<u16>)> = Vec::new();
    let start = || {
        let mut running = world.start(SERVER);
        let address = running.address();
        running.wait_for("calls are sold over Lightning");
        (running, address)
    };
    for kill in 0..KILLS {
        let (mut running, address) = start();
        let state = runtime.block_on(State::open(&StateUrl::in_folder(&world.path("demo")))).unwrap();
        let paths =
            (0..AT_ONCE).map(|number| format!("/v1/tx/{}", coinbase_of(&address, 100 + kill * AT_ONCE + number)));
        let paid: Vec<Call> = paths.map(|path| paid(&state, &runtime, &address, path)).collect();
        let sent: Vec<_> = paid
            .into_iter()
            .map(|call| {
                let address = address.clone();
                thread::spawn(move || (call.clone(), status_of(&address, &call)))
            })
            .collect();
        // The first kill is at once; later ones let more and more through.
        thread::sleep(Duration::from_millis(3 * kill as u64));
        running.signal("KILL");
        running.end();
        calls.extend(sent.into_iter().map(|sent| sent.join().unwrap()));
        runtime.block_on(state.close());
    }
    let (_running, address) = start();
    for (call, before) in calls {
        let mut after = None;
        // A lease of the process that was killed ends by its time.
        wait_until("the end of a lease", || {
            after = status_of(&address, &call);
            after != Some(409)
        });
        let status = get_json(&address, &format!("/v1/l402/challenges/{}", call.challenge));
        assert_eq!(status["status"], "redeemed", "{status}");
        match before {
            Some(200) => assert_eq!(after, Some(402), "{} was answered twice", call.path),
            // Redeemed, and killed before the answer was out: the row says so, and an operator can open it again.
            None => assert!(matches!(after, Some(200 | 402)), "{}: {after:?}", call.path),
            other => panic!("{}: {other:?}", call.path),
        }
        assert_eq!(status_of(&address, &call), Some(402), "{} was answered twice", call.path);
    }
}

/// The id of a block's coinbase.
fn coinbase_of(address: &str, height: usize) -> String {
    get_json(address, &format!("/v1/blocks/{height}"))["transactions"][0]["txid"].as_str().unwrap().to_owned()
}
