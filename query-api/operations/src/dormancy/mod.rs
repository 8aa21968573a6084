//! Coins that were not spent for long, and the transactions that spend them.

mod by_input;
mod classify;
mod flush;
mod holder;
mod movement;
mod recent;
mod report;
mod source;
mod wakeup;

pub(crate) use weekly::WEEK;

crate::area::area! {
    awakenings::Awakenings,
    movements::DormantMovements,
    alerts::DormantAlerts,
    pulse::PulseDormant,
    weekly::WeeklyReport,
    weekly_text::WeeklyText,
    flushes::DormancyFlushes,
    wakeups::WhaleWakeups,
    watchlist::DormancyWatchlist,
}
