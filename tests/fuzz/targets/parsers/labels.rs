//! Files of labels: whatever the bytes, each row is taken or refused, and what is taken can be a document.

use cairn_events::{
    Body, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Provenance,
    file::{FileError, FileWriter, read},
};
use cairn_inputs::{ClaimDefaults, ClaimLayout, ClaimOptions, MAX_LISTED, read_claims};
use cairn_model::Network;

use super::bounds::within;

/// Seconds since 1970 when the file is read.
const NOW: u32 = 1_800_000_000;
/// Readers of YAML and XML have buffers of their own.
const FREE_BYTES: u64 = 1 << 20;
const BYTES_PER_BYTE: u64 = 400;

/// The layouts that need nothing besides; with `None`, the file shows its layout.
const LAYOUTS: [Option<ClaimLayout>; 7] = [
    None,
    Some(ClaimLayout::TagPack),
    Some(ClaimLayout::SdnAdvanced),
    Some(ClaimLayout::AddressList),
    Some(ClaimLayout::Pools),
    Some(ClaimLayout::Facts),
    Some(ClaimLayout::Csv),
];

/// The first byte chooses layout, defaults and network.
pub fn run(bytes: &[u8]) {
    let Some((choice, file)) = bytes.split_first() else { return };
    let layout = LAYOUTS[usize::from(choice & 7) % LAYOUTS.len()];
    let says = choice & 8 != 0;
    let network = if choice & 16 != 0 { Network::Main } else { Network::Regtest };
    let defaults = ClaimDefaults {
        claim_type: says.then_some(ClaimType::ControlledBy),
        tier: says.then_some(EvidenceTier::ThirdParty),
        entity: if says { "somebody".parse().ok() } else { None },
        ..ClaimDefaults::default()
    };
    let map = match layout {
        Some(ClaimLayout::Csv) => "address=Address,label=Name,entity=Name".parse().ok(),
        _ => None,
    };
    let options = ClaimOptions { layout, map, defaults, ..ClaimOptions::new(NOW, network) };
    let mut claims: Vec<Claim> = Vec::new();
    let limit = FREE_BYTES + BYTES_PER_BYTE * file.len() as u64;
    let report = within(limit, || read_claims(&mut &*file, &options, &mut |claim| claims.push(claim)));
    let Ok(report) = report else { return };
    assert_eq!(report.rows, report.taken + report.refused);
    assert_eq!(report.taken, claims.len() as u64);
    assert!(report.bad_rows.len() <= MAX_LISTED);
    for bad in &report.bad_rows {
        assert!(bad.to_string().len() < 1_000);
    }
    for claim in &claims {
        assert_eq!(claim.check(), Ok(()), "row {}", claim.row);
        assert!(claim.asserted_at.is_none_or(|at| at <= NOW));
    }
    if !claims.is_empty() {
        keep(claims);
    }
}

/// The rows taken make a document, which reads back from its file.
fn keep(rows: Vec<Claim>) {
    let Some((source, list)) = "fuzz".parse().ok().zip("list".parse().ok()) else { return };
    let document = Document {
        provenance: Provenance {
            source,
            licence: list,
            origin: "fuzz".to_owned(),
            retrieved_at: NOW,
            document: DocumentHash([1; 32]),
        },
        received_at: None,
        body: Body::Claims {
            list: ClaimList { name: "list".parse().unwrap_or_else(|_| unreachable!()), is_complete: false },
            rows,
        },
    };
    assert_eq!(document.check(), Ok(()), "rows do not ascend");
    let mut file = FileWriter::begin(Vec::new()).unwrap_or_else(|error| panic!("{error}"));
    file.add(&document).unwrap_or_else(|error| panic!("{error}"));
    let (bytes, _) = file.finish().unwrap_or_else(|error| panic!("{error}"));
    let mut again = Vec::new();
    let count = read::<FileError>(&*bytes, |document| {
        again.push(document);
        Ok(())
    });
    assert_eq!(count.ok(), Some(1));
    assert_eq!(again, [document]);
}
