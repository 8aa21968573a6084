//! Which sources repeat one origin. Copies of one origin have one vote together.
//!
//! Where it is not known how much of a source is a copy, all of it counts as one: a missing vote is a smaller error
//! than a false confirmation.

/// A source, or the part of it that names certain entities, and the origin it repeats.
struct Carrier {
    group: &'static str,
    sources: &'static [&'static str],
    /// Only the claims that name one of these; empty: all claims.
    entities: &'static [&'static str],
}

const OFAC: &str = "ofac-sdn";
const FBI_2023: &str = "fbi-2023-08-22";
const UNIT42: &str = "unit42-samsam";

/// Exchanges whose published lists others repeat.
const PUBLISHING_EXCHANGES: &[&str] =
    &["binance", "bitfinex", "bitmex", "bybit", "crypto-com", "deribit", "htx", "huobi", "kucoin", "okx", "swissborg"];

/// The first that matches counts.
const CARRIERS: &[Carrier] = &[
    Carrier { group: "cryptoground-mt-gox", sources: &["mtgox_tracker", "mtgox_monitor"], entities: &[] },
    Carrier {
        group: "cryptoground-mt-gox",
        sources: &["dl_bitcoin_book", "aie_academic", "aie_crime", "aie_walletexplorer_and_lists"],
        entities: &["mt-gox"],
    },
    Carrier { group: FBI_2023, sources: &["gs_fbi_dprk"], entities: &[] },
    Carrier { group: FBI_2023, sources: &["dl_bitcoin_book"], entities: &["fbi-dprk-2023", "lazarus-group"] },
    Carrier {
        group: "exchange-publications",
        sources: &[
            "gs_exchange_por",
            "gs_bitmex_por",
            "bitfinex_pub",
            "por_bitfinex",
            "htx_por",
            "por_htx",
            "swissborg_pub",
            "por_swissborg",
        ],
        entities: &[],
    },
    Carrier {
        group: "exchange-publications",
        sources: &["dl_bitcoin_book", "dl_registry"],
        entities: PUBLISHING_EXCHANGES,
    },
    Carrier {
        group: "defillama",
        sources: &["dl_bitcoin_book", "dl_registry", "dl_chakra", "dl_linked_lists"],
        entities: &[],
    },
    Carrier { group: OFAC, sources: &["gs_ofac_sdnlist", "gs_ofac_actions", "aie_crime"], entities: &[] },
    // Lists of pools descend from one another, and the study of 2019 took them up.
    Carrier { group: "pool-lists", sources: &["gs_miners", "gs_miners_deepbit"], entities: &[] },
    // The two rich lists have many of their names from WalletExplorer.
    Carrier {
        group: "walletexplorer",
        sources: &["gs_walletexplorer", "gs_chaininfo", "gs_bitinfocharts", "aie_walletexplorer_and_lists"],
        entities: &[],
    },
    // The addresses that a vendor published are in the collections, too.
    Carrier { group: UNIT42, sources: &["unit42_samsa"], entities: &[] },
    Carrier {
        group: UNIT42,
        sources: &["gs_ransomware_paquet", "gs_ransomwhere", "ransomwhere_2025"],
        entities: &["samsam"],
    },
    Carrier {
        group: "paquet-clouston-2018",
        sources: &["gs_ransomware_paquet", "gs_ransomwhere", "ransomwhere_2025"],
        entities: &[],
    },
    Carrier { group: "bartoletti-2018", sources: &["gs_ponzi", "bitcoinponzi_tool"], entities: &[] },
];

/// Families of sources by how their names begin.
const FAMILIES: &[(&str, &str)] =
    &[("ofac_", OFAC), ("ofac-", OFAC), ("pools_", "pool-lists"), ("pools-", "pool-lists")];

/// The origin that a source repeats when it names this entity, or none. A source without a known origin is its own.
#[must_use]
pub fn origin_group<'a>(source: &'a str, entity: Option<&str>) -> &'a str {
    let repeats = |carrier: &&Carrier| {
        let names = entity.is_some_and(|entity| carrier.entities.contains(&entity));
        carrier.sources.contains(&source) && (carrier.entities.is_empty() || names)
    };
    if let Some(carrier) = CARRIERS.iter().find(repeats) {
        return carrier.group;
    }
    let family = FAMILIES.iter().find(|(beginning, _)| source.starts_with(beginning));
    family.map_or(source, |(_, group)| group)
}

/// Authorities by origin group: whose list or record it is.
const AUTHORITIES: &[(&str, &str)] = &[
    (OFAC, "OFAC (US Treasury)"),
    ("fr_tresor_gels", "French Treasury (EU listing)"),
    ("nbctf_israel", "NBCTF (Israel)"),
    ("gs_doj_alqaeda", "US Department of Justice"),
    ("doj_chen_zhi", "US Department of Justice"),
    (FBI_2023, "FBI"),
];

/// The authority that speaks through a source, as people write it; the source's own name if none is known.
#[must_use]
pub fn authority<'a>(source: &'a str, entity: Option<&str>) -> &'a str {
    let group = origin_group(source, entity);
    AUTHORITIES.iter().find(|(of, _)| *of == group).map_or(source, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriers_of_one_origin_are_one_group() {
        for source in ["ofac-sdn", "ofac_0xb10c_lists", "ofac_amiexposed", "ofac_watchman_named", "gs_ofac_sdnlist"] {
            assert_eq!(origin_group(source, None), "ofac-sdn");
            assert_eq!(origin_group(source, Some("hydra-market")), "ofac-sdn");
            assert_eq!(authority(source, None), "OFAC (US Treasury)");
        }
        for source in ["pools_mempool_v2", "pools_btccom", "pools_bitcoin_data", "gs_miners"] {
            assert_eq!(origin_group(source, Some("antpool")), "pool-lists");
        }
        assert_eq!(origin_group("gs_ransomwhere", Some("locky")), origin_group("gs_ransomware_paquet", Some("locky")));
        assert_eq!(origin_group("gs_ransomwhere", Some("samsam")), origin_group("unit42_samsa", Some("samsam")));
        assert_eq!(origin_group("gs_chaininfo", Some("kraken")), origin_group("gs_walletexplorer", Some("kraken")));
    }

    #[test]
    fn one_source_can_repeat_several_origins() {
        let book = |entity| origin_group("dl_bitcoin_book", entity);
        assert_eq!(book(Some("mt-gox")), origin_group("mtgox_tracker", Some("mt-gox")));
        assert_eq!(book(Some("fbi-dprk-2023")), origin_group("gs_fbi_dprk", Some("lazarus-group")));
        assert_eq!(book(Some("okx")), origin_group("gs_exchange_por", Some("okx")));
        assert_eq!(book(Some("bitfinex")), origin_group("por_bitfinex", Some("bitfinex")));
        assert_eq!(book(Some("wbtc")), "defillama");
        assert_eq!(book(None), "defillama");
        assert_eq!(authority("dl_bitcoin_book", Some("fbi-dprk-2023")), "FBI");
    }

    #[test]
    fn an_unknown_source_stands_for_itself() {
        assert_eq!(origin_group("my-own-list", Some("okx")), "my-own-list");
        assert_eq!(authority("my-own-list", None), "my-own-list");
        assert_eq!(authority("fr_tresor_gels", Some("garantex")), "French Treasury (EU listing)");
        assert_eq!(origin_group("officials", None), "officials");
    }

    #[test]
    fn the_parts_of_a_source_come_before_its_whole() {
        for (place, carrier) in CARRIERS.iter().enumerate().filter(|(_, carrier)| !carrier.entities.is_empty()) {
            for (source, entity) in
                carrier.sources.iter().flat_map(|source| carrier.entities.iter().map(move |e| (source, e)))
            {
                assert_eq!(origin_group(source, Some(entity)), carrier.group, "{place}: {source} {entity}");
            }
        }
    }
}
