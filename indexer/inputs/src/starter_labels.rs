//! Labels that ship with Cairn: see `starter/SOURCES.md`.
//!
//! Each source has one packed file in the layout of facts. The files name no private person, and no row of them was
//! fetched again from its publisher.

use std::io::Read;

use cairn_events::{Body, ClaimList, Document, DocumentHash, Provenance};
use cairn_model::Network;
use flate2::read::GzDecoder;

use crate::{ClaimLayout, ClaimOptions, StarterError, read_claims};

/// The labels of one source, as they ship with Cairn.
#[derive(Clone, Copy, Debug)]
pub struct StarterLabels {
    /// The source: who says it, or who carries what others say.
    pub source: &'static str,
    /// Its licence, as SPDX identifier in small letters; `none-stated` where a holder publishes its own addresses
    /// without a licence, `facts` where each row has a source of its own.
    pub licence: &'static str,
    /// Name of the list among those of the source.
    pub list: &'static str,
    /// Date of the publisher's state that the rows come from, in seconds since 1970: it counts as retrieved then, so
    /// that whatever the same source says later comes first.
    pub retrieved_at: u32,
    /// Who published it, and which state of it.
    pub publisher: &'static str,
    /// The attribution that its licence requires.
    pub attribution: &'static str,
    hash: DocumentHash,
    bytes: &'static [u8],
}

/// Fields that the files of one publisher share.
struct Carrier {
    licence: &'static str,
    retrieved_at: u32,
    publisher: &'static str,
    attribution: &'static str,
}

const GRAPHSENSE: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_778_544_000, // 2026-05-12
    publisher: "GraphSense, public TagPacks at 29ff93c8ab0d",
    attribution: "Copyright (c) 2022 Iknaio Cryptoasset Analytics GmbH; copyright (c) 2018-2022 AIT Austrian Institute of Technology. MIT licence.",
};
const DEFILLAMA: Carrier = Carrier {
    licence: "isc",
    retrieved_at: 1_787_356_800, // 2026-08-22
    publisher: "DefiLlama, adapters at 1eb4e81d4dd0",
    attribution: "Copyright (c) the contributors of DefiLlama-Adapters. ISC licence, as their package.json says.",
};
const BITFINEX: Carrier = Carrier {
    licence: "none-stated",
    retrieved_at: 1_670_803_200, // 2022-12-12
    publisher: "Bitfinex, its own list of wallets, bitfinexcom/pub at 83d06bdb5f5a",
    attribution: "Published by Bitfinex about its own wallets; no licence is stated.",
};
const HTX: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_770_595_200, // 2026-02-09
    publisher: "HTX (Huobi), its own proof of reserves, Tool-Node.js-VerifyAddress at e4fac9fcc474",
    attribution: "Copyright (c) HTX (Huobi). MIT licence.",
};
const SWISSBORG: Carrier = Carrier {
    licence: "none-stated",
    retrieved_at: 1_783_036_800, // 2026-07-03
    publisher: "SwissBorg, its own list of wallets, SwissBorg/pub at a558a0cf210e",
    attribution: "Published by SwissBorg about its own wallets; no licence is stated.",
};
const ELECTRUM: Carrier = Carrier {
    licence: "none-stated",
    retrieved_at: 1_775_088_000, // 2026-04-02
    publisher: "Electrum, signed version file, electrum-web at ada376d0c216",
    attribution: "Published and signed by Electrum; no licence is stated.",
};
const WATCHMAN: Carrier = Carrier {
    licence: "apache-2.0",
    retrieved_at: 1_787_270_400, // 2026-08-21
    publisher: "Moov Watchman, copies of the SDN list of OFAC at d299005fe25f",
    attribution: "Copyright the Moov authors. Apache licence, version 2.0. Facts: Office of Foreign Assets Control, US Treasury.",
};
const OFAC_0XB10C: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_727_395_200, // 2024-09-27
    publisher: "0xB10C, addresses of the SDN list of OFAC at f2aee2265956",
    attribution: "Copyright (c) 0xB10C. MIT licence. Facts: Office of Foreign Assets Control, US Treasury.",
};
const OFAC_AMIEXPOSED: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_780_963_200, // 2026-06-09
    publisher: "am-i-exposed, addresses of the SDN list of OFAC as of 2026-03-22, at 5cc642b12c08",
    attribution: "Copyright (c) the authors of am-i-exposed. MIT licence. Facts: Office of Foreign Assets Control, US Treasury.",
};
const FRENCH_TREASURY: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_787_356_800, // 2026-08-22
    publisher: "French Treasury, register of frozen assets, from a look-up file of OpenSanctions at f33cff233ff4",
    attribution: "Copyright (c) 2015-2017 Friedrich Lindenberg; copyright (c) 2018 Journalism Development Network, Inc. MIT licence. Facts: Direction générale du Trésor.",
};
const POOLS_MEMPOOL: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_771_891_200, // 2026-02-24
    publisher: "mempool.space, list of mining pools at 6abbdc8b9865",
    attribution: "Copyright (c) the contributors of mempool/mining-pools. MIT licence.",
};
const POOLS_0XB10C: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_743_984_000, // 2025-04-07
    publisher: "0xB10C, list of mining pools, bitcoin-data/mining-pools at 330f61d82806",
    attribution: "Copyright (c) the contributors of bitcoin-data/mining-pools. MIT licence.",
};
const POOLS_BTCCOM: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_735_084_800, // 2024-12-25
    publisher: "BTC.com, list of mining pools at 358824c06f5b",
    attribution: "Copyright (c) the contributors of btccom/Blockchain-Known-Pools. MIT licence.",
};
const RECEIPTS: Carrier = Carrier {
    licence: "cc-by-4.0",
    retrieved_at: 1_725_494_400, // 2024-09-05
    publisher: "Cable, Gray and McCoy, Showing the Receipts, at 1e7e9d800a7f",
    attribution: "Jack Cable, Ian W. Gray, Damon McCoy: Showing the Receipts: Understanding the Modern Ransomware Ecosystem (2024), https://arxiv.org/abs/2408.15420. CC BY 4.0, https://creativecommons.org/licenses/by/4.0/. Changed: other columns, the addresses unchanged.",
};
const ESET: Carrier = Carrier {
    licence: "bsd-2-clause",
    retrieved_at: 1_728_950_400, // 2024-10-15
    publisher: "ESET, malware indicators at f9c1102417f4",
    attribution: "Copyright (c) 2014, 2015 ESET spol. s r.o. All rights reserved. BSD 2-clause licence.",
};
const UNIT42: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_755_388_800, // 2025-08-17
    publisher: "Palo Alto Networks Unit 42, indicators of SamSam at 315464dd880a",
    attribution: "Copyright (c) 2018 Palo Alto Networks. MIT licence.",
};
const MTGOX: Carrier = Carrier {
    licence: "mit",
    retrieved_at: 1_523_577_600, // 2018-04-13
    publisher: "mtgox-address-tracker at 424561b36f4d",
    attribution: "Copyright (c) lastbattle. MIT licence, as the readme says.",
};
const WELLKNOWN: Carrier = Carrier {
    licence: "facts",
    retrieved_at: 1_793_491_200, // 2026-11-01
    publisher: "Well-known addresses, each with its own source",
    attribution: "Facts of many publications, gathered by hand; each row names its source.",
};

/// The labels of a source: its publisher, its name, and SHA-256 of the unpacked file.
macro_rules! shipped {
    ($carrier:ident, $source:literal, $hash:literal) => {
        StarterLabels {
            source: $source,
            licence: $carrier.licence,
            list: "starter",
            retrieved_at: $carrier.retrieved_at,
            publisher: $carrier.publisher,
            attribution: $carrier.attribution,
            hash: DocumentHash(digest($hash)),
            bytes: include_bytes!(concat!("../starter/labels/", $source, ".csv.gz")),
        }
    };
}

/// All of them.
pub static STARTER_LABELS: [StarterLabels; 35] = [
    shipped!(GRAPHSENSE, "gs_bitinfocharts", "b0ba5b0953c1cde2b3322c740ce16e388ec369d4a49fa34eb0ec979b1debd1f3"),
    shipped!(GRAPHSENSE, "gs_chaininfo", "c436ae4a74899d00a5a87bdc54fd429fb0e66239c892bb38f974718bb0e19415"),
    shipped!(GRAPHSENSE, "gs_checksig", "21a3c79fa9425eaf812acd84378c92a56cfda640dff497ed5e56ff33f06810dc"),
    shipped!(GRAPHSENSE, "gs_doj_alqaeda", "2c4ca7ef9bc32240f9233e39b6fd3846af5c6f1fc7f8b24b8f2c2c9eda9025ab"),
    shipped!(GRAPHSENSE, "gs_exchange_por", "977726caa378518496696b356ca254d7007f9cf2154990c66b7525158263de25"),
    shipped!(GRAPHSENSE, "gs_fbi_dprk", "e50f4302acd874c3178d49620edc1cab2c78d2f51b2d85c25e45d99104b3d475"),
    shipped!(GRAPHSENSE, "gs_hacks", "ffc2dd7a35351fb2745e083d1fb50bee70b456dadeed35a870dd557c44c841b4"),
    shipped!(GRAPHSENSE, "gs_miners", "bfbe275a46b82d2c559bab73c0dbdeb24d25279581589caf6edc80e206e3743c"),
    shipped!(GRAPHSENSE, "gs_misc", "8c43ce6330942658c6c5eb9788a49fc652dcab82bc09691049542abedcd3a602"),
    shipped!(GRAPHSENSE, "gs_mixers_fc2021", "bba407872a3323dd7325f3d7ed271dee5576947b6e10fbbb475f7f8e546b7872"),
    shipped!(GRAPHSENSE, "gs_ofac_actions", "1e6b2be2e88168c2f12d9ea3e264d23f3ba3c5378ab501f58dbc1b9aa90f01b9"),
    shipped!(GRAPHSENSE, "gs_ofac_sdnlist", "8e521b7188d9581574c1b0d4432c2da7e263cb5321b2523c9e540fb838ac3fdb"),
    shipped!(GRAPHSENSE, "gs_ponzi", "9c19da795a11580160541981bf51c8aee865042e970898d7cbeb303d03724cc6"),
    shipped!(GRAPHSENSE, "gs_ransomware_paquet", "ee31ac16a3200f8277dfe22c7deffd63cde4417d2012f4d38ca6efbbba77c5bb"),
    shipped!(GRAPHSENSE, "gs_ransomwhere", "074953bff4f776f3a3ff0d685ce9d638252a70bed602b09a27e4474a896eda6e"),
    shipped!(GRAPHSENSE, "gs_sextortion_excello", "de2d3e79ceab0ce1955ac92cbdb4e10db6612a19b1950172849bd1b2c76cc23a"),
    shipped!(GRAPHSENSE, "gs_walletexplorer", "3d6c92daa1aee3f19416d203a5c90b4c0eacc1b561547436776cc222e297559f"),
    shipped!(DEFILLAMA, "dl_bitcoin_book", "b9ce651d4eecbe50adefc425cad7f88832adfa3f20922a3c71ee366f86772b65"),
    shipped!(DEFILLAMA, "dl_registry", "b755a02ad15ddd9f9a5c1d3bd3cdeb9915dddc465fe90bbb431e7f8a2bb0bbbb"),
    shipped!(BITFINEX, "bitfinex_pub", "217ed3536f2497d72a1f0419b3fb13496f6d7ece72d9c3a398b82cda5c9fae0b"),
    shipped!(HTX, "htx_por", "568d1ba034d6e280c408ec0a5c27d89a1785c3530d8659691500596cf1a39391"),
    shipped!(SWISSBORG, "swissborg_pub", "94addb97a12c53683fdf7c62df2c5bb5bcd356e6d678dfb7f9d36df9b68727a2"),
    shipped!(ELECTRUM, "electrum_version_sig", "5305b2fd260ed9ac04dabc97839ccb2b7138e6db4fdc3d2e4563e5b3e0bb3233"),
    shipped!(WATCHMAN, "ofac_watchman_named", "213d960f6d363e9617319a4439eaa2e003d6d19cbce30c8d5fe4a339ddf48519"),
    shipped!(OFAC_0XB10C, "ofac_0xb10c_lists", "aa336f9a16c41abb3a44f18b8e284f35ce8491c44d2ddfbcf11fb8413a7d2961"),
    shipped!(OFAC_AMIEXPOSED, "ofac_amiexposed", "f60ac357b21f0f4f20a7f14facfdbc1b37f2ef8eae1e79008dbc29cb51eff6c9"),
    shipped!(FRENCH_TREASURY, "fr_tresor_gels", "6cf061cb9bac547e3c9d777842e118efd2600798e4ad0c488a900b1f199fdfec"),
    shipped!(POOLS_MEMPOOL, "pools_mempool_v2", "3f74a3d231b791a5a94554ddc5fac92f6dad34798393f294834ca74555d5e985"),
    shipped!(POOLS_0XB10C, "pools_bitcoin_data", "727678a7b02ebab74c536b3daed9dd6c7740c54c4de9389a4bbb2df56dd2bd3a"),
    shipped!(POOLS_BTCCOM, "pools_btccom", "8466e43ebaf24a18a1cdc8f0fb8fad28bbf4a3615ef1b16b7225cdf8a25c2766"),
    shipped!(RECEIPTS, "showing_the_receipts", "7b667ac36e5ae83d32d89fdbb4ecacf6173aa244bf94be54d9bb4149d297e236"),
    shipped!(ESET, "eset_ioc", "93b80b5a15f294091a45c6338820810a5da7256ecd7d091ef666965e08cf6163"),
    shipped!(UNIT42, "unit42_samsa", "9e53befe22a029ec90980b42253024a129b3eca632f05489ae7041046f3590f1"),
    shipped!(MTGOX, "mtgox_tracker", "dc2aac798660eb32a0633858492a96b6a5d53640c80e5d611b1c51490ca1dcc0"),
    shipped!(WELLKNOWN, "wellknown", "417785131bfc80bc3a8e1b994538a3816d38eadfa84952cbb2b51905770eb16f"),
];

/// Bytes of 64 hexadecimal digits in small letters: the compiler reads them, and refuses others.
pub(crate) const fn digest(digits: &str) -> [u8; 32] {
    const fn nibble(digit: u8) -> u8 {
        match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => panic!("not a hexadecimal digit"),
        }
    }
    let digits = digits.as_bytes();
    assert!(digits.len() == 64, "not 64 digits");
    let mut bytes = [0; 32];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = nibble(digits[2 * at]) << 4 | nibble(digits[2 * at + 1]);
        at += 1;
    }
    bytes
}

impl StarterLabels {
    /// SHA-256 of the unpacked file: by this hash the ledger knows the document.
    #[must_use]
    pub const fn hash(&self) -> DocumentHash {
        self.hash
    }

    /// The unpacked file, in the layout of facts. Reading it fails only if it is damaged: no file that ships is such.
    #[must_use]
    pub fn file(&self) -> impl Read + use<> {
        GzDecoder::new(self.bytes)
    }

    /// The file as a document: the whole list of its source, so that a later file ends what it no longer has.
    pub fn document(&self) -> Result<Document, StarterError> {
        let layout = Some(ClaimLayout::Facts);
        let options = ClaimOptions { layout, ..ClaimOptions::new(self.retrieved_at, Network::Main) };
        let mut rows = Vec::new();
        read_claims(&mut self.file(), &options, &mut |claim| rows.push(claim))?;
        let provenance = Provenance {
            source: self.source.parse()?,
            licence: self.licence.parse()?,
            origin: format!("{}.csv, shipped with Cairn: {}; not fetched again", self.source, self.publisher),
            retrieved_at: self.retrieved_at,
            document: self.hash,
        };
        let list = ClaimList { name: self.list.parse()?, is_complete: true };
        Ok(Document { provenance, received_at: None, body: Body::Claims { list, rows } })
    }
}
