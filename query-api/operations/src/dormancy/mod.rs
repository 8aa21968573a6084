//! Coins that were not spent for long, and the transactions that spend them.

mod movement;
mod recent;
mod source;
mod window;

crate::area::area! {
    awakenings::Awakenings,
    movements::DormantMovements,
    alerts::DormantAlerts,
    pulse::PulseDormant,
}
