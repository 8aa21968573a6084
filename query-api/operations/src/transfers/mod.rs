//! Transactions that move much, and those that gather many coins.

mod consolidation;
mod list;
mod owners;
mod parties;
mod transfer;
mod unconfirmed;

pub(crate) use self::{
    owners::{Owners, SideOwner},
    parties::{Flow, flow_of, touches},
};

crate::area::area! {
    alerts::WhaleAlerts,
    labeled::LabeledAlerts,
    whales::PulseWhales,
    consolidations::PulseConsolidations,
    summary::PulseSummary,
}
