//! The pools of real blocks, by a list of pools of today.

use std::{collections::BTreeMap, fs};

use bitcoin::{Block, consensus::deserialize};
use cairn_domain::pools::TagMatcher;
use cairn_testkit::shared_data_or_skip;
use serde_json::Value;

use crate::tag;

#[test]
fn tags_of_real_blocks() {
    let folder = shared_data_or_skip!();
    let list: Value = serde_json::from_slice(&fs::read(folder.join("labels/pools-v2.json")).unwrap()).unwrap();
    let mut tags = Vec::new();
    for pool in list.as_array().unwrap() {
        for text in pool["tags"].as_array().unwrap() {
            let name = format!("pool-{}", pool["id"]);
            tags.push((0, tag(tags.len() as u32 + 1, text.as_str().unwrap(), &name)));
        }
    }
    let matcher = TagMatcher::new(tags.clone()).unwrap();
    let mut found = BTreeMap::new();
    for entry in folder.join("mainnet/blocks").read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "bin") {
            continue;
        }
        let block: Block = deserialize(&fs::read(&path).unwrap()).unwrap();
        let script = block.txdata[0].input[0].script_sig.as_bytes();
        let tag = matcher.find(script);
        let by_hand =
            tags.iter().filter(|(_, tag)| script.windows(tag.tag.len()).any(|part| part == tag.tag.as_bytes()));
        assert_eq!(by_hand.count() > 0, tag.is_some(), "{}", path.display());
        if let Some(tag) = tag {
            found.insert(path.file_name().unwrap().to_str().unwrap()[..6].to_owned(), tag.tag.to_string());
        }
    }
    let found: Vec<_> = found.iter().map(|(height, tag)| (height.as_str(), tag.as_str())).collect();
    assert_eq!(found, [("279671", "Eligius"), ("702861", "binance"), ("866342", "MARA Made in USA")]);
}
