//! Mining pools: which pool each block is from.

mod facts;
mod judge;
mod known;
mod scan;
mod window;

crate::area::area! {
    list::PoolList,
    detail::PoolDetail,
}

pub(crate) use facts::BlockPool;
pub(crate) use judge::Judge;
pub(crate) use known::KnownTags;
