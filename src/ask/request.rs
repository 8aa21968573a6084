//! The command line of one operation, and the request that it stands for.

use std::io::{self, Read};

use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser};
use serde_json::Value;

use super::document::{Body, Kind, Operation, Parameter, Place, typed};
use crate::exit::{Exit, Failure};

/// Most bytes that a value from standard input may have.
const LONGEST_INPUT: u64 = 1 << 20;

/// A request of the API.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// `GET` or `POST`.
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    /// JSON; empty for GET.
    pub(crate) body: Vec<u8>,
}

/// The command line of an operation: what it must have stands by place, everything else has a flag.
pub(super) fn command(op: &Operation) -> Command {
    let mut command = Command::new(op.name.clone())
        .bin_name(format!("cairn ask {}", op.name))
        .about(op.summary.clone())
        .long_about(format!("{}.\n\n{}", op.summary, op.description))
        .no_binary_name(true)
        .disable_help_flag(true)
        .max_term_width(110)
        .after_help(format!("The request: {} {}", op.method, op.path))
        .arg(Arg::new("help").long("help").short('h').action(ArgAction::Help).help("Prints this help."));
    for parameter in &op.parameters {
        command = command.arg(arg(parameter));
    }
    // `--csv` for `--format csv`.
    let formats = op.parameters.iter().filter(|p| p.name == "format").flat_map(|p| &p.words);
    for format in formats.filter(|word| op.parameters.iter().all(|p| p.name != **word)) {
        let flag = Arg::new(format!("as {format}")).long(format.clone()).action(ArgAction::SetTrue);
        command = command.arg(flag.help(format!("Same as --format {format}.")).conflicts_with("format"));
    }
    command
}

fn arg(parameter: &Parameter) -> Arg {
    let Parameter { name, required, kind, .. } = parameter;
    let flag = name.to_ascii_lowercase().replace('_', "-");
    let mut arg = Arg::new(name.clone()).value_name(flag.to_ascii_uppercase()).help(parameter.description.clone());
    if *required {
        arg = arg.required(true);
        if *kind == Kind::List {
            arg = arg.num_args(1..);
        }
    } else {
        arg = arg.long(flag.clone());
        if flag != *name && parameter.place != Place::Header {
            arg = arg.alias(name.clone());
        }
        arg = match kind {
            Kind::Boolean => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
            Kind::List => arg.num_args(1..).value_delimiter(','),
            Kind::Text | Kind::Json => arg,
        };
    }
    if *kind == Kind::Boolean {
        return arg.value_parser(["true", "false"]);
    }
    match parameter.words.is_empty() {
        false if *kind == Kind::Text => arg.value_parser(PossibleValuesParser::new(parameter.words.clone())),
        // Negative numbers.
        _ => arg.allow_hyphen_values(*kind == Kind::Json),
    }
}

/// The request that a command line stands for. `-` is standard input, for one value.
pub(super) fn request(op: &Operation, found: &ArgMatches) -> Result<Request, Failure> {
    let (mut path, mut query, mut headers, mut body) = (op.path.clone(), String::new(), Vec::new(), Body::new());
    let mut input = Some(io::stdin());
    for parameter in &op.parameters {
        let Some(given) = found.get_many::<String>(&parameter.name) else { continue };
        let values = given.map(|value| match value.as_str() {
            "-" => from_input(&mut input),
            _ => Ok(value.clone()),
        });
        let values: Vec<String> = values.collect::<Result<_, _>>()?;
        let joined = values.join(",");
        match parameter.place {
            Place::Path => path = path.replace(&format!("{{{}}}", parameter.name), &cairn_http::segment(&joined)),
            Place::Query => add(&mut query, &parameter.name, &joined),
            Place::Header => headers.push((parameter.name.to_ascii_lowercase(), joined)),
            Place::Body => {
                let value = match parameter.kind {
                    // One value from standard input may be a whole list.
                    Kind::List if values.len() == 1 => as_list(&joined),
                    Kind::List => values.iter().map(|value| item(value)).collect(),
                    kind => typed(kind, &joined),
                };
                body.insert(parameter.name.clone(), value);
            }
        }
    }
    let formats = op.parameters.iter().filter(|p| p.name == "format").flat_map(|p| &p.words);
    for format in formats.filter(|word| op.parameters.iter().all(|p| p.name != **word)) {
        if found.get_flag(&format!("as {format}")) {
            add(&mut query, "format", format);
        }
    }
    let body = match op.method.as_str() {
        "GET" => Vec::new(),
        _ => Value::Object(body).to_string().into_bytes(),
    };
    Ok(Request { method: op.method.clone(), target: path + &query, headers, body })
}

fn add(query: &mut String, name: &str, value: &str) {
    query.push(if query.is_empty() { '?' } else { '&' });
    query.push_str(&format!("{}={}", cairn_http::segment(name), cairn_http::segment(value)));
}

/// A list as JSON, or in lines or words. Commas are part of descriptors.
fn as_list(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Array(all)) => all.into(),
        Ok(object @ Value::Object(_)) => [object].into_iter().collect(),
        _ => text.split_whitespace().collect(),
    }
}

/// An item of a list: an object as JSON, everything else as text.
fn item(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_object).unwrap_or_else(|| text.into())
}

fn from_input(input: &mut Option<io::Stdin>) -> Result<String, Failure> {
    let stdin = input.take().ok_or_else(|| Failure::usage("only one value can be `-`, which is standard input"))?;
    let mut text = String::new();
    let read = stdin.lock().take(LONGEST_INPUT + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::new(Exit::Other, format!("standard input cannot be read: {error}")))?;
    if text.len() as u64 > LONGEST_INPUT {
        return Err(Failure::usage(format!("standard input is longer than {LONGEST_INPUT} bytes")));
    }
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ask::document;

    fn all() -> Vec<Operation> {
        document::operations(&cairn_operations::openapi_document(&cairn_operations::ApiConfig::default())).unwrap()
    }

    fn of(words: &[&str]) -> Result<Request, String> {
        let all = all();
        let op = document::find(&all, words[0]).map_err(|failure| failure.to_string())?;
        let found = command(op).try_get_matches_from(&words[1..]).map_err(|error| error.to_string())?;
        request(op, &found).map_err(|failure| failure.to_string())
    }

    #[test]
    fn every_operation_has_a_command_line() {
        let all = all();
        assert!(all.len() > 90, "{}", all.len());
        for op in &all {
            command(op).debug_assert();
            assert!(document::find(&all, &op.name).is_ok());
        }
    }

    #[test]
    fn names_are_found_by_their_words() {
        let all = all();
        assert_eq!(document::find(&all, "wallet_overview").unwrap().name, "wallet-overview");
        assert_eq!(document::find(&all, "pnl").unwrap().name, "wallet-pnl");
        let several = document::find(&all, "wallet").unwrap_err();
        assert!(several.message.contains("several") && several.hint.unwrap().contains("wallet-pnl"));
        let unknown = document::find(&all, "wallet-overvieww").unwrap_err();
        assert!(unknown.hint.unwrap().contains("wallet-overview"));
        assert!(document::find(&all, "\u{1b}[2J").unwrap_err().message.contains("\\u{1b}"));
    }

    #[test]
    fn requests_of_reading() {
        let pnl = of(&["pnl", "bc1q x", "--currency", "EUR", "--csv"]).unwrap();
        assert_eq!((pnl.method.as_str(), pnl.body.len()), ("GET", 0));
        assert_eq!(pnl.target, "/v1/wallets/bc1q%20x/pnl?currency=EUR&format=csv");
        let explained = of(&["wallet-pnl", "a", "--explain", "--year", "2024"]).unwrap();
        assert_eq!(explained.target, "/v1/wallets/a/pnl?explain=true&year=2024");
        assert!(of(&["pnl", "a", "--csv", "--format", "json"]).unwrap_err().contains("cannot be used with"));
        assert!(of(&["pnl"]).unwrap_err().contains("required"));
        assert!(of(&["pnl", "a", "--method", "guess"]).unwrap_err().contains("average"));
    }

    #[test]
    fn requests_with_bodies() {
        let batch = of(&["batch-overview", "a", "b"]).unwrap();
        assert_eq!(batch.method, "POST");
        let body: Value = serde_json::from_slice(&batch.body).unwrap();
        assert_eq!(body, json!({"addresses": ["a", "b"]}));
        assert_eq!(as_list("[\"a\"]"), json!(["a"]));
        assert_eq!(as_list("a\nb,c"), json!(["a", "b,c"]));
        assert_eq!(as_list(r#"{"desc":"x"}"#), json!([{"desc": "x"}]));
        let wallet = of(&["wallet-lookup", "addr(a)", r#"{"desc":"x"}"#, "--include", "pnl,balance_history"]).unwrap();
        let body: Value = serde_json::from_slice(&wallet.body).unwrap();
        assert_eq!(body, json!({"wallet": ["addr(a)", {"desc": "x"}], "include": ["pnl", "balance_history"]}));
        let verified = of(&["tx-verify", "t", "--expected-amount-btc", "0.10000001"]).unwrap();
        let body: Value = serde_json::from_slice(&verified.body).unwrap();
        assert_eq!(body["expected_amount_btc"], "0.10000001");
    }
}
