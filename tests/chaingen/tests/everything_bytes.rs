//! Chains of the `everything` shape stay what they are: other tests pin facts about them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use cairn_chaingen::{EverythingOptions, everything};

#[test]
fn equal_seeds_make_the_chains_of_before() {
    for (seed, tip) in [
        (0, "14a23961f9b1c12a50bedefdfbd3b61dc05070549782447560b4117cd4e870a9"),
        (5, "0798ff4f02620ebe2cf30e2cde8ae8430ded53f37570452005a178fec131534c"),
        (41, "2b352b4d59d71741fae4f1f2d1f8822460ab52a44b689c6d2db72671442864b3"),
    ] {
        let chain = everything(seed, &EverythingOptions::default()).unwrap();
        assert_eq!(chain.tip().hash().to_string(), tip, "seed {seed}");
    }
}
