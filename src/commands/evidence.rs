//! `cairn evidence`: checks and compares evidence packs, without an index.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use cairn_domain::evidence::{BadPack, KeyRecord, PublicKey, Signed, diff, parse, read_keys, signed_bytes, verify};
use serde_json::Value;

use crate::{
    cli::{EvidenceCanonical, EvidenceCommand, EvidenceDiff, EvidenceVerify},
    exit::{Exit, Failure},
    out::{harmless, print, written},
};

/// Longest pack that is read, in bytes: several times the longest answer of a server.
const MAX_PACK_BYTES: u64 = 64 << 20;

pub(crate) fn evidence(command: &EvidenceCommand) -> Result<Exit, Failure> {
    match command {
        EvidenceCommand::Canonical(args) => canonical(args),
        EvidenceCommand::Diff(args) => changes(args),
        EvidenceCommand::Verify(args) => check(args),
    }
}

/// Reads a pack.
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
    let word = if matches!(verdict.signed, Signed::By(_)) { "signed only" } else { "digest only" };
    for section in &verdict.sections {
        text += &format!("section {}: {word}\n", harmless(section));
    }
    for name in &verdict.not_covered {
        text += &format!("{}: not covered\n", harmless(name));
    }
    text += "completeness: not proven; a pack may leave out what its operator does not know\n";
    print(&text)?;
    Ok(Exit::Done)
}
