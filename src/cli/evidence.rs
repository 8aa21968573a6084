//! The command line of evidence packs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config::whole;

#[derive(Args, Debug)]
pub(crate) struct EvidenceArgs {
    #[command(subcommand)]
    pub(crate) what: EvidenceCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum EvidenceCommand {
    /// Writes the canonical bytes of a pack (RFC 8785) to standard output: the bytes that its digest and its signature
    /// are of. With them, `openssl pkeyutl -verify -pubin -inkey KEY -rawin -in BYTES -sigfile SIGNATURE` checks the
    /// signature.
    Canonical(EvidenceCanonical),
    /// Lists the changes between two packs about one address, each with its cause: a block, a claim, an input event or
    /// a definition.
    Diff(EvidenceDiff),
    /// Checks a pack: its digest, its signature if --key is given, and its proofs, against the chain of headers if
    /// --headers is given. Lists what is proven, what is signed only, and what is not covered.
    Verify(EvidenceVerify),
}

#[derive(Args, Debug)]
pub(crate) struct EvidenceCanonical {
    /// The pack, as JSON.
    pub(crate) file: PathBuf,
    /// Writes the 64 bytes of the pack's signature to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) signature_to: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct EvidenceDiff {
    /// The earlier pack, as JSON.
    pub(crate) before: PathBuf,
    /// The later pack, as JSON.
    pub(crate) after: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct EvidenceVerify {
    /// The pack, as JSON.
    pub(crate) file: PathBuf,
    /// The public key of the operator: a PEM file, or a copy of /.well-known/cairn-evidence-keys.json. Refuses a pack
    /// that none of its keys has signed.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Block headers, ascending: a file, or an http(s) URL of one. Each has 80 bytes, or is a line of 160 hexadecimal
    /// digits. Links, proof of work and retargets are checked; the source need not be trusted.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) headers: Option<String>,
    /// Height of the first header: the checkpoint, which is trusted unless it is 0. On the main network, a multiple of
    /// 2016.
    #[arg(long, value_name = "HEIGHT", default_value_t = 0, requires = "headers", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) from: u32,
}
