//! As `golden`, for input events.

use cairn_events::{
    Chosen, ClaimList, Currency, DocumentHash, Interval, Listed, Listing, LiveQuote, PoolTag, Provenance, Quote,
    QuoteRow, Range, Series, Slug,
};
use cairn_tables::events::{
    CLAIMS_PER_ROW, Candle, DocumentState, Documents, EventRow, Events, QUOTES_PER_ROW, QuoteVersion, QuoteVersions,
    Quotes,
};
use cairn_tables::live_quotes::{LiveQuotes, LiveRow};
use proptest::{collection::vec, option, prelude::*, sample::select, strategy::BoxedStrategy};
use rust_decimal::Decimal;

use crate::{Tested, golden::Golden, golden_claims, golden_contests, golden_pools, values};

fn series() -> impl Strategy<Value = Series> + Clone {
    let currency = || select(vec![Currency::BTC, Currency::USD, Currency::EUR, "USDT".parse().unwrap()]);
    (currency(), currency(), select(Interval::ALL.to_vec())).prop_map(|(base, quote, interval)| Series {
        base,
        quote,
        interval,
    })
}

fn candle() -> impl Strategy<Value = Candle> + Clone {
    (series(), values::number()).prop_map(|(series, number)| {
        let interval = series.interval.seconds();
        Candle { series, closes_at: number / interval * interval }
    })
}

fn slug() -> impl Strategy<Value = Slug> + Clone {
    "[a-c]{1,3}|[a-z0-9._-]{1,32}".prop_map(|text| text.parse().unwrap())
}

fn price() -> impl Strategy<Value = Decimal> + Clone {
    (1..1_000_000_000_000_000i64, 0..28u32).prop_map(|(number, scale)| Decimal::new(number, scale).normalize())
}

fn range() -> impl Strategy<Value = Range> + Clone {
    (price(), price(), price()).prop_map(|(open, high, low)| Range { open, high, low })
}

fn quote() -> impl Strategy<Value = Quote> + Clone {
    let volume = option::of(prop_oneof![Just(Decimal::ZERO), price()]);
    (price(), option::of(range()), volume).prop_map(|(close, range, volume)| Quote { close, range, volume })
}

fn hash() -> impl Strategy<Value = DocumentHash> + Clone {
    any::<[u8; 32]>().prop_map(DocumentHash)
}

fn provenance() -> impl Strategy<Value = Provenance> + Clone {
    (slug(), slug(), "\\PC{0,20}", values::number(), hash()).prop_map(
        |(source, licence, origin, retrieved_at, document)| Provenance {
            source,
            licence,
            origin,
            retrieved_at,
            document,
        },
    )
}

fn rows() -> impl Strategy<Value = (Vec<bool>, Vec<QuoteRow>)> + Clone {
    let steps = prop_oneof![4 => vec(1..4u32, 1..20), 1 => vec(1..2u32, QUOTES_PER_ROW)];
    (series(), steps, vec((any::<bool>(), quote()), QUOTES_PER_ROW)).prop_map(|(series, steps, quotes)| {
        let mut closes_at = 0;
        let rows = steps.iter().zip(&quotes).map(|(steps, (repeats, quote))| {
            closes_at += steps * series.interval.seconds();
            (*repeats, QuoteRow { series, closes_at, quote: *quote })
        });
        rows.unzip()
    })
}

/// Rows of a list, of any number that a row of the ledger has.
fn listing<L: Listed>(row: impl Strategy<Value = L> + Clone + 'static) -> impl Strategy<Value = EventRow>
where
    Listing: From<Vec<L>>,
{
    let some = prop_oneof![4 => vec(row.clone(), 1..9), 1 => vec(row, L::PER_ROW)];
    (any::<u64>(), slug(), some, any::<[bool; 128]>()).prop_map(|(document, list, rows, bits)| {
        let rows: Vec<L> = (1..).zip(rows).map(|(row, of)| of.at_row(row)).collect();
        EventRow::Listing { document, list, repeats: bits[..rows.len()].to_vec(), rows: rows.into() }
    })
}

impl Tested for Events {
    fn keys() -> BoxedStrategy<u64> {
        prop_oneof![1..4u64, any::<u64>()].boxed()
    }

    fn values() -> BoxedStrategy<EventRow> {
        let numbers = (values::number(), values::number(), values::number(), values::number());
        let document = (numbers, provenance()).prop_map(|((events, received_at, a, b), provenance)| {
            EventRow::Document { events, received_at, rows: a.max(b), repeated: a.min(b), provenance }
        });
        let quotes =
            (any::<u64>(), rows()).prop_map(|(document, (repeats, rows))| EventRow::Quotes { document, repeats, rows });
        let withdrawal = (values::number(), provenance(), hash(), "\\PC{0,20}").prop_map(
            |(received_at, provenance, document, reason)| EventRow::Withdrawal {
                received_at,
                provenance,
                document,
                reason,
            },
        );
        let some =
            prop_oneof![4 => vec(golden_claims::claim(), 1..9), 1 => vec(golden_claims::claim(), CLAIMS_PER_ROW)];
        let claims = (any::<u64>(), slug(), some, any::<[bool; CLAIMS_PER_ROW + 1]>()).prop_map(
            |(document, name, mut claims, bits)| {
                claims.iter_mut().zip(1..).for_each(|(claim, row)| claim.row = row);
                let list = ClaimList { name, is_complete: bits[CLAIMS_PER_ROW] };
                EventRow::Claims { document, list, repeats: bits[..claims.len()].to_vec(), claims }
            },
        );
        let tags = listing(golden_pools::pool_tag());
        let profiles = listing(golden_pools::profile());
        let contest = (values::number(), provenance(), golden_contests::contest()).prop_map(
            |(received_at, provenance, contest)| EventRow::Contest {
                received_at,
                provenance,
                contest: Box::new(contest),
            },
        );
        prop_oneof![document, quotes, withdrawal, claims, tags, profiles, contest].boxed()
    }

    fn golden() -> Golden<Self> {
        let provenance = Provenance {
            source: "ecb".parse().unwrap(),
            licence: "ecb".parse().unwrap(),
            origin: "a.csv".into(),
            retrieved_at: 300,
            document: DocumentHash([0xd1; 32]),
        };
        let series = Series { base: Currency::EUR, quote: Currency::USD, interval: Interval::Day };
        let row = |day: u32, close: Decimal| QuoteRow {
            series,
            closes_at: day * 86_400,
            quote: Quote { close, range: None, volume: None },
        };
        let rows = vec![row(10_000, Decimal::new(11_172, 4)), row(10_003, Decimal::ONE)];
        let document =
            EventRow::Document { events: 2, received_at: 301, rows: 2, repeated: 1, provenance: provenance.clone() };
        let quotes = EventRow::Quotes { document: 7, repeats: vec![false, true], rows };
        let reason = "wrong".to_owned();
        let withdrawal = EventRow::Withdrawal {
            received_at: 302,
            provenance: provenance.clone(),
            document: DocumentHash([0xd2; 32]),
            reason,
        };
        let contest =
            EventRow::Contest { received_at: 302, provenance, contest: Box::new(golden_contests::contested()) };
        let list = ClaimList { name: "por".parse().unwrap(), is_complete: true };
        let mut again = golden_claims::listed();
        (again.row, again.note) = (4, "n".into());
        let claims = EventRow::Claims {
            document: 7,
            list,
            repeats: vec![false, true],
            claims: vec![golden_claims::listed(), again],
        };
        let other = PoolTag { row: 4, tag: "b".into(), link: "".into(), ..golden_pools::tagged() };
        let tags = EventRow::Listing {
            document: 7,
            list: "por".parse().unwrap(),
            repeats: vec![false, true],
            rows: vec![golden_pools::tagged(), other].into(),
        };
        let profiles = EventRow::Listing {
            document: 7,
            list: "por".parse().unwrap(),
            repeats: vec![true],
            rows: vec![golden_pools::profiled()].into(),
        };
        vec![
            (
                14,
                profiles,
                "000000000000000e",
                "07 07 03706f72 0101 01 03 03616263 03414243 01 0175 0141 ac02 01 054162632031 02 5647 4d54",
            ),
            (
                13,
                contest,
                "000000000000000d",
                "06 ae02 d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1 03656362 03656362 05612e637376 \
                 ac02 c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1 03616263 03706f72 e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1 \
                 d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3 03 01 02 026e6f 016d 0441413d3d",
            ),
            (
                12,
                tags,
                "000000000000000c",
                "05 07 03706f72 01 02 02 03 052f6162632f 03616263 03414243 0175 01 0162 03616263 03414243 00",
            ),
            (
                11,
                claims,
                "000000000000000b",
                "04 07 01 03706f72 01 02 02 \
                 03 01 51 01 03 5a 01 0f 0d 04616263 04414243 00 0275 00 00 ac02 02 \
                 01 01 51 01 03 5a 01 0f 0d 00 00 00 00 00 026e ac02 02",
            ),
            (
                7,
                document,
                "0000000000000007",
                "01 02 ad02 02 01 d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1 03656362 03656362 \
                 05612e637376 ac02",
            ),
            (8, quotes, "0000000000000008", "02 07 01 02 4555520000 5553440000 00015180 02 904e 00 04a457 03 00 0001"),
            (
                10,
                withdrawal,
                "000000000000000a",
                "03 ae02 d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1 03656362 03656362 05612e637376 \
                 ac02 d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2 0577726f6e67",
            ),
        ]
    }
}

impl Tested for Documents {
    fn keys() -> BoxedStrategy<DocumentHash> {
        hash().boxed()
    }

    fn values() -> BoxedStrategy<DocumentState> {
        (any::<u64>(), 1..u64::MAX).prop_map(|(seq, withdrawn)| DocumentState { seq, withdrawn }).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(
            DocumentHash([0xd1; 32]),
            DocumentState { seq: 7, withdrawn: 300 },
            "65 d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1",
            "07 ac02",
        )]
    }
}

fn day() -> Candle {
    let series = Series { base: Currency::BTC, quote: Currency::USD, interval: Interval::Day };
    Candle { series, closes_at: 20_000 * 86_400 }
}

impl Tested for QuoteVersions {
    fn keys() -> BoxedStrategy<QuoteVersion> {
        (candle(), slug(), values::number(), any::<[u8; 8]>())
            .prop_map(|(candle, source, retrieved_at, document)| QuoteVersion {
                candle,
                source,
                retrieved_at,
                document,
            })
            .boxed()
    }

    fn values() -> BoxedStrategy<Quote> {
        quote().boxed()
    }

    fn golden() -> Golden<Self> {
        let source = "kraken".parse().unwrap();
        let version = QuoteVersion { candle: day(), source, retrieved_at: 300, document: [0xd1; 8] };
        let range = Range { open: 2.into(), high: 4.into(), low: 1.into() };
        let quote = Quote { close: 3.into(), range: Some(range), volume: Some(Decimal::new(5, 1)) };
        vec![(
            version,
            quote,
            "4254430000 5553440000 00015180 66ff3000 6b72616b656e 00 0000012c d1d1d1d1d1d1d1d1",
            "03 0003 0002 0004 0001 0105",
        )]
    }
}

impl Tested for Quotes {
    fn keys() -> BoxedStrategy<Candle> {
        candle().boxed()
    }

    fn values() -> BoxedStrategy<Chosen> {
        let of = option::of((slug(), option::of(range())));
        (price(), of, 1..=u16::MAX, any::<u16>(), any::<bool>())
            .prop_map(|(close, of, sources, dropped, disputed)| {
                let (source, range) = of.map_or((None, None), |(source, range)| (Some(source), range));
                Chosen { close, range, source, sources, dropped, disputed }
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let chosen = Chosen { close: 3.into(), range: None, source: None, sources: 2, dropped: 1, disputed: true };
        vec![(day(), chosen, "71 4254430000 5553440000 00015180 66ff3000", "01 02 01 00 00 0003")]
    }
}

impl Tested for LiveQuotes {
    fn keys() -> BoxedStrategy<(Currency, Currency)> {
        series().prop_map(|series| (series.base, series.quote)).boxed()
    }

    fn values() -> BoxedStrategy<LiveRow> {
        (price(), values::number(), option::of(slug()), 1..=u16::MAX, any::<u16>(), any::<bool>())
            .prop_map(|(price, at, source, sources, dropped, disputed)| {
                let (base, quote) = (Currency::BTC, Currency::USD);
                LiveRow::of(&LiveQuote { base, quote, price, at, source, sources, dropped, disputed })
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let quote = LiveQuote {
            base: Currency::BTC,
            quote: Currency::USD,
            price: Decimal::new(987_655, 1),
            at: 300,
            source: Some("kraken".parse().unwrap()),
            sources: 3,
            dropped: 1,
            disputed: false,
        };
        let key = (quote.base, quote.quote);
        assert_eq!(LiveRow::with(key, LiveRow::of(&quote)), quote);
        vec![(key, LiveRow::of(&quote), "6c 4254430000 5553440000", "03 01 00 ac02 066b72616b656e 01 87a43c")]
    }
}
