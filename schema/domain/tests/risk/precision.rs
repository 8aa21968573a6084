//! Precision and recall of the detectors on the generated actors, with 95 % intervals (Wilson), compared with the table
//! that the definitions publish. `CAIRN_UPDATE_DOCS=1` records it again.

use std::{collections::BTreeMap, fs, path::PathBuf};

use cairn_domain::{
    claims::Strength,
    coinjoin::CoinJoin,
    risk::{DETECTORS, Measurement, SignalState, coinjoin_participation, measured_strength},
};

use super::actors::{Intent, play};

/// Actors of each kind in a play, and plays.
const OF_EACH: u32 = 40;
const SEEDS: [u64; 5] = [11, 12, 13, 14, 15];

/// How often a detector fired, by what the actor intended.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    /// Fired, as intended.
    right: u64,
    /// Fired, though not intended.
    wrong: u64,
    /// Intended, and did not fire.
    missed: u64,
    /// Neither.
    quiet: u64,
}

/// A share and its interval, in millionths.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Share {
    of: (u64, u64),
    ppm: u32,
    low: u32,
    high: u32,
}

/// The 95 % interval of a share by Wilson's formula.
fn wilson(part: u64, all: u64) -> Share {
    const Z: f64 = 1.959_964;
    let (k, n) = (part as f64, all as f64);
    let share = k / n;
    let middle = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let ppm = |x: f64| (x.clamp(0.0, 1.0) * 1e6).floor() as u32;
    Share { of: (part, all), ppm: ppm(share), low: ppm(middle - half), high: ppm(middle + half) }
}

impl Counts {
    fn precision(&self) -> Share {
        wilson(self.right, self.right + self.wrong)
    }

    fn recall(&self) -> Share {
        wilson(self.right, self.right + self.missed)
    }
}

/// The counts of each detector, and the intents at which it fired wrongly.
type Measured = BTreeMap<&'static str, (Counts, BTreeMap<Intent, u64>)>;

fn measure() -> Measured {
    let mut measured = Measured::new();
    for seed in SEEDS {
        let play = play(seed, OF_EACH);
        for actor in &play.actors {
            for signal in play.world.signals(actor.script) {
                let (counts, wrong) = measured.entry(signal.detector.id).or_default();
                let fired = signal.state == SignalState::Fired;
                match (fired, actor.intent.is_subject_of(signal.detector.id)) {
                    (true, true) => counts.right += 1,
                    (true, false) => {
                        counts.wrong += 1;
                        *wrong.entry(actor.intent).or_default() += 1;
                    }
                    (false, true) => counts.missed += 1,
                    (false, false) => counts.quiet += 1,
                }
            }
        }
    }
    measured
}

fn percent(ppm: u32) -> String {
    format!("{}.{}", ppm / 10_000, ppm / 1_000 % 10)
}

fn words(share: &Share) -> String {
    let Share { of: (part, all), ppm, low, high } = share;
    format!("{} % ({part} of {all}; 95 % interval {} to {} %)", percent(*ppm), percent(*low), percent(*high))
}

/// The name of an intent, as a sentence has it.
fn name(intent: Intent) -> String {
    let mut text = String::new();
    for letter in format!("{intent:?}").chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// What the page of a detector prints.
fn paragraph(counts: &Counts, wrong: &BTreeMap<Intent, u64>, strength: Strength) -> String {
    let all = counts.right + counts.wrong + counts.missed + counts.quiet;
    let mut most: Vec<(&Intent, &u64)> = wrong.iter().collect();
    most.sort_by_key(|(intent, count)| (std::cmp::Reverse(**count), **intent));
    let most: Vec<String> =
        most.iter().take(4).map(|(intent, count)| format!("{} ({count})", name(**intent))).collect();
    let mistakes =
        if most.is_empty() { String::new() } else { format!(" It fired wrongly most at: {}.", most.join(", ")) };
    format!(
        "Measured on {all} generated actors by what they intend, which the detector does not see: precision {}, recall \
         {}.{mistakes} Strength: {}. The mixture of actors is ours, and real ones differ: the figures compare detectors, \
         they do not predict.",
        words(&counts.precision()),
        words(&counts.recall()),
        strength.as_str()
    )
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/risk/measured")
}

/// Compares a recorded text, or records it again.
pub(crate) fn recorded(name: &str, text: &str) {
    let path = folder().join(name);
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, text, "{name}: CAIRN_UPDATE_DOCS=1 records it again");
}

#[test]
fn precision_and_recall_are_these() {
    let measured = measure();
    let mut table = "detector\tfired as intended\tfired otherwise\tmissed\tquiet\tprecision ppm\tlow\thigh\trecall \
                     ppm\tlow\thigh\tstrength\n"
        .to_owned();
    for detector in DETECTORS {
        let (counts, wrong) = &measured[detector.id];
        if detector.measurement == Measurement::Claims {
            continue;
        }
        let (precision, recall) = (counts.precision(), counts.recall());
        let strength = measured_strength(precision.ppm, precision.low);
        assert_eq!(detector.strength, strength, "{}: {}", detector.id, words(&precision));
        assert!(counts.right > 50 && counts.quiet > 1_000, "{}: {counts:?}", detector.id);
        let Counts { right, wrong: otherwise, missed, quiet } = counts;
        table += &format!(
            "{}\t{right}\t{otherwise}\t{missed}\t{quiet}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
            detector.id,
            precision.ppm,
            precision.low,
            precision.high,
            recall.ppm,
            recall.low,
            recall.high,
            strength.as_str()
        );
        recorded(&format!("{}.txt", detector.id), &paragraph(counts, wrong, strength));
    }
    recorded("table.tsv", &table);
}

#[test]
fn a_weak_detector_says_so() {
    assert_eq!(measured_strength(899_999, 899_998), Strength::Weak);
    assert_eq!(measured_strength(900_000, 850_000), Strength::Moderate);
    assert_eq!(measured_strength(950_000, 900_000), Strength::Strong);
}

/// The levels of CoinJoins are the lower ends of the intervals of the precisions that docs/coinjoin.md has.
#[test]
fn levels_of_coinjoins_follow_from_real_transactions() {
    const PAGE: &str = include_str!("../../../../docs/coinjoin.md");
    for kind in CoinJoin::ALL {
        let row =
            PAGE.lines().find(|line| line.starts_with(&format!("| `{}` |", kind.code())) && line.contains(" % ("));
        let cell = row.unwrap().split('|').nth(2).unwrap();
        let (_, counts) = cell.split_once('(').unwrap();
        let (part, all) = counts.trim().trim_end_matches(')').split_once(" of ").unwrap();
        let share = wilson(part.parse().unwrap(), all.parse().unwrap());
        assert_eq!(u32::from(coinjoin_participation::level(kind)), share.low / 10_000, "{}", kind.code());
    }
}

/// The interval of a published example: 10 of 100 is 5.5 to 17.4 %.
#[test]
fn intervals_are_wilsons() {
    let share = wilson(10, 100);
    assert_eq!((share.ppm, share.low / 1_000, share.high / 1_000), (100_000, 55, 174));
    assert_eq!(wilson(15, 15).high, 1_000_000);
}
