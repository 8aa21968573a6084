//! Evidence about the risk of addresses: nothing here scores, clears or advises.

crate::area::area! {
    evidence_pack::EvidencePack,
}
