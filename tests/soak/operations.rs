//! Every operation, from the description of the interface, and every tool: requests with parameters that fit.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use cairn_support::{Client, loopback};
use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

use crate::accepted::{accepted, new_hash};

/// The operation and the tool that take a hash.
const SUBMITS_HASH: [&str; 2] = ["submit_timestamp", "timestamp_hash"];

/// Subjects that can be asked for at present.
#[derive(Clone, Default)]
pub struct Subjects {
    pub addresses: Vec<String>,
    pub txids: Vec<String>,
    /// Ids of unconfirmed transactions.
    pub pending: Vec<String>,
    pub blocks: Vec<String>,
    /// Transactions in hexadecimal digits.
    pub raws: Vec<String>,
}

/// The newest.
pub static SUBJECTS: Mutex<Subjects> = Mutex::new(Subjects {
    addresses: Vec::new(),
    txids: Vec::new(),
    pending: Vec::new(),
    blocks: Vec::new(),
    raws: Vec::new(),
});

/// Where a parameter stands in a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    Query,
    Header,
}

/// A parameter, or a member of a body.
struct Parameter {
    name: String,
    place: Place,
    required: bool,
    format: String,
    example: Value,
}

/// An operation or a tool.
pub struct Operation {
    pub name: String,
    /// Method and path; none for a tool.
    place: Option<(String, String)>,
    parameters: Vec<Parameter>,
    /// Members of a body; none if there is no body.
    body: Option<Map<String, Value>>,
    answered: AtomicU64,
}

/// A request: its path, its body, and headers besides the usual ones.
pub struct Request {
    pub path: String,
    pub body: Option<Value>,
    pub headers: Vec<(String, String)>,
}

/// All operations and tools.
pub struct Load {
    pub operations: Vec<Operation>,
    pub tools: Vec<Operation>,
}

impl Load {
    /// As a server describes them.
    pub fn of(client: &mut Client) -> Self {
        let document = client.ok("/openapi.json").unwrap();
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, op) in methods.as_object().unwrap() {
                operations.push(Operation::of(path, method, op));
            }
        }
        assert!(operations.len() > 20, "{} operations", operations.len());
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        let mut client = loopback::Client::from(90, client.address().parse().unwrap());
        let listed = client.send("/mcp/", Some(&list)).unwrap().json();
        let tools: Vec<Operation> = listed["result"]["tools"].as_array().unwrap().iter().map(Operation::tool).collect();
        assert!(tools.len() > 10, "{} tools: {listed}", tools.len());
        Load { operations, tools }
    }

    /// Each was answered as one wishes, at least once.
    pub fn assert_all_answered(&self) {
        let silent = |all: &[Operation]| -> Vec<String> {
            let never = all.iter().filter(|one| one.answered.load(Ordering::Relaxed) == 0);
            never.map(|one| one.name.clone()).collect()
        };
        assert_eq!(silent(&self.operations), Vec::<String>::new(), "operations without a single good answer");
        assert_eq!(silent(&self.tools), Vec::<String>::new(), "tools without a single good answer");
        let counts: BTreeMap<&str, u64> =
            self.operations.iter().map(|one| (one.name.as_str(), one.answered.load(Ordering::Relaxed))).collect();
        eprintln!("soak: good answers: {counts:?}");
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

impl Operation {
    fn of(path: &str, method: &str, op: &Value) -> Self {
        let parameter = |one: &Value| Parameter {
            name: one["name"].as_str().unwrap().to_owned(),
            place: match one["in"].as_str() {
                Some("path") => Place::Path,
                Some("header") => Place::Header,
                _ => Place::Query,
            },
            required: one["required"] == true,
            format: one["schema"]["format"].as_str().unwrap_or_default().to_owned(),
            example: one["example"].clone(),
        };
        Operation {
            name: op["operationId"].as_str().unwrap().to_owned(),
            place: Some((method.to_owned(), path.to_owned())),
            parameters: op["parameters"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default()
                .iter()
                .map(parameter)
                .collect(),
            body: op["requestBody"]["content"]["application/json"]["example"].as_object().cloned(),
            answered: AtomicU64::new(0),
        }
    }

    fn tool(tool: &Value) -> Self {
        let schema = &tool["inputSchema"];
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let no_properties = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&no_properties);
        let parameter = |(name, field): (&String, &Value)| Parameter {
            name: name.clone(),
            place: Place::Query,
            required: required.iter().any(|one| one == name.as_str()),
            format: field["format"].as_str().unwrap_or_default().to_owned(),
            example: field["examples"].get(0).or_else(|| field.get("default")).cloned().unwrap_or_default(),
        };
        Operation {
            name: tool["name"].as_str().unwrap().to_owned(),
            place: None,
            parameters: properties.iter().map(parameter).collect(),
            body: None,
            answered: AtomicU64::new(0),
        }
    }

    /// Counts a good answer.
    pub fn was_answered(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// A request with subjects of the moment. Required parameters are there, others now and then.
    pub fn request(&self, rng: &mut ChaCha8Rng) -> Request {
        let subjects = SUBJECTS.lock().unwrap().clone();
        let mut given = Vec::new();
        for parameter in &self.parameters {
            if parameter.required || (!parameter.example.is_null() && rng.random_bool(0.3)) {
                let value = self.value(&parameter.name, &parameter.format, &parameter.example, &subjects, rng);
                given.push((parameter, value));
            }
        }
        let Some((method, template)) = &self.place else {
            let arguments: Map<String, Value> =
                given.into_iter().map(|(parameter, value)| (parameter.name.clone(), value)).collect();
            let params = json!({"name": self.name, "arguments": arguments});
            let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
            return Request { path: "/mcp/".to_owned(), body: Some(body), headers: Vec::new() };
        };
        let (mut path, mut query, mut headers) = (template.clone(), Vec::new(), Vec::new());
        for (parameter, value) in given {
            let (name, text) = (&parameter.name, text_of(&value));
            match parameter.place {
                Place::Path => path = path.replace(&format!("{{{name}}}"), &encoded(&text)),
                Place::Query => query.push(format!("{name}={}", encoded(&text))),
                Place::Header => headers.push((name.clone(), text)),
            }
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let members = self.body.iter().flatten();
        let body: Map<String, Value> =
            members.map(|(name, example)| (name.clone(), self.value(name, "", example, &subjects, rng))).collect();
        Request { path, body: (method == "post").then_some(Value::Object(body)), headers }
    }

    fn value(&self, name: &str, format: &str, example: &Value, subjects: &Subjects, rng: &mut ChaCha8Rng) -> Value {
        let one = |of: &[String], rng: &mut ChaCha8Rng| {
            of.choose(rng).map_or_else(|| example.clone(), |text| text.as_str().into())
        };
        match (name, format) {
            ("addresses", _) => (0..3).map(|_| one(&subjects.addresses, rng)).collect(),
            ("hash", _) if SUBMITS_HASH.contains(&self.name.as_str()) => new_hash(rng).into(),
            ("hash_hex", _) => accepted().hash(rng).into(),
            ("report_id", _) => accepted().report(rng).into(),
            ("challenge_id", _) => accepted().challenge().map_or_else(|| example.clone(), Value::from),
            ("checkout_id", _) => accepted().checkout().map_or_else(|| example.clone(), |(id, _)| id.into()),
            ("X-Checkout-Secret", _) => accepted().checkout().map_or_else(|| example.clone(), |(_, text)| text.into()),
            ("code", _) => accepted().code().map_or_else(|| example.clone(), Value::from),
            ("tx_hex", _) => one(&subjects.raws, rng),
            ("endpoint", _) => "recent_blocks".into(),
            ("query", _) if example.is_null() => "balance of an address".into(),
            (_, "bitcoin-block") | ("height_or_hash", _) => one(&subjects.blocks, rng),
            (name, format) if format == "bitcoin-txid" || name == "txid" => {
                let pending = self.name.contains("mempool") || rng.random_bool(0.2);
                one(if pending { &subjects.pending } else { &subjects.txids }, rng)
            }
            (name, format) if format == "bitcoin-address" || name.contains("address") => one(&subjects.addresses, rng),
            _ => example.clone(),
        }
    }
}
