//! `GET /v1/wallets/{address}/evidence-pack`.

mod assemble;
mod graph;
mod html;
mod input;
mod markdown;
mod pack;
mod proofs;
mod report;
mod seal;
mod section;
mod sections;

use cairn_http::{HTML, JSON, MARKDOWN, Output, Selection, SerializedAnswer, Work};
use schemars::{Schema, SchemaGenerator};

use self::{
    assemble::assemble,
    input::{EvidencePackInput, PackFormat},
    pack::Pack,
};
use crate::operation::prelude::*;

pub(crate) struct EvidencePack;

/// The answer in the form that was asked for.
pub(crate) enum PackAnswer {
    Json(Box<Pack>),
    Text(&'static str, String),
}

impl Output for PackAnswer {
    const MEDIA: &'static [&'static str] = &[JSON, MARKDOWN, HTML];

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Pack>()
    }

    fn write(self, selection: Selection<'_>, work: &Work) -> Result<SerializedAnswer, ApiError> {
        match self {
            PackAnswer::Json(pack) => pack.write(selection, work),
            PackAnswer::Text(media_type, text) => {
                work.answered(text.len())?;
                Ok(SerializedAnswer::File { media_type, bytes: text.into_bytes() })
            }
        }
    }
}

impl Operation for EvidencePack {
    const INFO: Info = Info {
        summary: "Everything known about an address as one signed document, with its sources",
        description: "Labels with their sources, trust card, risk signals, risk check, overview, newest transactions and \
            flow graph of an address in one document. Each section has a status: `ok`, `skipped`, `unavailable` or `error`, with a reason; a slow \
            section never takes the others with it. `digest_sha256` covers the sections that `digest_covers` names, \
            with tip, ledger and versions of definitions, in the canonical form of RFC 8785: two servers with the same \
            tip, ledger and definitions give the same digest. Prices and unconfirmed transactions are left out. If the \
            operator has a key, `signature` signs the same bytes; /.well-known/cairn-evidence-keys.json has the public \
            keys. With `proofs=true`, the pack has raw transactions, Merkle branches and headers that prove its \
            transactions. `cairn evidence` checks and compares packs without an index. The evidence pack gives no score, \
            verdict, clearance or compliance recommendation.",
        freshness: &[TIP, CLAIMS, LABELS],
        needs_tip: true,
        accepts: &[("application/json", "json"), ("text/markdown", "markdown"), ("text/html", "html")],
        tool: Tool::reads(
            "asked for everything that is known about an address as one document to keep or hand on",
            "one section alone (wallet_trust_safety, wallet_detail)",
        ),
        cost: Cost::Heavy,
        ..index_get("address_evidence_pack", "/v1/wallets/{address}/evidence-pack", "wallets")
    };
    type Input = EvidencePackInput;
    type Output = PackAnswer;

    fn run(ctx: &Ctx<'_>, input: EvidencePackInput) -> Result<PackAnswer, ApiError> {
        let pack = assemble(ctx, &input)?;
        let text = |media_type, write: fn(&report::Report) -> String| -> Result<PackAnswer, ApiError> {
            let pack = serde_json::to_value(&pack)?;
            Ok(PackAnswer::Text(media_type, write(&report::report(&pack))))
        };
        match input.format {
            PackFormat::Json => Ok(PackAnswer::Json(Box::new(pack))),
            PackFormat::Markdown => text(MARKDOWN, markdown::markdown),
            PackFormat::Html => text(HTML, html::page),
        }
    }
}
