//! Needs of each table's tests: any key, any value, and rows whose bytes are written down. A change of these bytes is a
//! change of the format: raise the version of the stage, so that existing indexes are rebuilt.

use cairn_model::{
    BlockHash, FilePos, InputFlags, Outpoint, OutputMeta, Overwritten, ScriptId, ScriptPrefix, ScriptTemplate,
    SpentCoin, TxMeta, TxNum, Txid,
};
use cairn_tables::{
    block_log::{BlockLog, Decoded, LogRow, LoggedInput},
    coins::{Coin, CoinValue, Coins, CoinsByScript},
    headers::{HeaderRow, Headers},
    heights::{HeightByHash, HeightByTime},
    history::{History, HistoryEntry, HistoryIndex, HistoryRow, IndexRow},
    journal::{CollidingScripts, Collisions, OverwrittenCoins, OverwrittenRow},
    keys::HashPrefix,
    prevouts::{PrevoutRow, Prevouts},
    spenders::{Spender, SpenderRow, Spenders},
    totals::{Totals, TotalsTable},
    tx_nums::TxNums,
};
use proptest::{collection::vec, prelude::*, strategy::BoxedStrategy};

use crate::{Tested, values};

pub(crate) type Golden<T> =
    Vec<(<T as cairn_tables::Table>::Key, <T as cairn_tables::Table>::Value, &'static str, &'static str)>;

const TX: TxNum = TxNum(0x01_0203_0405);
const SCRIPT: ScriptId =
    ScriptId { prefix: ScriptPrefix([0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7]), ordinal: 0 };
const SECOND: ScriptId = ScriptId { ordinal: 1, ..SCRIPT };
const HASH: HashPrefix = HashPrefix([0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7]);
const BTC: u64 = 100_000_000;

impl Tested for Headers {
    fn keys() -> BoxedStrategy<u32> {
        values::number().boxed()
    }

    fn values() -> BoxedStrategy<HeaderRow> {
        values::header().boxed()
    }

    fn golden() -> Golden<Self> {
        let row = HeaderRow {
            hash: BlockHash([0x11; 32]),
            header: [0x22; 80],
            mono_time: 1_231_006_505,
            first_tx: TX,
            tx_count: 300,
            size: 1_000_000,
            weight: 3_999_000,
            fees: 12_345,
            output_sats: 60 * BTC,
            coinbase_sats: 50 * BTC + 12_345,
            input_count: 700,
            output_count: 800,
            position: Some(FilePos { file: 4, offset: 0x1234_5678 }),
            coinbase_script: vec![3, 1, 2, 3],
        };
        let unplaced = HeaderRow { position: None, coinbase_script: vec![], ..row.clone() };
        vec![
            (
                840_000,
                row,
                "000cd140",
                "111111111111111111111111111111111111111111111111111111111111111122222222222222222222222222222222\
                 222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222\
                 22222222222222222222222222222222495fab290102030405ac02c0843d988af401fde3063cfde7dcd1a701bc05a006\
                 05f8acd1910103010203",
            ),
            (
                0,
                unplaced,
                "00000000",
                "111111111111111111111111111111111111111111111111111111111111111122222222222222222222222222222222\
                 222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222\
                 22222222222222222222222222222222495fab290102030405ac02c0843d988af401fde3063cfde7dcd1a701bc05a006\
                 00",
            ),
        ]
    }
}

impl Tested for BlockLog {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<LogRow> {
        values::log_row().boxed()
    }

    fn golden() -> Golden<Self> {
        // One output of each template, one with an ordinal, one OP_RETURN; one input of each form.
        let scripts: [(Vec<u8>, u8); 9] = [
            ([&[0x76, 0xa9, 0x14][..], &[1; 20], &[0x88, 0xac]].concat(), 0),
            ([&[0xa9, 0x14][..], &[2; 20], &[0x87]].concat(), 0),
            ([&[0x00, 0x14][..], &[3; 20]].concat(), 1),
            ([&[0x00, 0x20][..], &[4; 32]].concat(), 0),
            ([&[0x51, 0x20][..], &[5; 32]].concat(), 0),
            ([&[0x21][..], &[6; 33], &[0xac]].concat(), 0),
            ([&[0x41][..], &[7; 65], &[0xac]].concat(), 0),
            (vec![0x6a, 0x01, 0x08], 0),
            (vec![0x51], 2),
        ];
        let mut txs = Decoded::default();
        for (i, (script, ordinal)) in scripts.iter().enumerate() {
            let from = txs.scripts.len() as u32;
            txs.scripts.extend_from_slice(script);
            txs.outputs.push(OutputMeta {
                value: i as u64 * BTC,
                script: from..txs.scripts.len() as u32,
                id: ScriptId { prefix: ScriptPrefix::default(), ordinal: *ordinal },
                spendable: script[0] != 0x6a,
            });
        }
        let input = |script, birth, coinbase, anyone_can_pay, template| LoggedInput {
            value: 50 * BTC,
            script,
            birth,
            flags: InputFlags { coinbase, anyone_can_pay, template },
        };
        txs.inputs = vec![
            input(SCRIPT, 100, false, false, ScriptTemplate::PubKeyHash),
            input(SCRIPT, 90, true, false, ScriptTemplate::CompressedPubKey),
            input(SECOND, 0, true, true, ScriptTemplate::WitnessUnknown),
        ];
        let tx = |txid, size, base_size, inputs, outputs| TxMeta {
            txid: Txid([txid; 32]),
            size,
            base_size,
            inputs,
            outputs,
        };
        txs.txs = vec![tx(0xc1, 200, 164, 0..0, 0..1), tx(0xc2, 1_000, 1_000, 0..3, 1..9)];
        vec![(
            TX,
            LogRow { height: 100, first_index: 64, raw_offset: 40_000, txs },
            "0102030405",
            "6440c0b80202c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c8012400010000010101\
                 0101010101010101010101010101010101c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2\
                 c2e80700030832a0a1a2a3a4a5a6a7000832a0a1a2a3a4a5a6a70a3132a0a1a2a3a4a5a6a76457010901020202020202\
                 020202020202020202020202020213820103030303030303030303030303030303030303031d03040404040404040404\
                 040404040404040404040404040404040404040404040427040505050505050505050505050505050505050505050505\
                 05050505050505050531050606060606060606060606060606060606060606060606060606060606060606063b060707\
                 070707070707070707070707070707070707070707070707070707070707070707070707070707070707070707070707\
                 0707070707070707070707070707074507036a01084f87020151",
        )]
    }
}

impl Tested for Prevouts {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<PrevoutRow> {
        vec((any::<u64>(), values::number()), 0..40).prop_map(PrevoutRow).boxed()
    }

    fn golden() -> Golden<Self> {
        let spent = |tx_num, vout| Outpoint { tx_num: TxNum(tx_num), vout };
        let row = PrevoutRow::pack(TX, [spent(TX.0, 0), spent(TX.0 - 1_000, 300), spent(0, 1)].into_iter());
        vec![(TX, row, "0102030405", "034000a808ac02c5888c901001")]
    }
}

impl Tested for TxNums {
    fn keys() -> BoxedStrategy<(HashPrefix, TxNum)> {
        (values::hash_prefix(), values::tx_num()).boxed()
    }

    fn values() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![((HASH, TX), (), "b0b1b2b3b4b5b6b70102030405", "")]
    }
}

impl Tested for Spenders {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<SpenderRow> {
        values::spender_row().boxed()
    }

    fn golden() -> Golden<Self> {
        let spender = |vout, distance, vin| Spender { vout, distance, vin };
        vec![(TX, SpenderRow(vec![spender(0, 1, 0), spender(300, 70_000, 2)]), "0102030405", "000100ac02f0a20402")]
    }
}

impl Tested for Coins {
    fn keys() -> BoxedStrategy<Outpoint> {
        values::outpoint().boxed()
    }

    fn values() -> BoxedStrategy<Coin> {
        let coin = (values::coin_sats(), values::script_id(), any::<bool>(), values::template());
        coin.prop_map(|(value, script, coinbase, template)| Coin { value, script, coinbase, template }).boxed()
    }

    fn golden() -> Golden<Self> {
        let key = Outpoint { tx_num: TX, vout: 7 };
        vec![
            (
                key,
                Coin { value: 50 * BTC, script: SCRIPT, coinbase: true, template: ScriptTemplate::CompressedPubKey },
                "010203040500000007",
                "32a0a1a2a3a4a5a6a731",
            ),
            (
                key,
                Coin {
                    value: 123_456_789,
                    script: SECOND,
                    coinbase: false,
                    template: ScriptTemplate::WitnessV1Taproot,
                },
                "010203040500000007",
                "bdebe89104a0a1a2a3a4a5a6a72801",
            ),
        ]
    }
}

impl Tested for CoinsByScript {
    fn keys() -> BoxedStrategy<(ScriptId, Outpoint)> {
        (values::script_id(), values::outpoint()).boxed()
    }

    fn values() -> BoxedStrategy<CoinValue> {
        values::coin_sats().prop_map(CoinValue).boxed()
    }

    fn golden() -> Golden<Self> {
        let key = (SECOND, Outpoint { tx_num: TX, vout: 7 });
        let amounts = [
            (0, "00"),
            (1, "01"),
            (546, "af26"),
            (BTC, "09"),
            (123_456_789, "bdebe89104"),
            (20_999_999 * BTC + 97_690_000, "e5979de68037"),
        ];
        amounts
            .into_iter()
            .map(|(sats, hex)| (key, CoinValue(sats), "a0a1a2a3a4a5a6a701010203040500000007", hex))
            .collect()
    }
}

impl Tested for History {
    fn keys() -> BoxedStrategy<(ScriptId, TxNum)> {
        (values::script_id(), values::tx_num()).boxed()
    }

    fn values() -> BoxedStrategy<HistoryRow> {
        values::history_row().boxed()
    }

    fn golden() -> Golden<Self> {
        let entry = |n, received, sent| HistoryEntry { tx_num: TxNum(n), received, sent };
        let first = HistoryRow {
            entries: vec![entry(0, BTC, 0), entry(5, 0, BTC), entry(1_005, 546, 1), entry(1_006, 0, 0)],
            ..HistoryRow::default()
        };
        let later = HistoryRow {
            number: 300,
            received_before: 7 * BTC,
            sent_before: u64::MAX - 1,
            entries: vec![entry(0, BTC, 0)],
        };
        vec![
            ((SCRIPT, TX), first, "a0a1a2a3a4a5a6a7000102030405", "0001091609a31faf260104"),
            ((SECOND, TX), later, "a0a1a2a3a4a5a6a7010102030405", "ac0245e88780808080808048feffffffffffffffff010109"),
        ]
    }
}

impl Tested for HistoryIndex {
    fn keys() -> BoxedStrategy<(ScriptId, u32)> {
        (values::script_id(), values::number()).boxed()
    }

    fn values() -> BoxedStrategy<IndexRow> {
        values::index_row().boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(
            (SCRIPT, 1),
            IndexRow(vec![TxNum(5), TxNum(1_000), TX]),
            "69a0a1a2a3a4a5a6a70000000001",
            "05e3079d808c9010",
        )]
    }
}

impl Tested for TotalsTable {
    fn keys() -> BoxedStrategy<ScriptId> {
        values::script_id().boxed()
    }

    fn values() -> BoxedStrategy<Totals> {
        values::totals().boxed()
    }

    fn golden() -> Golden<Self> {
        let short = Totals {
            funded: 3 * BTC,
            spent: BTC,
            funded_count: 3,
            spent_count: 1,
            tx_count: 128,
            first: Outpoint { tx_num: TX, vout: 9 },
            last: TxNum(TX.0 + 500),
            tail: TX,
            template: ScriptTemplate::WitnessV0KeyHash,
        };
        let template = ScriptTemplate::Multisig;
        let long = Totals { tx_count: 129, tail: TxNum(TX.0 + 400), template, ..short };
        vec![
            (SCRIPT, short, "a0a1a2a3a4a5a6a700", "1d0903018310010203040509f403"),
            (SECOND, long, "a0a1a2a3a4a5a6a701", "1d0903019810010203040509f40364"),
        ]
    }
}

impl Tested for HeightByHash {
    fn keys() -> BoxedStrategy<(HashPrefix, u32)> {
        (values::hash_prefix(), values::number()).boxed()
    }

    fn values() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![((HASH, 840_000), (), "68b0b1b2b3b4b5b6b7000cd140", "")]
    }
}

impl Tested for HeightByTime {
    fn keys() -> BoxedStrategy<(u32, u32)> {
        (values::number(), values::number()).boxed()
    }

    fn values() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![((1_231_006_505, 840_000), (), "74495fab29000cd140", "")]
    }
}

impl Tested for Collisions {
    fn keys() -> BoxedStrategy<ScriptPrefix> {
        values::prefix().boxed()
    }

    fn values() -> BoxedStrategy<CollidingScripts> {
        vec((values::tx_num(), values::script()), 0..6).prop_map(CollidingScripts).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = CollidingScripts(vec![(TxNum(3), vec![0x51]), (TX, vec![0x52, 0x53])]);
        vec![(SCRIPT.prefix, row, "63a0a1a2a3a4a5a6a7", "000000000301510102030405025253")]
    }
}

impl Tested for OverwrittenCoins {
    fn keys() -> BoxedStrategy<u32> {
        values::number().boxed()
    }

    fn values() -> BoxedStrategy<OverwrittenRow> {
        vec(values::overwritten(), 0..6).prop_map(OverwrittenRow).boxed()
    }

    fn golden() -> Golden<Self> {
        let coin = SpentCoin {
            outpoint: Outpoint { tx_num: TX, vout: 0 },
            value: 50 * BTC,
            script: SECOND,
            birth: 91_722,
            flags: InputFlags { coinbase: true, anyone_can_pay: false, template: ScriptTemplate::UncompressedPubKey },
        };
        vec![(
            91_880,
            OverwrittenRow(vec![Overwritten { by: 0, coin }]),
            "6f000166e8",
            "0001020304050032a0a1a2a3a4a5a6a701cacc0539",
        )]
    }
}
