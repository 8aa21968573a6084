//! A thread that keeps the projection of the next blocks fresh, so that no request has to make one.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_domain::{FeeRate, mempool::Template};
use cairn_link::MempoolSlot;
use cairn_model::SourceStatus;

use crate::stop::Stop;

/// How often the thread looks whether it should end, and whether a projection that was put off is due.
const TICK: Duration = Duration::from_millis(250);

/// Starts the thread; it ends with the process' work.
///
/// # Errors
/// There is no thread to be had.
pub(crate) fn start(mempool: Arc<MempoolSlot>, stop: &Stop) -> io::Result<JoinHandle<()>> {
    let stop = stop.clone();
    thread::Builder::new().name("projector".to_owned()).spawn(move || {
        while stop.asked().is_none() {
            mempool.keep_fresh(TICK);
        }
    })
}

/// The rules by which a node of this state fills its blocks; the newest ones if it did not say.
pub(crate) fn template(source: &SourceStatus) -> Template {
    let rules = source.node_version.map_or_else(Template::default, Template::of_node);
    Template { min_rate: source.block_min_fee.map_or(rules.min_rate, FeeRate), ..rules }
}
