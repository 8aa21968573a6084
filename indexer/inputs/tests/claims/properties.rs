//! Any file, and large ones.

use std::io::Read;

use allocation_counter::measure;
use cairn_inputs::{ClaimLayout, ClaimMap, ClaimOptions, read_claims};
use proptest::prelude::*;

use crate::support::{A, B, check, layout, options, try_read};

/// Words of the layouts, in any order.
const WORDS: &str = "(address|category|tags|actors|id|aliases|context|- |: |label|\n|  |<Sanctions>|</Sanctions>|<Feature FeatureTypeID='1'>|<a/>|\\[|\\{|\\}|\\]|\"|,|&a|\\*a|1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa|\u{202e}|=|0x|'|\\||>|\\?|#|%|!|\t|@|é){0,40}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_are_an_error_or_a_report(bytes in prop::collection::vec(any::<u8>(), 0..300), words in WORDS) {
        let map = ClaimOptions { map: Some("address=1,label=2,header=no".parse::<ClaimMap>().unwrap()), ..options() };
        for bytes in [bytes.as_slice(), words.as_bytes(), format!("title: x\ntags:\n- address: {A}\n  label: {words}").as_bytes(), format!("actors:\n- id: {words}\n  label: {words}\n  jurisdictions: [{words}]").as_bytes()] {
            // `try_read` checks every claim and the sums of each report.
            let _ = try_read(bytes, &map);
            let _ = try_read(bytes, &options());
            for named in ClaimLayout::ALL {
                let _ = try_read(bytes, &layout(named));
            }
        }
    }
}

/// A reader that makes a part again and again, so that the file itself takes no memory.
struct Parts<F> {
    left: u32,
    part: F,
    bytes: Vec<u8>,
    at: usize,
}

impl<F: FnMut(u32) -> String> Read for Parts<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.bytes.len() && self.left > 0 {
            (self.bytes, self.at) = ((self.part)(self.left).into_bytes(), 0);
            self.left -= 1;
        }
        let length = self.bytes[self.at..].as_ref().read(buffer)?;
        self.at += length;
        Ok(length)
    }
}

fn large(start: &str, end: &str, count: u32, part: impl FnMut(u32) -> String) -> (u64, u64) {
    let parts = Parts { left: count, part, bytes: Vec::new(), at: 0 };
    let (mut taken, mut report) = (0, None);
    let heap = measure(|| {
        let mut input = start.as_bytes().chain(parts).chain(end.as_bytes());
        report = Some(read_claims(&mut input, &options(), &mut |_| taken += 1).unwrap());
    });
    let report = report.unwrap();
    check(taken, &report);
    (report.rows, heap.bytes_max)
}

#[test]
fn large_files_take_little_memory() {
    let head = "address,entity,entity_name,category,behaviour,claim_type,evidence_tier,source_id,source_url,origin_url,asserted_at,licence,note\n";
    let note = "n".repeat(400);
    let (rows, heap) =
        large(head, "", 220_000, |at| format!("script:{at:08x},e,E,,,controlled_by,community,s,,,,MIT,{note}\n"));
    assert_eq!(rows, 220_000);
    assert!(heap < 16 << 20, "{heap} bytes of heap at most");
    let (rows, heap) = large("title: t\ntags:\n", "", 100_000, |at| format!("- address: {A}\n  label: label {at}\n"));
    assert_eq!(rows, 100_000);
    assert!(heap < 16 << 20, "{heap} bytes of heap at most");
    let party = format!(
        "<DistinctParty><Profile><Identity>{B}</Identity><Comment>{note}</Comment></Profile></DistinctParty>\n"
    );
    let (rows, heap) = large("<Sanctions>", "</Sanctions>", 200_000, |_| party.clone());
    assert_eq!(rows, 0);
    assert!(heap < 8 << 20, "{heap} bytes of heap at most");
    // A line without end takes no more.
    for start in ["address,", "title: ", "<Sanctions>", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"] {
        let heap = measure(|| {
            let mut input = start.as_bytes().chain(std::io::repeat(b'x').take(100 << 20));
            let _ = read_claims(&mut input, &options(), &mut |_| ());
        });
        assert!(heap.bytes_max < 8 << 20, "{start}: {} bytes of heap at most", heap.bytes_max);
    }
}
