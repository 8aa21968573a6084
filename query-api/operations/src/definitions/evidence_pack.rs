//! Definition of evidence packs.

use cairn_http::Definition;

pub(crate) const EVIDENCE_PACK: &str = "evidence-pack";

pub(super) const EVIDENCE_PACK_PAGE: Definition = Definition {
    id: EVIDENCE_PACK,
    title: "Evidence packs",
    text: &[
        "An evidence pack has the answers of several operations about one address in sections. A section is ok, skipped \
         (the request did not want it), unavailable (time_budget, work_budget or tables_unfinished) or error. Sections \
         share the work of the request; one that uses up its share does not take the others with it. Only counts limit \
         the sections that the digest covers: a section that the clock has cut is unavailable.",
        "The digest is the SHA-256 of the canonical form (RFC 8785) of the pack, without _meta, digest_sha256, \
         digest_reason, signature, signature_reason, proofs, proofs_reason and proofs_omitted. Sections that digest_covers does not name have no data; their \
         status is covered. So the digest covers the address, the parameters, the newest block, the sequence number of the newest input event and the \
         versions of the definitions. Its numbers are integers; those above 9 007 199 254 740 991 are texts. Amounts in \
         bitcoin, prices, unconfirmed transactions and cursors are left out. A version of a definition is the beginning \
         of the SHA-256 of its page.",
        "Claims count as of the end of the day (UTC) of the newest block or, if it is later, of the newest input event. So \
         two servers with the same newest block, the same ledger of input events and the same definitions give the \
         same digest. While tables are being built, the pack has no digest.",
        "The signature is an Ed25519 signature (RFC 8032) of the canonical form by the operator's key. The id of a key is \
         the first 16 hexadecimal digits of the SHA-256 of its 32 bytes. /.well-known/cairn-evidence-keys.json lists the \
         keys, also earlier ones. `cairn evidence canonical FILE` writes the signed bytes, which OpenSSL can check; \
         `cairn evidence verify FILE` checks a pack, and `cairn evidence diff A B` names the changes between two.",
        "Proofs (proofs=true) are outside of the digest: they prove themselves. For a transaction they have its bytes, those \
         of the transactions that fund it, the Merkle branch and the header of its block, and the coinbase with its \
         branch, whose length is the depth of the tree. Bytes are without witnesses, so that the txid is a hash of all of \
         them. Transactions of 64 bytes have no proof. A reader who has the headers of the chain, from a source that need \
         not be trusted, checks that a transaction is in its block and recomputes its amounts. Labels, and that nothing is \
         missing, cannot be proven in this way.",
        "A digest shows that nothing was changed, and a signature who states it. Neither shows that the labels are right, \
         or that the pack is complete.",
    ],
};
