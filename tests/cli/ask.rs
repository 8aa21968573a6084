//! `cairn ask`: every operation, of an index that another process writes, and of a server.

use std::{
    collections::BTreeSet,
    process::{Output, Stdio},
};

use cairn_support::{World, get_json, loopback::Client};
use serde_json::{Value, json};

use crate::CAIRN;

/// Operations that leave something at the server: their answer differs each time.
const WRITES: [&str; 8] = [
    "create_checkout",
    "refresh_checkout",
    "redeem_code",
    "submit_report",
    "vote_report",
    "submit_feedback",
    "submit_timestamp",
    "tx_broadcast",
];
/// Operations whose answer is about the server itself: its settings, its load, what it has worked out ahead.
const ABOUT_THE_SERVER: [&str; 7] =
    ["health", "health_full", "capabilities", "beta_status", "billing_catalog", "report_status", "dashboard"];
/// Fields that say what time it is, how often the process has counted, or what the operator of a server has set.
const OF_THE_PROCESS: [&str; 8] = [
    "uptime_secs",
    "request_id",
    "age_seconds",
    "cache_age_seconds",
    "generation",
    "max_bytes",
    "example",
    "freshness",
];
/// Fields that a server works out in the background. A process that answers one question says so as their reason.
const IN_THE_BACKGROUND: [&str; 2] = ["base_rate", "base_rate_reason"];

fn ask(world: &World, settings: &str, words: &[String]) -> Output {
    let mut command = world.command(&format!("ask {settings}"));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap()
}

/// An operation with the values of its required parameters, as the document of the server gives them.
struct Example {
    name: String,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Value,
    words: Vec<String>,
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn examples(document: &Value) -> Vec<Example> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, op) in methods.as_object().unwrap() {
            let name = op["operationId"].as_str().unwrap().to_owned();
            let (mut target, mut query, mut words) = (path.clone(), Vec::new(), vec![name.replace('_', "-")]);
            let mut headers = Vec::new();
            for parameter in op["parameters"].as_array().into_iter().flatten() {
                let (of, value) = (parameter["name"].as_str().unwrap(), text(&parameter["example"]));
                if parameter["required"] != true {
                    continue;
                }
                match parameter["in"].as_str().unwrap() {
                    "path" => target = target.replace(&format!("{{{of}}}"), &value),
                    "header" => headers.push((of.to_owned(), value.clone())),
                    _ => query.push(format!("{of}={}", value.replace(' ', "%20"))),
                }
                words.push(value);
            }
            let body = op["requestBody"]["content"]["application/json"]["example"].clone();
            for (field, value) in body.as_object().into_iter().flatten() {
                let content = &op["requestBody"]["content"]["application/json"]["schema"];
                let pointer = content["$ref"].as_str().map(|at| at.trim_start_matches('#'));
                let schema = pointer.and_then(|at| document.pointer(at)).unwrap_or(content);
                let required = schema["required"].as_array().into_iter().flatten().any(|one| one == field.as_str());
                if !required {
                    words.push(format!("--{}", field.replace('_', "-")));
                }
                match value {
                    Value::Array(all) => words.extend(all.iter().map(text)),
                    one => words.push(text(one)),
                }
            }
            if !query.is_empty() {
                target = format!("{target}?{}", query.join("&"));
            }
            found.push(Example { name, method: method.to_uppercase(), target, headers, body, words });
        }
    }
    found
}

/// True for a time with milliseconds: times of the chain have none.
fn is_moment(text: &str) -> bool {
    text.len() == "2025-12-31T00:00:00.000Z".len() && text.ends_with('Z') && text.as_bytes()[text.len() - 5] == b'.'
}

/// The places in which two answers to the same question differ.
fn differences(place: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    let field = place.rsplit('/').next().unwrap_or_default();
    let is_moment = [one, other].iter().all(|value| value.as_str().is_some_and(is_moment));
    if is_moment || OF_THE_PROCESS.contains(&field) || IN_THE_BACKGROUND.contains(&field) {
        return;
    }
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                let of = |all: &serde_json::Map<String, Value>| all.get(name).cloned().unwrap_or_default();
                differences(&format!("{place}/{name}"), &of(one), &of(other), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                differences(&format!("{place}/{at}"), one, other, found);
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{place}: {one} and {other}")),
    }
}

#[test]
fn every_operation_answers_as_over_http() {
    let world = World::empty(CAIRN);
    let mut running = world.start("demo --datadir demo --listen 127.0.0.1:0");
    let address = running.address();
    let mut examples = examples(&get_json(&address, "/openapi.json"));
    // The demo mines a block for what is written: that comes last.
    examples.sort_by_key(|example| WRITES.contains(&example.name.as_str()));
    assert!(examples.len() > 90, "{}", examples.len());
    let (here, there) = (format!("--base-url http://{address} --datadir demo"), format!("--url http://{address}"));
    let (mut unlike, no_fields) = (Vec::new(), json!({}));
    for example in &examples {
        let Example { name, method, target, headers, body, words } = example;
        let is_written = WRITES.contains(&name.as_str());
        let sent = Some(body).filter(|_| method != "GET").map(|body| if body.is_null() { &no_fields } else { body });
        let mut client = Client::from(1, address.parse().unwrap());
        let answer = client.send_with(target, sent, headers).unwrap();
        for settings in [&here, &there].into_iter().skip(usize::from(is_written)) {
            let asked = ask(&world, settings, words);
            let is_fine = (200..300).contains(&answer.status);
            if asked.status.success() != is_fine {
                unlike.push(format!("{name} ({settings}): {} and {}", answer.status, said(&asked)));
                continue;
            }
            let parsed = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
            if settings == &here && ABOUT_THE_SERVER.contains(&name.as_str()) {
                assert!(parsed(&asked.stdout).is_some_and(|answer| answer.is_object()), "{name}");
                continue;
            }
            let mut found = Vec::new();
            match (parsed(&answer.body), parsed(&asked.stdout)) {
                (Some(one), Some(other)) if is_written => {
                    let fields = |value: &Value| value.as_object().map(|all| all.keys().cloned().collect::<Vec<_>>());
                    differences("", &json!(fields(&one)), &json!(fields(&other)), &mut found);
                }
                (Some(one), Some(other)) => differences("", &one, &other, &mut found),
                // A file.
                _ if answer.body == asked.stdout => {}
                _ => found.push("another file".to_owned()),
            }
            unlike.extend(found.iter().map(|found| format!("{name} ({settings}) {found}")));
        }
    }
    assert!(unlike.is_empty(), "{} differences:\n{}", unlike.len(), unlike.join("\n"));
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_wrong_is_said_with_an_exit_code() {
    let world = World::small(CAIRN, 20);
    world.run("index --network regtest --datadir data --blocks-dir blocks --once").success();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let asked = ask(&world, "--datadir data", &words("wallet-overview nonsense"));
    let problem: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!((asked.status.code(), &problem["error"]), (Some(2), &json!("invalid_address")));
    assert!(said(&asked).contains("HTTP status 400, invalid_address: "), "{}", said(&asked));
    for (line, told) in [
        ("wallet-overvieww x", "did you mean wallet-overview"),
        ("wallet x", "stands for several operations"),
        ("pnl", "required"),
        ("pnl x --year", "--year"),
        ("health --datadir data", "unexpected argument"),
    ] {
        let asked = ask(&world, "--datadir data", &words(line));
        assert_eq!(asked.status.code(), Some(2), "{line}");
        assert!(said(&asked).contains(told) && asked.stdout.is_empty(), "{line}: {}", said(&asked));
    }
    let asked = ask(&world, "--url http://127.0.0.1:9", &words("health"));
    assert!(asked.status.code() == Some(1) && said(&asked).contains("127.0.0.1:9"), "{}", said(&asked));
    let help = ask(&world, "", &words("pnl --help"));
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("--currency <CURRENCY>") && help.contains("GET /v1/wallets/{address}/pnl"), "{help}");
    let listed = world.stdout("ask");
    assert!(listed.contains("\n  wallet-pnl ") && listed.lines().count() > 90, "{listed}");
}

#[test]
fn a_value_can_come_from_standard_input() {
    let world = World::small(CAIRN, 20);
    world.run("index --network regtest --datadir data --blocks-dir blocks --once").success();
    let mut command = world.command("ask --datadir data block-detail -");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"7\n").unwrap();
    let answer = child.wait_with_output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&answer.stdout).unwrap()["height"], 7);
}
