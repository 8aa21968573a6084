//! Evidence about the risk of an address. No answer gives a score, a verdict or advice.

crate::area::area! {
    intelligence::Intelligence + batch,
}
