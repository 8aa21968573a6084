//! Any file, and files of any order.

use allocation_counter::measure;
use cairn_inputs::{Layout, Options, read_quotes, sorted};
use proptest::prelude::*;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::support::{NOW, btc_usd, check, mapped, options, read, sample, try_read};

const SAMPLES: [&str; 12] = [
    "plain.csv",
    "yahoo.csv",
    "cryptodatadownload.csv",
    "coinbase.json",
    "coinbase.csv",
    "kraken.csv",
    "binance.csv",
    "bitstamp.json",
    "coingecko.csv",
    "blockchain_com.json",
    "investing.csv",
    "ecb.csv",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn garbage_is_an_error_or_a_report(bytes in prop::collection::vec(any::<u8>(), 0..400), layout in 0..Layout::ALL.len()) {
        // `try_read` checks the sums of each report.
        let named = Options { layout: Some(Layout::ALL[layout]), ..btc_usd() };
        let map = mapped("time=1,close=2,header=no");
        for options in [options(), btc_usd(), named, map] {
            let _ = try_read(&bytes, &options);
        }
    }

    #[test]
    fn damaged_samples_are_an_error_or_a_report(
        file in prop::sample::select(&SAMPLES[..]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = sample(file);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = try_read(&bytes, &btc_usd());
    }

    /// Rows of cells, each of which may be wrong, are taken or reported as by a naive reader.
    #[test]
    fn rows_are_taken_or_told(cells in prop::collection::vec((0u32..40, prop::sample::select(&["1", "2", "0", "-1", "x", ""][..])), 0..60)) {
        let mut text = String::from("date,close\n2024-01-01,1\n2024-01-02,1\n");
        let mut expected = vec![(19_724u32, "1"), (19_725, "1")];
        for (day, price) in cells {
            let (month, of_month) = (day / 31 + 2, day % 31 + 1);
            text.push_str(&format!("2024-{month:02}-{of_month:02},{price}\n"));
            // February 2024 has 29 days.
            let exists = month != 2 || of_month <= 29;
            // 2024-02-01 closes with day 19,755 since 1970.
            let slot = 19_755 + of_month - 1 + if month == 3 { 29 } else { 0 };
            let fine = exists && (price == "1" || price == "2");
            if fine && expected.iter().all(|(taken, _)| *taken != slot) {
                expected.push((slot, price));
            }
        }
        let (rows, _) = read(&text, &Options { interval: Some(cairn_events::Interval::Day), ..btc_usd() });
        let taken: Vec<(u32, String)> = rows.iter().map(|row| (row.closes_at / 86_400, row.quote.close.to_string())).collect();
        let expected: Vec<(u32, String)> = expected.into_iter().map(|(slot, price)| (slot, price.to_owned())).collect();
        prop_assert_eq!(taken, expected);
    }

    #[test]
    fn order_does_not_matter(count in 30u32..1_500, seed in any::<u64>()) {
        let row = |at: u32| format!("{},{},{},{},{}", 1_600_000_020 + at * 60, at + 2, at + 3, at + 1, at + 2);
        let lines: Vec<String> = (0..count).map(row).collect();
        let text = |lines: &[String]| format!("time,open,high,low,close\n{}", lines.join("\n"));
        let (expected, report) = read(text(&lines), &btc_usd());
        prop_assert!(report.bad_rows.is_empty());
        prop_assert_eq!(&sorted(expected.clone()), &expected);
        let mut other = lines.clone();
        other.reverse();
        let (rows, report) = read(text(&other), &btc_usd());
        prop_assert!(report.bad_rows.is_empty(), "newest first is an order");
        prop_assert_eq!(&sorted(rows), &expected);
        other.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        // The interval follows from the first 1,024 rows, if there are no more.
        let interval = (count > 1_024).then_some(cairn_events::Interval::Minute);
        let minutes = Options { interval, ..btc_usd() };
        let (rows, _) = read(text(&other), &minutes);
        prop_assert_eq!(&sorted(rows), &expected);
    }
}

/// A reader that makes rows, so that the file itself takes no memory.
struct Rows {
    next: u32,
    count: u32,
    line: Vec<u8>,
}

impl std::io::Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.line.is_empty() && self.next < self.count {
            let price = self.next % 1_000 + 1;
            self.line =
                format!("{},{price}.25,{price}.75,{price},{price}.5,0.125,3\n", 1_356_998_400 + self.next * 60).into();
            self.next += 1;
        }
        let length = buffer.len().min(self.line.len());
        buffer[..length].copy_from_slice(&self.line[..length]);
        self.line.drain(..length);
        Ok(length)
    }
}

#[test]
fn a_million_rows_in_little_memory() {
    const COUNT: u32 = 1_000_000;
    let (mut taken, mut report) = (0u32, None);
    let heap = measure(|| {
        let rows = Rows { next: 0, count: COUNT, line: Vec::new() };
        report = Some(read_quotes(rows, &btc_usd(), &mut |_| taken += 1).unwrap());
    });
    let report = report.unwrap();
    assert_eq!((taken, report.rows, report.taken), (COUNT, u64::from(COUNT), u64::from(COUNT)));
    assert_eq!(report.series[0].gaps.count, 0);
    assert!(heap.bytes_max < 8 << 20, "{} bytes of heap at most", heap.bytes_max);
    // One line without end takes no more.
    let endless = std::io::repeat(b'x').take(100 << 20);
    use std::io::Read;
    let heap = measure(|| assert!(read_quotes(endless, &btc_usd(), &mut |_| ()).is_err()));
    assert!(heap.bytes_max < 8 << 20, "{} bytes of heap at most", heap.bytes_max);
    // Lines full of commas are the heads that take most.
    let commas = ",".repeat(65_000) + "\n";
    let heap = measure(|| assert!(try_read(commas.repeat(64).as_bytes(), &btc_usd()).is_err()));
    assert!(heap.bytes_max < 32 << 20, "{} bytes of heap at most", heap.bytes_max);
    check(&[], &read("date,close\n", &btc_usd()).1, NOW);
}
