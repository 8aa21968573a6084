//! Coins that were not spent for long, and the transactions that spend them.

mod movement;
mod recent;
mod source;

crate::area::area! {
    awakenings::Awakenings,
    movements::DormantMovements,
    alerts::DormantAlerts,
    pulse::PulseDormant,
}
