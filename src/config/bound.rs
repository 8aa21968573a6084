//! Most memory that a process takes: one number for a container, with its terms.

/// Memory of serving besides the index and the mempool, with the default limits of connections and requests at a time:
/// code, threads, connections, bodies and answers on their way, sessions, budgets of clients.
pub(crate) const SERVING: u64 = 128 << 20;
/// Connections that [`SERVING`] has room for.
const CONNECTIONS: u64 = 4096;
/// Memory of each further connection.
const CONNECTION: u64 = 16 << 10;
/// Requests of a class that run at a time, for which [`SERVING`] has room.
const READS: u64 = 32;
/// Memory of each further one, in every class: stacks of threads, and blocks that they hold.
const READ: u64 = 768 << 10;

/// Memory of the fetchers of prices.
const PRICES: u64 = 16 << 20;

/// Memory of the Electrum protocol: its most subscriptions, news that wait for each, and kept statuses.
const ELECTRUM: u64 = 224 << 20;

/// The settings that decide about memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// `--memory`.
    pub(super) memory: u64,
    /// `--cache`.
    pub(super) cache: u64,
    /// `--mempool-memory`.
    pub(super) mempool: u64,
    /// `--max-connections`.
    pub(super) connections: u64,
    /// `--max-concurrent-reads`.
    pub(super) reads: u64,
    pub(super) fetches: bool,
    /// True if the Electrum protocol is served.
    pub(super) has_electrum: bool,
}

impl Sizes {
    /// A line for each command, as comments of a `cairn.toml`.
    pub(super) fn bounds(&self) -> String {
        let mut text = String::new();
        for (command, terms) in self.commands() {
            let sum: u64 = terms.iter().map(|(_, bytes)| bytes).sum();
            let terms = terms.iter().filter(|(_, bytes)| *bytes > 0);
            let terms: Vec<String> = terms.map(|(name, bytes)| format!("{name}{}", size(*bytes))).collect();
            text += &format!("# memory bound of cairn {command}: {} = {}\n", size(sum), terms.join(" + "));
        }
        text
    }

    /// Bytes that `cairn run` takes at most.
    pub(super) fn run_bound(&self) -> u64 {
        let [(_, terms), ..] = self.commands();
        terms.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The terms of the bound of each command, that of `cairn run` first.
    fn commands(&self) -> [(&'static str, Vec<(&'static str, u64)>); 3] {
        let (memory, cache) = (("--memory ", self.memory), ("--cache ", self.cache));
        let mempool = ("--mempool-memory ", self.mempool);
        let prices = ("prices ", if self.fetches { PRICES } else { 0 });
        let more = |count: u64, free: u64, each: u64| count.saturating_sub(free) * each;
        let serving = [
            ("", SERVING),
            ("further connections ", more(self.connections, CONNECTIONS, CONNECTION)),
            ("further reads ", more(self.reads, READS, READ)),
            ("Electrum ", if self.has_electrum { ELECTRUM } else { 0 }),
        ];
        [
            ("run", [&[memory, cache, mempool, prices][..], &serving].concat()),
            ("index", vec![memory, mempool, prices]),
            ("serve", [&[cache, mempool][..], &serving].concat()),
        ]
    }
}

/// Whole GiB, or MiB, rounded up.
fn size(bytes: u64) -> String {
    match bytes.div_ceil(1 << 20) {
        mib if mib % 1024 == 0 => format!("{} GiB", mib / 1024),
        mib => format!("{mib} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_the_sum_of_its_terms() {
        let sizes = Sizes {
            memory: 4 << 30,
            cache: 1 << 30,
            mempool: 512 << 20,
            connections: 4096,
            reads: 32,
            fetches: false,
            has_electrum: false,
        };
        assert_eq!(
            sizes.bounds(),
            "# memory bound of cairn run: 5760 MiB = --memory 4 GiB + --cache 1 GiB + --mempool-memory 512 MiB + 128 MiB\n\
             # memory bound of cairn index: 4608 MiB = --memory 4 GiB + --mempool-memory 512 MiB\n\
             # memory bound of cairn serve: 1664 MiB = --cache 1 GiB + --mempool-memory 512 MiB + 128 MiB\n"
        );
        assert_eq!(sizes.run_bound(), 5760 << 20);
        let fetching = Sizes { fetches: true, ..sizes }.bounds();
        assert!(fetching.contains(
            "# memory bound of cairn index: 4624 MiB = --memory 4 GiB + --mempool-memory 512 MiB + prices 16 MiB\n"
        ));
        let more =
            Sizes { cache: 128 << 20, connections: 4096 + 6_400, reads: 64, has_electrum: true, ..sizes }.bounds();
        let serve = more.lines().last().unwrap_or_default();
        assert_eq!(
            serve,
            "# memory bound of cairn serve: 1116 MiB = --cache 128 MiB + --mempool-memory 512 MiB + 128 MiB + further \
             connections 100 MiB + further reads 24 MiB + Electrum 224 MiB"
        );
    }
}
