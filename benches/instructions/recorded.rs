//! The recorded counts, and what has become of them.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Per cent by which a count may differ from the recorded one. Runs of one binary differed by up to 2.7: maps begin
/// with chance, and the allocator goes by what it has seen. Reads go through caches and buffers of RocksDB; there it
/// was 11.
fn tolerance(name: &str) -> f64 {
    if name.starts_with("read::") { 15.0 } else { 5.0 }
}

/// The content of `benches/instructions.json`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Recorded {
    /// Tools and processor that the counts depend on.
    pub(crate) made_with: BTreeMap<String, String>,
    /// Instructions by benchmark.
    pub(crate) instructions: BTreeMap<String, u64>,
}

impl Recorded {
    fn path() -> PathBuf {
        cairn_testkit::workspace_root().join("benches/instructions.json")
    }

    pub(crate) fn read() -> Self {
        let path = Self::path();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn write(&self) {
        let text = serde_json::to_string_pretty(self).unwrap() + "\n";
        fs::write(Self::path(), text).unwrap();
    }

    /// Why its counts cannot be compared with those of a build with other tools.
    pub(crate) fn differs(&self, made_with: &BTreeMap<String, String>) -> Option<String> {
        let names = self.made_with.keys().chain(made_with.keys());
        let different = |name: &&String| self.made_with.get(*name) != made_with.get(*name);
        names.into_iter().find(different).map(|name| {
            let of = |tools: &BTreeMap<String, String>| tools.get(name).map_or("none", |tool| tool).to_owned();
            format!("counts were recorded with another {name}: {}, not {}", of(&self.made_with), of(made_with))
        })
    }
}

/// Prints both; true if nothing has become worse.
pub(crate) fn compare(known: &Recorded, now: &Recorded) -> bool {
    println!("\n| what | instructions recorded | now | change % |\n|---|---|---|---|");
    let (mut worse, mut better) = (Vec::new(), Vec::new());
    for (name, &count) in &now.instructions {
        let Some(&before) = known.instructions.get(name) else {
            println!("| {name} | – | {count} | – |");
            worse.push(format!("{name} is not recorded"));
            continue;
        };
        let change = (count as f64 / before as f64 - 1.0) * 100.0;
        println!("| {name} | {before} | {count} | {change:+.2} |");
        if change > tolerance(name) {
            worse.push(format!("{name}: {change:+.2} %"));
        } else if change < -tolerance(name) {
            better.push(format!("{name}: {change:+.2} %"));
        }
    }
    let gone = known.instructions.keys().filter(|name| !now.instructions.contains_key(*name));
    worse.extend(gone.map(|name| format!("{name} is recorded, but was not counted")));
    const RECORD: &str = "benches/instructions.sh --record";
    if !better.is_empty() {
        println!("\nFewer instructions than recorded; record them, so that they stay: {RECORD}");
        better.iter().for_each(|line| println!("  {line}"));
    }
    if !worse.is_empty() {
        println!("\nMore instructions than recorded. Mend it, or say in the commit why and record them: {RECORD}");
        worse.iter().for_each(|line| println!("  {line}"));
    }
    worse.is_empty()
}
