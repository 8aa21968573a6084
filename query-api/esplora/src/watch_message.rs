//! Messages of watchers: JSON objects in the form of mempool.space's websocket. A message may have several members.

use cairn_model::Txid;
use serde_json::{Map, Value};

/// Longest message in bytes.
pub(crate) const MAX_MESSAGE: usize = 64 << 10;
/// Most addresses, and most scripts, that a connection tracks at once.
pub(crate) const MAX_TRACKED: usize = 100;

/// The members that are served.
const SERVED: &str = "action, track-tx, track-address, track-addresses and track-scriptpubkeys";
/// The word that ends tracking.
const STOP: &str = "stop";

/// The data that a connection gets as they change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) blocks: bool,
    pub(crate) mempool_blocks: bool,
    pub(crate) stats: bool,
}

impl Wanted {
    /// All data.
    pub(crate) const ALL: Wanted = Wanted { blocks: true, mempool_blocks: true, stats: true };

    /// These data without those that `before` has.
    pub(crate) fn without(self, before: Wanted) -> Self {
        Wanted {
            blocks: self.blocks && !before.blocks,
            mempool_blocks: self.mempool_blocks && !before.mempool_blocks,
            stats: self.stats && !before.stats,
        }
    }
}

/// A list of scripts that a connection tracks, by the member of the message that sets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum List {
    /// `track-address`: one address.
    Address,
    /// `track-addresses`.
    Addresses,
    /// `track-scriptpubkeys`: in hexadecimal.
    Scripts,
}

impl List {
    /// The name of the member.
    pub(crate) fn member(self) -> &'static str {
        match self {
            List::Address => "track-address",
            List::Addresses => "track-addresses",
            List::Scripts => "track-scriptpubkeys",
        }
    }
}

/// A part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// Asks for the present data, once.
    Init,
    /// Replaces the data that are sent as they change.
    Want(Wanted),
    Ping,
    /// Tracks a transaction instead of the one before; `None` ends it.
    TrackTx(Option<Txid>),
    /// Tracks these instead of those before; an empty list ends it.
    Track(List, Vec<String>),
}

/// Why a part of a message is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wrong {
    /// The list that it was about.
    pub(crate) list: Option<List>,
    pub(crate) text: String,
}

impl Wrong {
    fn new(text: impl Into<String>) -> Self {
        Wrong { list: None, text: text.into() }
    }
}

/// Reads a message: its parts in their order.
pub(crate) fn parse(text: &str) -> Vec<Result<Request, Wrong>> {
    if text.len() > MAX_MESSAGE {
        let length = text.len();
        return vec![Err(Wrong::new(format!(
            "the message has {length} bytes; at most {MAX_MESSAGE} are allowed; send several messages"
        )))];
    }
    let members = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(members)) => members,
        Ok(_) => {
            return vec![Err(Wrong::new(format!("the message is not a JSON object; its members may be {SERVED}")))];
        }
        Err(error) => return vec![Err(Wrong::new(format!("the message is not JSON ({error}); send a JSON object")))],
    };
    let parts: Vec<_> = members.iter().filter_map(|(name, value)| part(name, value, &members)).collect();
    if parts.is_empty() {
        return vec![Err(Wrong::new(format!("the message asks for nothing; its members may be {SERVED}")))];
    }
    parts
}

/// A member of a message; `None` if it belongs to another one.
fn part(name: &str, value: &Value, members: &Map<String, Value>) -> Option<Result<Request, Wrong>> {
    Some(match name {
        "action" => action(value, members),
        // `want` reads it, and tracking a transaction always watches the mempool.
        "data" if members.contains_key("action") => return None,
        "watch-mempool" if members.contains_key("track-tx") => return None,
        "track-tx" => tx(value),
        "track-address" => list(List::Address, value),
        "track-addresses" => list(List::Addresses, value),
        "track-scriptpubkeys" => list(List::Scripts, value),
        other => Err(Wrong::new(format!("{:?} is not served; the members may be {SERVED}", shortened(other)))),
    })
}

fn action(value: &Value, members: &Map<String, Value>) -> Result<Request, Wrong> {
    match value.as_str() {
        Some("init") => Ok(Request::Init),
        Some("ping") => Ok(Request::Ping),
        Some("want") => want(members.get("data")),
        _ => Err(Wrong::new(format!(
            "the action {} is not served; it may be \"init\", \"want\" or \"ping\"",
            shortened(&value.to_string())
        ))),
    }
}

fn want(data: Option<&Value>) -> Result<Request, Wrong> {
    let form = "data must be a list of \"blocks\", \"mempool-blocks\", \"stats\" and \"live-2h-chart\"";
    let names = data.and_then(Value::as_array).ok_or_else(|| Wrong::new(form))?;
    let mut wanted = Wanted::default();
    for name in names {
        match name.as_str() {
            Some("blocks") => wanted.blocks = true,
            Some("mempool-blocks") => wanted.mempool_blocks = true,
            Some("stats") => wanted.stats = true,
            // Clients always ask for it. No statistics in that form exist, so nothing is sent.
            Some("live-2h-chart") => {}
            _ => return Err(Wrong::new(format!("{} is not served; {form}", shortened(&name.to_string())))),
        }
    }
    Ok(Request::Want(wanted))
}

fn tx(value: &Value) -> Result<Request, Wrong> {
    match value.as_str() {
        Some(STOP) => Ok(Request::TrackTx(None)),
        Some(text) if text.parse::<Txid>().is_ok() => Ok(Request::TrackTx(text.parse().ok())),
        _ => Err(Wrong::new(format!(
            "track-tx {} is not a txid; send its 64 hexadecimal digits, or \"{STOP}\"",
            shortened(&value.to_string())
        ))),
    }
}

fn list(list: List, value: &Value) -> Result<Request, Wrong> {
    let name = list.member();
    let wrong = |text: String| Wrong { list: Some(list), text };
    if value.as_str() == Some(STOP) {
        return Ok(Request::Track(list, Vec::new()));
    }
    let texts: Option<Vec<&str>> = match (list, value) {
        (List::Address, Value::String(address)) => Some(vec![address]),
        (List::Addresses | List::Scripts, Value::Array(values)) => values.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let Some(texts) = texts else {
        let form = if list == List::Address { "a text" } else { "a list of texts" };
        return Err(wrong(format!("{name} is not {form}; send {form}, or \"{STOP}\"")));
    };
    if texts.len() > MAX_TRACKED {
        let count = texts.len();
        return Err(wrong(format!(
            "{name} has {count} entries; a connection tracks at most {MAX_TRACKED}; open another one for the rest"
        )));
    }
    Ok(Request::Track(list, texts.into_iter().map(str::to_owned).collect()))
}

/// Characters of a client's text that an error repeats.
const SHOWN: usize = 80;

/// The beginning of a text.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(text: &str) -> Result<Request, String> {
        let mut parts = parse(text);
        assert_eq!(parts.len(), 1, "{text}");
        parts.remove(0).map_err(|wrong| wrong.text)
    }

    #[test]
    fn messages_of_clients_are_read() {
        let txid = "11".repeat(32);
        assert_eq!(one(r#"{"action":"init"}"#), Ok(Request::Init));
        assert_eq!(one(r#"{"action":"ping"}"#), Ok(Request::Ping));
        let all = r#"{"action":"want","data":["blocks","stats","mempool-blocks","live-2h-chart"]}"#;
        assert_eq!(one(all), Ok(Request::Want(Wanted::ALL)));
        assert_eq!(one(r#"{"action":"want","data":[]}"#), Ok(Request::Want(Wanted::default())));
        assert_eq!(one(&format!(r#"{{"track-tx":"{txid}","watch-mempool":true}}"#)), {
            Ok(Request::TrackTx(txid.parse().ok()))
        });
        assert_eq!(one(r#"{"track-tx":"stop"}"#), Ok(Request::TrackTx(None)));
        assert_eq!(one(r#"{"track-address":"a"}"#), Ok(Request::Track(List::Address, vec!["a".into()])));
        assert_eq!(one(r#"{"track-addresses":[]}"#), Ok(Request::Track(List::Addresses, vec![])));
        assert_eq!(one(r#"{"track-scriptpubkeys":"stop"}"#), Ok(Request::Track(List::Scripts, vec![])));
        let both = parse(r#"{"action":"want","data":["blocks"],"track-address":"stop"}"#);
        assert!(both.len() == 2 && both.iter().all(Result::is_ok), "{both:?}");
    }

    #[test]
    fn errors_name_what_is_wrong_and_what_is_allowed() {
        let many = serde_json::json!({"track-addresses": vec!["a"; MAX_TRACKED + 1]}).to_string();
        let long = format!(r#"{{"track-address":"{}"}}"#, "a".repeat(MAX_MESSAGE));
        for (text, expected) in [
            ("", "is not JSON"),
            ("[1]", "is not a JSON object; its members may be action, track-tx"),
            ("{}", "asks for nothing"),
            (r#"{"action":"dance"}"#, r#"the action "dance" is not served; it may be "init", "want" or "ping""#),
            (r#"{"action":"want"}"#, "data must be a list of"),
            (r#"{"action":"want","data":["cats"]}"#, r#""cats" is not served; data must be"#),
            (r#"{"track-tx":"12"}"#, r#"track-tx "12" is not a txid; send its 64"#),
            (r#"{"track-address":["a"]}"#, "track-address is not a text; send a text"),
            (r#"{"track-addresses":[1]}"#, "track-addresses is not a list of texts"),
            (r#"{"track-rbf":"all"}"#, r#""track-rbf" is not served; the members may be"#),
            (&many, "track-addresses has 101 entries; a connection tracks at most 100"),
            (&long, "bytes; at most 65536 are allowed"),
        ] {
            let error = one(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.len() < 400, "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_errors_are_short(text in "\\PC{0,300}", name in "\\PC{0,300}", value in "\\PC{0,300}") {
            let object = serde_json::json!({ name: value }).to_string();
            for part in parse(&text).into_iter().chain(parse(&object)) {
                prop_assert!(part.map_or_else(|wrong| wrong.text.len() < 2_000, |_| true));
            }
        }
    }
}
