//! The shape of the benches' chains, as far as settings decide it.

use std::env;

use cairn_chaingen::mainnet::{Counts, P2pkShare};
use cairn_support::setting;

/// Reads the share of P2PK scripts: `CAIRN_BENCH_P2PK_PPM` of a million addresses, and of 100 of these
/// `CAIRN_BENCH_P2PK_COMPRESSED` (100) with a compressed key. Without the first, the usual shape.
pub(crate) fn p2pk() -> Option<P2pkShare> {
    const PPM: &str = "CAIRN_BENCH_P2PK_PPM";
    env::var_os(PPM)?;
    let compressed_percent = setting("CAIRN_BENCH_P2PK_COMPRESSED", 100) as u32;
    Some(P2pkShare { addresses_ppm: setting(PPM, 0) as u32, compressed_percent })
}

/// Describes a chain by its counts.
pub(crate) fn described(counts: &Counts) -> String {
    let of_hundred = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    format!(
        "{} blocks, {:.1} MB: {} transactions, {} inputs, {} outputs; {} of these P2PK ({:.3} %), {:.0} % with compressed \
         keys",
        counts.blocks,
        counts.bytes as f64 / 1e6,
        counts.txs,
        counts.inputs,
        counts.outputs,
        counts.p2pk.outputs,
        of_hundred(counts.p2pk.outputs, counts.outputs),
        of_hundred(counts.p2pk.compressed, counts.p2pk.outputs),
    )
}
