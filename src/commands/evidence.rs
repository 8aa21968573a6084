//! `cairn evidence`: checks and compares evidence packs, without an index.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    time::Duration,
};

use cairn_domain::evidence::{
    BadPack, HeaderChain, KeyRecord, Proven, PublicKey, Signed, check_proofs, diff, parse, read_keys, signed_bytes,
    verify,
};
use cairn_fetch::{Client, Fetched, Limits, Url, UrlError, Validators};
use cairn_model::Network;
use serde_json::Value;

use crate::{
    cli::{EvidenceCanonical, EvidenceCommand, EvidenceDiff, EvidenceVerify},
    exit::{Exit, Failure},
    out::{harmless, print, written},
    signals::Signals,
};

/// Longest pack that is read, in bytes: several times the longest answer of a server.
const MAX_PACK_BYTES: u64 = 64 << 20;

/// Longest file of headers, in bytes: 20 million blocks as text.
const MAX_HEADER_BYTES: u64 = 20_000_000 * 161;
const HEADER_TIME: Duration = Duration::from_secs(600);

pub(crate) fn evidence(command: &EvidenceCommand) -> Result<Exit, Failure> {
    match command {
        EvidenceCommand::Canonical(args) => canonical(args),
        EvidenceCommand::Diff(args) => changes(args),
        EvidenceCommand::Verify(args) => check(args),
    }
}

fn pack(path: &Path) -> Result<Value, Failure> {
    let of = |problem: String| Failure::usage(format!("{}: {problem}", path.display()));
    let size = fs::metadata(path).map_err(|error| of(format!("cannot be read: {error}")))?.len();
    if size > MAX_PACK_BYTES {
        return Err(of(format!("has {size} bytes; a pack has at most {MAX_PACK_BYTES}")));
    }
    let bytes = fs::read(path).map_err(|error| of(format!("cannot be read: {error}")))?;
    parse(&bytes).map_err(|error| refused(path, &format!("is not JSON: {error}")))
}

/// A pack that is not accepted.
fn refused(path: &Path, problem: &str) -> Failure {
    Failure::new(Exit::Difference, format!("{}: refused: {problem}", path.display()))
}

fn bad(path: &Path) -> impl Fn(BadPack) -> Failure {
    move |error| refused(path, &error.to_string())
}

fn canonical(args: &EvidenceCanonical) -> Result<Exit, Failure> {
    let pack = pack(&args.file)?;
    let bytes = signed_bytes(&pack).map_err(bad(&args.file))?;
    if let Some(path) = &args.signature_to {
        let value = pack.pointer("/signature/value").and_then(Value::as_str);
        let signature = value.and_then(|text| hex::decode(text).ok());
        let signature = signature.ok_or_else(|| refused(&args.file, "/signature/value: is not hexadecimal"))?;
        fs::write(path, signature)?;
    }
    let mut out = io::stdout().lock();
    written(out.write_all(&bytes).and_then(|()| out.flush()))?;
    Ok(Exit::Done)
}

fn changes(args: &EvidenceDiff) -> Result<Exit, Failure> {
    let (before, after) = (pack(&args.before)?, pack(&args.after)?);
    let changes = diff(&before, &after).map_err(|error| Failure::usage(error.to_string()))?;
    let mut text = String::new();
    for change in &changes {
        text += &harmless(&change.to_string());
        text.push('\n');
    }
    print(if changes.is_empty() { "no change\n" } else { &text })?;
    Ok(Exit::Done)
}

/// The keys of a file: a PEM key, or a published document.
fn keys(path: &Path) -> Result<Vec<KeyRecord>, Failure> {
    let of = |problem: String| {
        Failure::usage(format!("{}: {problem}", path.display()))
            .hint("give a public key in PEM, or a copy of /.well-known/cairn-evidence-keys.json")
    };
    let text = fs::read_to_string(path).map_err(|error| of(format!("cannot be read: {error}")))?;
    if text.trim_start().starts_with("-----") {
        let key = PublicKey::from_pem(&text).map_err(|error| of(error.to_string()))?;
        return Ok(vec![KeyRecord { key, valid_from: None, valid_to: None }]);
    }
    let document = parse(text.as_bytes()).map_err(|error| of(format!("is neither a key nor JSON: {error}")))?;
    read_keys(&document).map_err(of)
}

fn check(args: &EvidenceVerify) -> Result<Exit, Failure> {
    let pack = pack(&args.file)?;
    let keys = args.key.as_deref().map(keys).transpose()?;
    let verdict = verify(&pack, keys.as_deref()).map_err(bad(&args.file))?;
    let mut text = format!("digest: {} matches\n", verdict.digest);
    text += &match &verdict.signed {
        Signed::No(reason) => format!("signature: none ({})\n", harmless(reason)),
        Signed::Unchecked(id) => format!("signature: by key {id}, not checked: give --key FILE\n"),
        Signed::By(record) => {
            let time = |time: &Option<String>| time.clone().unwrap_or_else(|| "not stated".to_owned());
            let (from, to) = (time(&record.valid_from), time(&record.valid_to));
            format!("signature: valid, by key {} (in use from: {from}; to: {to})\n", record.key.id())
        }
    };
    let chain = chain(args, &pack)?;
    let proven = check_proofs(&pack, chain.as_ref()).map_err(bad(&args.file))?;
    if let Some(chain) = &chain {
        text += &about_headers(chain);
    }
    let word = if matches!(verdict.signed, Signed::By(_)) { "signed only" } else { "digest only" };
    text += &about_proofs(proven.as_ref(), chain.is_some(), word);
    for section in &verdict.sections {
        text += &format!("section {}: {word}, except for what is proven above\n", harmless(section));
    }
    for name in &verdict.not_covered {
        text += &format!("{}: not covered\n", harmless(name));
    }
    text += "completeness: not proven; a pack may leave out what its operator does not know\n";
    print(&text)?;
    Ok(Exit::Done)
}

/// Reads and checks the headers, if some are given.
fn chain(args: &EvidenceVerify, pack: &Value) -> Result<Option<HeaderChain>, Failure> {
    let Some(from) = &args.headers else { return Ok(None) };
    let file = if from.contains("://") {
        // The message does not repeat the text, because it may contain credentials.
        let url: Url = from.parse().map_err(|error: UrlError| Failure::usage(error.to_string()))?;
        let signals = Signals::take_over()?;
        let limits = Limits { received: MAX_HEADER_BYTES, unpacked: MAX_HEADER_BYTES, time: HEADER_TIME };
        // The operator of this machine names the URL, and nothing in it is believed without its work.
        match Client::new(signals.cancel_token(), true).fetch(&url, limits, &Validators::default()) {
            Ok(Fetched::Document(answer)) => answer.body.content()?,
            Ok(Fetched::Unchanged) => Vec::new(),
            Err(error) => return Err(Failure::new(Exit::Source, error.to_string())),
        }
    } else {
        let path = Path::new(from);
        let size = fs::metadata(path).map_err(Failure::io(path))?.len();
        if size > MAX_HEADER_BYTES {
            return Err(Failure::usage(format!("{from}: has {size} bytes; headers have at most {MAX_HEADER_BYTES}")));
        }
        fs::read(path).map_err(Failure::io(path))?
    };
    let network = pack.get("network").and_then(Value::as_str);
    let network = network.and_then(|name| Network::ALL.into_iter().find(|network| network.name() == name));
    let network = network.ok_or_else(|| refused(&args.file, "/network: is not a network"))?;
    let chain = HeaderChain::check(&file, args.from, network);
    chain.map(Some).map_err(|error| Failure::new(Exit::Difference, format!("the headers are refused: {error}")))
}

fn about_headers(chain: &HeaderChain) -> String {
    let (height, hash) = chain.checkpoint();
    let trust =
        if height == 0 { "the first block of the network" } else { "trusted: compare it with a source of yours" };
    let retargets = if chain.checks_retargets() { "checked" } else { "not checked on this network" };
    format!(
        "checkpoint: height {height}, {hash} ({trust})\nheaders: {height} to {} hold; work {}; retargets: {retargets}\n",
        chain.last(),
        chain.work()
    )
}

fn about_proofs(proven: Option<&Proven>, has_headers: bool, word: &str) -> String {
    let Some(proven) = proven else { return "proofs: none in the pack\n".to_owned() };
    let mut text = String::new();
    for txid in &proven.txids {
        let amounts = if proven.rows.contains(txid) { " with its amounts" } else { "" };
        let how = if has_headers { "proven" } else { "proven up to its header; give --headers FILE" };
        text += &format!("transaction {}{amounts}: {how}\n", harmless(txid));
    }
    for txid in &proven.omitted {
        text += &format!("transaction {}: {word}\n", harmless(txid));
    }
    text
}
