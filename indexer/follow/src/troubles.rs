//! Troubles that keep the follower from working: logged once, and published until they have passed.

use std::{
    collections::BTreeMap,
    fmt::Display,
    time::{Duration, Instant},
};

use cairn_clock::now_secs;
use cairn_link::{Publish, Publishers};
use cairn_model::{Part, Trouble, one_line};
use parking_lot::Mutex;

/// A trouble whose reason changes is logged at most this often.
const LOG_EACH: Duration = Duration::from_secs(10);
/// Maximum length of a logged reason in characters.
const MAX_LOGGED: usize = 500;

pub(crate) struct Troubles {
    readers: Publishers,
    known: Mutex<BTreeMap<Part, LoggedTrouble>>,
}

struct LoggedTrouble {
    trouble: Trouble,
    logged: Instant,
}

impl Troubles {
    /// None yet; they will be published to `readers`.
    pub(crate) fn new(readers: Publishers) -> Self {
        Troubles { readers, known: Mutex::default() }
    }

    fn publish(&self, known: &BTreeMap<Part, LoggedTrouble>) {
        let all: Vec<Trouble> = known.values().map(|known| known.trouble.clone()).collect();
        self.readers.publish_troubles(&all);
    }

    /// Publishes that there is none. From then on, readers miss this follower when it is gone.
    pub(crate) fn begin(&self) {
        self.publish(&self.known.lock());
    }

    /// A part does not work. The trouble began with the first of these calls since the last [`Troubles::clear`].
    pub(crate) fn set(&self, part: Part, error: &dyn Display, next: &str) {
        let error = error.to_string();
        let mut known = self.known.lock();
        let before = known.get(&part);
        let since = before.map_or_else(now_secs, |before| before.trouble.since);
        let trouble = Trouble::new(part, &error, next, since);
        let logged = match before {
            Some(before) if before.trouble == trouble => return,
            Some(before) if before.logged.elapsed() < LOG_EACH => before.logged,
            _ => {
                let error = one_line(&error, MAX_LOGGED);
                tracing::warn!(part = part.name(), error, next, "the last block is served on");
                Instant::now()
            }
        };
        known.insert(part, LoggedTrouble { trouble, logged });
        self.publish(&known);
    }

    /// A part works.
    pub(crate) fn clear(&self, part: Part) {
        let mut known = self.known.lock();
        if let Some(gone) = known.remove(&part) {
            let seconds = now_secs().saturating_sub(gone.trouble.since);
            tracing::info!(part = part.name(), seconds, "it works again");
            self.publish(&known);
        }
    }

    /// Since when a part does not work, in seconds since 1970; `None` if it does.
    pub(crate) fn since(&self, part: Part) -> Option<u64> {
        self.known.lock().get(&part).map(|known| known.trouble.since)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cairn_link::{IndexSlot, IndexSource};

    use super::*;

    #[test]
    fn a_trouble_lasts_from_its_first_report_until_it_is_cleared() {
        let slot = Arc::new(IndexSlot::new());
        let troubles = Troubles::new(Publishers::new(vec![Arc::<IndexSlot>::clone(&slot)]));
        let told = || slot.troubles().iter().map(|t| (t.part, t.reason.clone())).collect::<Vec<_>>();
        troubles.set(Part::Disk, &"full", "waits");
        let since = troubles.since(Part::Disk).unwrap_or_default();
        troubles.set(Part::Node, &"gone\nat /srv/x/.cookie", "asks");
        assert_eq!(told(), [(Part::Node, "gone at .cookie".to_owned()), (Part::Disk, "full".to_owned())]);
        troubles.set(Part::Disk, &"read-only", "waits");
        assert_eq!(troubles.since(Part::Disk), Some(since), "another reason is the same trouble");
        troubles.clear(Part::Node);
        troubles.clear(Part::Index);
        assert_eq!(told(), [(Part::Disk, "read-only".to_owned())]);
        troubles.clear(Part::Disk);
        assert!(told().is_empty());
    }
}
