//! Search of endpoints: which operations a question is about. The rank is BM25 over what the operations say of
//! themselves; words of the field that mean nearly the same find each other.

use std::collections::{BTreeSet, HashMap};

use cairn_http::OperationDescription;

const MAX_WORDS: usize = 24;
/// Words that say nothing about the subject.
const IDLE: [&str; 63] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "did", "do", "does", "for", "from", "get",
    "give", "has", "have", "how", "i", "if", "in", "is", "it", "its", "list", "many", "me", "much", "my", "of", "on",
    "one", "or", "show", "some", "that", "the", "their", "there", "this", "to", "was", "were", "what", "when", "where",
    "which", "will", "with", "would", "you", "about", "tell", "bitcoin", "btc", "find", "should", "server", "two",
    "three",
];

/// Words of the field that are asked for each other. A word counts for its neighbours with `NEIGHBOUR` of its weight.
const GROUPS: &[&str] = &[
    "own owner who whose whom belong entity identity label attribution",
    "label tag name",
    "risk danger dangerous safe safety trust scam fraud suspicious tainted dirty",
    "sanction ofac blacklist blacklisted compliance illegal",
    "price market usd dollar euro worth currency quote",
    "history historical past over time daily chart series",
    "balance hold holding money rich",
    "transaction tx payment transfer",
    "feerate fee fees cost sat vbyte pay cheap expensive",
    "confirm confirmation confirmed mined settled included deep final",
    "wallet address script account",
    "mempool unconfirmed pending waiting queue backlog",
    "stress congestion congested busy full crowded load",
    "broadcast send submit publish push relay",
    "verify check prove validate paid receive received",
    "op_return embedded inscription memo message text data ordinal",
    "miner mining pool hashrate",
    "whale large big huge",
    "dormant dormancy old sleeping asleep inactive awakening awake wake lost ancient",
    "exchange binance coinbase kraken deposit withdrawal",
    "pnl profit loss gain tax cost basis",
    "qr picture image scan barcode",
    "health alive running up sync behind lag status available",
    "capability limit quota allowed feature",
    "beta free billing price plan pay paid cost buy subscription",
    "timestamp notarize notary proof existence anchor document",
    "flow trace follow graph source destination origin came went",
    "supply distribution holder wealth rich",
    "feedback bug report complain complaint wrong missing error mistake",
    "scam theft stolen abuse report community",
    "batch several multiple bulk many once",
    "projected next upcoming future forecast",
    "recent newest latest last new",
    "network summary overview state difficulty hashrate",
    "difficulty hashrate retarget halving adjustment",
    "forensics evidence investigation case report",
    "counterparty contributor sender funded funder",
    "input output spend spent spender",
    "replaced rbf bump replacement stuck",
    "consolidation merge merged",
    "wait eta long soon minutes until estimate",
];
const NEIGHBOUR: f64 = 0.5;

/// Parameters of BM25: saturation of repeated words, and how much long descriptions are held against an operation.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.35;

struct Entry {
    /// Weight of each word.
    words: HashMap<String, f64>,
    length: f64,
}

pub(crate) struct Index {
    entries: Vec<Entry>,
    /// Number of entries with a word.
    with: HashMap<String, usize>,
    average: f64,
    /// The words that count for a word.
    neighbours: HashMap<String, BTreeSet<String>>,
}

impl Index {
    pub(crate) fn of(operations: &[OperationDescription]) -> Self {
        let entries = operations.iter().map(|op| {
            let parameters = op.input_schema["properties"].as_object().into_iter().flatten();
            let parameters: Vec<&str> = parameters.map(|(name, _)| name.as_str()).collect();
            Entry::of(&[
                (3.0, op.name),
                (2.0, op.tool.unwrap_or_default()),
                (2.0, op.path),
                (3.0, op.summary),
                (2.0, op.guidance.0),
                (1.0, op.area),
                (1.0, op.description),
                (0.7, &parameters.join(" ")),
            ])
        });
        let entries: Vec<Entry> = entries.collect();
        let mut with: HashMap<String, usize> = HashMap::new();
        for word in entries.iter().flat_map(|entry| entry.words.keys()) {
            *with.entry(word.clone()).or_default() += 1;
        }
        let average = entries.iter().map(|entry| entry.length).sum::<f64>() / entries.len().max(1) as f64;
        let mut neighbours: HashMap<String, BTreeSet<String>> = HashMap::new();
        for group in GROUPS {
            let group: BTreeSet<String> = group.split(' ').map(stem).collect();
            for word in &group {
                neighbours
                    .entry(word.clone())
                    .or_default()
                    .extend(group.iter().filter(|other| *other != word).cloned());
            }
        }
        Index { entries, with, average, neighbours }
    }

    /// The entries that a question is about, the best first; those of equal rank keep their order.
    pub(crate) fn find(&self, query: &str) -> Vec<usize> {
        let words: Vec<String> = words(query).take(MAX_WORDS).collect();
        let score = |entry: &Entry| words.iter().map(|word| self.score_of(word, entry)).sum::<f64>();
        let mut found: Vec<(f64, usize)> = self.entries.iter().enumerate().map(|(at, e)| (score(e), at)).collect();
        found.retain(|(score, _)| *score > 0.0);
        found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        found.into_iter().map(|(_, at)| at).collect()
    }

    /// Score of a word of the question: its own, or the best of its neighbours.
    fn score_of(&self, word: &str, entry: &Entry) -> f64 {
        let near = self.neighbours.get(word).into_iter().flatten();
        let near = near.map(|word| NEIGHBOUR * self.weight(word, entry)).fold(0.0, f64::max);
        self.weight(word, entry).max(near)
    }

    fn weight(&self, word: &str, entry: &Entry) -> f64 {
        let Some(times) = entry.words.get(word) else { return 0.0 };
        let (all, with) = (self.entries.len() as f64, self.with.get(word).copied().unwrap_or_default() as f64);
        let rare = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        let long = 1.0 - LENGTH + LENGTH * entry.length / self.average.max(1.0);
        rare * times * (SATURATION + 1.0) / (times + SATURATION * long)
    }
}

impl Entry {
    fn of(texts: &[(f64, &str)]) -> Self {
        let mut entry = Entry { words: HashMap::new(), length: 0.0 };
        for (weight, text) in texts {
            for word in words(text) {
                entry.length += weight;
                *entry.words.entry(word).or_default() += weight;
            }
        }
        entry
    }
}

/// The stems of the words of a text, without those that say nothing.
fn words(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let all: Vec<String> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !IDLE.contains(word))
        .map(stem)
        .collect();
    all.into_iter()
}

/// A word without the ending of a plural or a verb form. The rest need not be a word, only the same for all forms.
fn stem(word: &str) -> String {
    let mut word = word.to_owned();
    for (ending, instead) in [("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("s", "")] {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() >= 3 && !rest.ends_with('s')) {
            word = format!("{rest}{instead}");
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one() {
        for forms in [
            &["balance", "balances"][..],
            &["confirm", "confirmed", "confirms", "confirming"],
            &["address", "addresses"],
            &["history", "histories"],
            &["fee", "fees"],
            &["price", "prices", "priced"],
        ] {
            assert!(forms.iter().all(|form| stem(form) == stem(forms[0])), "{forms:?}");
        }
        assert_ne!(stem("block"), stem("blow"));
    }
}
