//! The command line of evidence packs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
    /// Checks a pack: its digest, and its signature if --key is given. Lists the parts that are signed, and those that
    /// are not covered.
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
}
