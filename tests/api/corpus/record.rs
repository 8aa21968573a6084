//! A record of answers in a file, one line for each request, and what differs from it.
//!
//! `CAIRN_CORPUS_WRITE=1` writes the file again. `CAIRN_CORPUS_DIR=<folder>` writes every answer in full to a file of
//! its own, so that two states of the code can be compared with `diff -r`.

use std::{
    collections::HashMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};
use bitcoin::hashes::{Hash, sha256};
use serde_json::Value;
use tower::ServiceExt;

const COLUMNS: [&str; 7] = ["request", "status", "type", "etag", "rows", "headers", "body"];
/// Differences that a failure shows.
const SHOWN: usize = 20;
/// Longer words are shown by their two ends.
const LONGEST_WORD: usize = 24;
/// Characters of a body that name its request.
const BODY_SHOWN: usize = 100;
/// Headers that no two answers share, or that have columns of their own.
const APART: [&str; 6] = ["x-request-id", "date", "etag", "content-type", "content-length", "x-rows-read"];

/// A request: to one of several routers, which the first letter names.
#[derive(Clone, Debug)]
pub struct Asked {
    pub world: char,
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Its name in the record, if that is not its target and body.
    pub name: Option<String>,
}

impl Asked {
    pub fn get(world: char, target: impl Into<String>) -> Self {
        let (method, target) = ("GET".to_owned(), target.into());
        Asked { world, method, target, headers: Vec::new(), body: Vec::new(), name: None }
    }

    pub fn method(self, method: &str) -> Self {
        Asked { method: method.to_owned(), ..self }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a body of this type.
    pub fn body(self, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Asked { body: body.into(), ..self.header("content-type", kind) }
    }

    /// Its name in the record.
    fn label(&self) -> String {
        if let Some(name) = &self.name {
            return format!("{} {}", self.world, shortened(name));
        }
        let mut label = self.world.to_string();
        if self.method != "GET" {
            label += &format!(" {}", self.method);
        }
        label += &format!(" {}", shortened(&self.target));
        for (name, value) in &self.headers {
            let own = name == "if-none-match" && value.len() > 10;
            label += &format!(" [{name}: {}]", if own { "its own".to_owned() } else { shortened(value) });
        }
        if !self.body.is_empty() {
            let body = shortened(&String::from_utf8_lossy(&self.body));
            label += " ";
            label.extend(body.chars().take(BODY_SHOWN));
        }
        label
    }
}

/// An answer.
pub struct Got {
    pub headers: HeaderMap,
    pub body: Value,
}

struct Line {
    label: String,
    columns: Vec<String>,
    /// The request in full.
    asked: String,
}

/// Answers, as they come in.
pub struct Recorder {
    name: &'static str,
    lines: Vec<Line>,
    labels: HashMap<String, usize>,
    began: u64,
}

impl Recorder {
    /// Begins a record of this name. Everything that depends on the clock has to be made after that.
    pub fn new(name: &'static str) -> Self {
        Recorder { name, lines: Vec::new(), labels: HashMap::new(), began: unix_now() - 1 }
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Sends a request and records the answer.
    pub async fn send(&mut self, router: &Router, asked: &Asked) -> Got {
        let mut request = Request::builder().method(asked.method.as_str()).uri(&asked.target);
        for (name, value) in &asked.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(asked.body.clone())).unwrap_or_else(|e| panic!("{asked:?}: {e}"));
        let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let header = |name: &str| parts.headers.get(name).map_or("", |v| v.to_str().unwrap()).to_owned();

        // A quote holds for ten minutes, and says until when.
        let now = self.began..=unix_now() + 601;
        let body = match std::str::from_utf8(&bytes) {
            Ok(text) => settled(text, &now),
            Err(_) => format!("bytes {}", crate::support::hex(&bytes)),
        };
        let mut headers: Vec<String> = parts
            .headers
            .iter()
            .filter(|(name, _)| !APART.contains(&name.as_str()))
            .map(|(name, value)| format!("{name}: {}", settled(&String::from_utf8_lossy(value.as_bytes()), &now)))
            .collect();
        headers.sort();
        let headers = headers.join("\n");

        let label = asked.label().replace(char::is_control, " ");
        let seen = self.labels.entry(label.clone()).or_default();
        *seen += 1;
        let label = if *seen > 1 { format!("{label} #{seen}") } else { label };
        let kind = header("content-type");
        let kind = kind.trim_start_matches("application/").split(';').next().unwrap_or_default();
        let columns = vec![
            parts.status.as_u16().to_string(),
            if kind.is_empty() { "-" } else { kind }.to_owned(),
            if header("etag").is_empty() { "-" } else { "e" }.to_owned(),
            Some(header("x-rows-read")).filter(|rows| !rows.is_empty()).unwrap_or("-".to_owned()),
            digest(&headers, 4),
            digest(&body, 8),
        ];
        let asked = format!("{} {}\n{}", asked.method, asked.target, String::from_utf8_lossy(&asked.body));
        if let Some(folder) = std::env::var_os("CAIRN_CORPUS_DIR") {
            let folder = PathBuf::from(folder).join(self.name);
            fs::create_dir_all(&folder).unwrap();
            let full = format!("{asked}\n\n{}\n{headers}\n\n{}\n", columns[..4].join(" "), spread(&body));
            fs::write(folder.join(format!("{:05}-{}.txt", self.lines.len(), slug(&label))), full).unwrap();
        }
        self.lines.push(Line { label, columns, asked });
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Got { headers: parts.headers, body }
    }

    /// Compares with the record in a file, or writes it.
    pub fn finish(self, file: &Path) {
        let mut text = format!("{}\n", COLUMNS.join("\t"));
        for line in &self.lines {
            writeln!(text, "{}\t{}", line.label, line.columns.join("\t")).unwrap();
        }
        if std::env::var_os("CAIRN_CORPUS_WRITE").is_some() {
            fs::write(file, text).unwrap();
            return;
        }
        let known = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let differences = self.differences(&known);
        assert!(
            differences.is_empty(),
            "{} answers differ from {}; the first:\n\n{}",
            differences.len(),
            file.display(),
            differences[..differences.len().min(SHOWN)].join("\n")
        );
        assert!(known == text, "the requests come in another order than in {}", file.display());
    }

    fn differences(&self, known: &str) -> Vec<String> {
        let mut recorded: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut order = Vec::new();
        for line in known.lines().skip(1) {
            let mut fields = line.split('\t');
            let label = fields.next().unwrap_or_default();
            order.push(label);
            recorded.insert(label, fields.collect());
        }
        let mut differences = Vec::new();
        for line in &self.lines {
            let Some(before) = recorded.remove(line.label.as_str()) else {
                differences.push(format!("not in the record: {}\n  {}", line.label, line.asked));
                continue;
            };
            let changed: Vec<String> = COLUMNS[1..]
                .iter()
                .zip(before.iter().zip(&line.columns))
                .filter(|(_, (before, now))| *before != now)
                .map(|(column, (before, now))| format!("{column} {before} -> {now}"))
                .collect();
            if !changed.is_empty() || before.len() != line.columns.len() {
                differences.push(format!("{}: {}\n  {}", line.label, changed.join(", "), line.asked));
            }
        }
        let gone = order.into_iter().filter(|label| recorded.contains_key(label));
        differences.extend(gone.map(|label| format!("in the record alone: {label}")));
        differences
    }
}

pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn digest(text: &str, bytes: usize) -> String {
    crate::support::hex(&sha256::Hash::hash(text.as_bytes()).to_byte_array()[..bytes])
}

/// Text with its long words (addresses, ids, cursors) reduced to their ends.
fn shortened(text: &str) -> String {
    let mut out = String::new();
    for piece in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if word.len() > LONGEST_WORD {
            out += &format!("{}~{}{}", &word[..8], &word[word.len() - 4..], &piece[word.len()..]);
        } else {
            out += piece;
        }
    }
    out
}

fn slug(label: &str) -> String {
    let kept: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(80).collect();
    kept.trim_matches('-').to_owned()
}

/// JSON with a line for each member; every character stays.
fn spread(text: &str) -> String {
    if !text.starts_with(['{', '[']) {
        return text.to_owned();
    }
    let (mut out, mut quoted, mut escaped) = (String::with_capacity(text.len() * 5 / 4), false, false);
    for c in text.chars() {
        out.push(c);
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            quoted = true;
        } else if "{[,".contains(c) {
            out.push('\n');
        }
    }
    out
}

/// A text without what two runs of the same code may say differently: the time that it is, ids of requests, and the
/// version of the program.
fn settled(text: &str, now: &std::ops::RangeInclusive<u64>) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut inside) = (text, false);
    while let Some(first) = rest.chars().next() {
        let (of_the_moment, len) = if inside { (None, 0) } else { of_the_moment(rest, now) };
        if let Some(what) = of_the_moment {
            out += what;
            rest = &rest[len..];
            inside = false;
            continue;
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
        inside = first.is_ascii_alphanumeric() || first == '.';
    }
    ages_settled(&out)
}

const DAY: u64 = 86_400;

/// The name of a value of the clock at the beginning of a text, and the length of the value; it replaces the value.
fn of_the_moment(text: &str, now: &std::ops::RangeInclusive<u64>) -> (Option<&'static str>, usize) {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let word = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-:.".contains(c))).unwrap_or(text.len());
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let ends = |at: usize| !text[at..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
    if digits == 4
        && let Some(z) = text[..word].find('Z')
        && let Some(time) = unix_of(&text[..z])
    {
        if now.contains(&time) {
            return (Some("<now>"), z + 1);
        }
        // Claims count for the whole current day.
        if [now.start(), now.end()].iter().any(|now| time == *now / DAY * DAY + DAY - 1) {
            return (Some("<the end of today>"), z + 1);
        }
    }
    if ends(digits) && (digits == 10 || digits == 13) {
        let time: u64 = text[..10].parse().unwrap();
        if now.contains(&time) {
            return (Some("<now>"), digits);
        }
    }
    // UUIDs of version 7 begin with milliseconds.
    if word >= 36 && text.as_bytes()[14] == b'7' && text[..36].bytes().filter(|b| *b == b'-').count() == 4 {
        let time = u64::from_str_radix(&text[..13].replace('-', ""), 16).ok();
        if time.is_some_and(|ms| now.contains(&(ms / 1000))) {
            return (Some("<id>"), 36);
        }
    }
    if text.starts_with(VERSION) && !text[VERSION.len()..].starts_with(|c: char| c.is_ascii_digit()) {
        return (Some("<version>"), VERSION.len());
    }
    (None, 0)
}

/// Unix seconds of `2025-12-31T00:00:00` with or without a fraction.
fn unix_of(text: &str) -> Option<u64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    if year < 1970 || !(1..=12).contains(&month) || text.as_bytes()[10] != b'T' {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// Ages grow with the clock; in strings of JSON the quotes are escaped.
fn ages_settled(text: &str) -> String {
    let mut out = text.to_owned();
    for key in ["age_seconds\":", "age_seconds\\\":"] {
        let mut parts = out.split(key);
        let mut next = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            next += key;
            let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
            next += if rest.len() < part.len() { "<age>" } else { "" };
            next += rest;
        }
        out = next;
    }
    out
}

#[test]
fn what_the_clock_says_is_settled() {
    let moment = 1_767_139_200;
    let now = moment - 5..=moment + 5;
    for (text, expected) in [
        (r#"{"t":"2025-12-31T00:00:00Z"}"#, r#"{"t":"<now>"}"#),
        (r#"{"t":"2025-12-30T23:59:58.123Z","u":1}"#, r#"{"t":"<now>","u":1}"#),
        (r#"{"t":"2025-12-30T23:59:54Z"}"#, r#"{"t":"2025-12-30T23:59:54Z"}"#),
        (r#"{"t":1767139201,"u":1767139300}"#, r#"{"t":<now>,"u":1767139300}"#),
        (
            r#"{"t":1767139201000,"u":"a1767139201","v":1767139201.5}"#,
            r#"{"t":<now>,"u":"a1767139201","v":1767139201.5}"#,
        ),
        (r#"{\"age_seconds\":12,"age_seconds":null}"#, r#"{\"age_seconds\":<age>,"age_seconds":null}"#),
        ("ü 019b71b4-4c00-7abc-8def-0123456789ab", "ü <id>"),
        ("019b71b6-4c00-7abc-8def-0123456789ab", "019b71b6-4c00-7abc-8def-0123456789ab"),
    ] {
        assert_eq!(settled(text, &now), expected);
    }
    assert_eq!(settled(concat!("v ", env!("CARGO_PKG_VERSION"), "\""), &now), "v <version>\"");
    assert_eq!(unix_of("2000-02-29T12:00:01.5"), Some(951_825_601));
    assert_eq!(spread(r#"{"a,\"":[1,2]}"#), "{\n\"a,\\\"\":[\n1,\n2]}");
    assert_eq!(shortened(&format!("/v1/tx/{}/status", "ab".repeat(32))), "/v1/tx/abababab~abab/status");
}
