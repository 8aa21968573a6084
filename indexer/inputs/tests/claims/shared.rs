//! Real files, where the folder of real data is at hand.

use std::{fs, path::Path, process::Command};

use cairn_inputs::{ClaimCode, ClaimLayout, ClaimOptions};

use crate::support::{layout, options, read, show};

#[test]
fn tagpacks() {
    let folder = cairn_testkit::shared_data_or_skip!().join("labels/tagpacks");
    let of = |name: &str| read(fs::read(folder.join(name)).unwrap(), &options());
    let (claims, report) = of("exchange-wallets-binance.yaml");
    assert_eq!(show(&claims[0]), "1 controlled_by self_disclosed 90 binance exchange -");
    assert!(claims.iter().all(|claim| claim.is_inherited) && report.other_assets["ETH"] > 5);
    let (claims, report) = of("blender_io.yaml");
    assert_eq!(show(&claims[0]), "1 listed_by authority_record 60 blenderio mixer -");
    assert_eq!((report.refused, claims.iter().any(|claim| claim.is_inherited)), (0, false));
    let (claims, report) = of("demo.yaml");
    assert_eq!(show(&claims[0]), "1 controlled_by self_disclosed 90 internet_archive organization -");
    assert_eq!(report.other_assets.keys().collect::<Vec<_>>(), ["BCH", "ETH", "XRP", "ZEC"]);
    for name in ["BITB_etf.yaml", "exchange-wallets-deribit.yaml"] {
        assert!(of(name).1.taken > 0, "{name}");
    }
}

#[test]
fn pools_and_sanctions() {
    let folder = cairn_testkit::shared_data_or_skip!().join("labels");
    let (claims, report) = read(fs::read(folder.join("pools-v2.json")).unwrap(), &options());
    assert_eq!(show(&claims[0]), "1 coinbase_payout_of community 10 blockfills mining_pool -");
    assert!(report.tags.len() > 100 && report.rows == 217, "{report:?}");
    // Pools of test networks.
    assert_eq!(report.by_code.into_iter().collect::<Vec<_>>(), [(ClaimCode::WrongNetwork, 7)]);
    let (claims, report) =
        read(fs::read(folder.join("sanctioned_addresses_XBT.txt")).unwrap(), &layout(ClaimLayout::AddressList));
    assert_eq!((claims.len(), report.rows, report.refused), (434, 435, 1));
}

fn unpacked(path: &Path) -> Option<Vec<u8>> {
    let output = Command::new("xz").arg("-dc").arg(path).output().ok()?;
    output.status.success().then_some(output.stdout)
}

#[test]
fn facts_of_the_starter_set() {
    let folder = cairn_testkit::shared_data_or_skip!().join("labels/starter");
    if Command::new("xz").arg("--version").output().is_err() {
        cairn_testkit::skip!("the program xz");
    }
    let (mut taken, mut files) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "xz") {
            continue;
        }
        let (_, report) = read(unpacked(&path).unwrap(), &ClaimOptions { layout: None, ..options() });
        // One origin is a domain without its scheme.
        let is_fine = report.by_code.keys().all(|code| matches!(code, ClaimCode::Repeated | ClaimCode::NotUrl));
        assert!(is_fine, "{path:?}: {:?}", report.bad_rows);
        assert_eq!(report.layout, ClaimLayout::Facts);
        (taken, files) = (taken + report.rows, files + 1);
    }
    assert_eq!((files, taken), (36, 46_978));
}
