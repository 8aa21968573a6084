//! Documents in a file: those that wait for the writer of an index, and those that `cairn events export` writes.
//!
//! ```text
//! "cairn-events" │ version (1 byte) │ documents… │ 0 │ SHA-256 of all before (32)
//!   document   1 │ length (varint) │ its bytes:
//!     kind (1: quotes, 2: withdrawal, 3: claims, 4: tags of pools, 5: contest, 6: profiles) │ provenance │
//!       when an index took it first (varint; 0: none has) │
//!       quotes      series after series: series │ count │ rows
//!       withdrawal  hash (32) │ reason
//!       claims      list │ claims
//!       tags        list │ tags
//!       profiles    list │ profiles
//!       contest     SHA-256 of the script (32) │ source │ list │ statement (32) │ claim │ act │ party │ reason │ message and signature of a holder
//! ```

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use crate::{
    Body, Document, DocumentHash, Listing,
    claim::{Shared, put_claim, put_list},
    codec::{Bytes, Malformed, put_provenance, put_rows, put_text, put_varint},
    contest::put_contest,
    document::BadDocument,
};

const MAGIC: &[u8; 12] = b"cairn-events";
const VERSION: u8 = 1;
/// Longest document in bytes: a quote takes up to some 90, a claim some 60, plus the texts that it does not share with
/// the one before.
const MAX_DOCUMENT: u64 = 64 << 20;

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes do not begin as a file of events of Cairn.
    #[error("this is not a file of events of Cairn")]
    Foreign,
    /// A later program wrote it.
    #[error(
        "the file of events has version {0}; this program reads version {VERSION}: use the program that wrote it, or a later one"
    )]
    Version(u8),
    /// The file is cut short.
    #[error("the file of events is cut short; copy or export it again")]
    Short,
    /// The hash at its end does not match the bytes before it.
    #[error("the file of events is damaged: its hash does not match; copy or export it again")]
    Damaged,
    /// A document in it cannot be decoded.
    #[error("document {at} of the file of events: {what}")]
    Malformed {
        /// Its number, from 1.
        at: usize,
        /// Why it cannot be decoded.
        what: Malformed,
    },
    /// A document in it breaks a rule.
    #[error("document {at} of the file of events: {what}")]
    Bad {
        /// Its number, from 1.
        at: usize,
        /// The rule that it breaks.
        what: BadDocument,
    },
}

/// Bytes of a document.
#[must_use]
pub fn encode(document: &Document) -> Vec<u8> {
    let kind = match &document.body {
        Body::Quotes(_) => 1,
        Body::Withdrawal { .. } => 2,
        Body::Claims { .. } => 3,
        Body::Listing { rows: Listing::PoolTags(_), .. } => 4,
        Body::Contest(_) => 5,
        Body::Listing { rows: Listing::Profiles(_), .. } => 6,
    };
    let mut out = vec![kind];
    put_provenance(&mut out, &document.provenance);
    put_varint(&mut out, document.received_at.unwrap_or(0).into());
    match &document.body {
        Body::Quotes(rows) => {
            rows.chunk_by(|a, b| a.series == b.series).for_each(|rows| put_rows(&mut out, rows));
        }
        Body::Withdrawal { document: hash, reason } => {
            out.extend_from_slice(&hash.0);
            put_text(&mut out, reason);
        }
        Body::Claims { list, rows } => {
            put_list(&mut out, list);
            let mut shared = Shared::default();
            rows.iter().for_each(|claim| put_claim(&mut out, &mut shared, claim));
        }
        Body::Listing { list, rows } => {
            put_text(&mut out, list.as_str());
            rows.put(&mut out);
        }
        Body::Contest(contest) => put_contest(&mut out, contest),
    }
    out
}

fn decode(bytes: &[u8]) -> Result<Document, Malformed> {
    let mut bytes = Bytes::new(bytes);
    let kind = bytes.array::<1>()?[0];
    let provenance = bytes.provenance()?;
    let received_at = Some(bytes.number()?).filter(|at| *at != 0);
    let body = match kind {
        1 => {
            let mut rows = Vec::new();
            while !bytes.is_empty() {
                rows.append(&mut bytes.rows()?);
            }
            Body::Quotes(rows)
        }
        2 => Body::Withdrawal { document: DocumentHash(bytes.array()?), reason: bytes.text()?.to_owned() },
        3 => {
            let (list, mut rows, mut shared) = (bytes.list()?, Vec::new(), Shared::default());
            while !bytes.is_empty() {
                rows.push(bytes.claim(&mut shared)?);
            }
            Body::Claims { list, rows }
        }
        4 => Body::Listing { list: bytes.slug()?, rows: Listing::PoolTags(bytes.listed(None)?) },
        5 => Body::Contest(Box::new(bytes.contest()?)),
        6 => Body::Listing { list: bytes.slug()?, rows: Listing::Profiles(bytes.listed(None)?) },
        _ => return Err(Malformed("kind of document")),
    };
    if bytes.is_empty() { Ok(Document { provenance, received_at, body }) } else { Err(Malformed("too long")) }
}

/// Writes a file.
pub struct FileWriter<W> {
    to: W,
    hash: Sha256,
}

impl<W: Write> FileWriter<W> {
    /// Begins it.
    pub fn begin(to: W) -> io::Result<Self> {
        let mut file = FileWriter { to, hash: Sha256::new() };
        file.put(MAGIC)?;
        file.put(&[VERSION])?;
        Ok(file)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.to.write_all(bytes)
    }

    /// Adds a document.
    ///
    /// # Errors
    /// Fails if the document is longer than a file may have, or the file cannot be written.
    pub fn add(&mut self, document: &Document) -> io::Result<()> {
        let bytes = encode(document);
        if bytes.len() as u64 > MAX_DOCUMENT {
            let what =
                format!("the document has {} bytes; at most {MAX_DOCUMENT} are taken: split the file", bytes.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let mut head = vec![1];
        put_varint(&mut head, bytes.len() as u128);
        self.put(&head)?;
        self.put(&bytes)
    }

    /// Ends it; returns the underlying writer and the hash.
    pub fn finish(mut self) -> io::Result<(W, [u8; 32])> {
        self.put(&[0])?;
        let hash: [u8; 32] = self.hash.finalize().into();
        self.to.write_all(&hash)?;
        self.to.flush()?;
        Ok((self.to, hash))
    }
}

struct Hashed<R> {
    from: R,
    hash: Sha256,
}

impl<R: Read> Hashed<R> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(short)?;
        self.hash.update(bytes);
        Ok(bytes)
    }
}

fn short(error: io::Error) -> FileError {
    if error.kind() == io::ErrorKind::UnexpectedEof { FileError::Short } else { error.into() }
}

/// Reads a file: each document in turn, none of which counts before [`read`] has returned, since the hash is at the
/// end. One document is in memory at a time.
///
/// # Errors
/// Passes on the error of `take`, too.
pub fn read<E: From<FileError>>(from: impl Read, mut take: impl FnMut(Document) -> Result<(), E>) -> Result<usize, E> {
    let mut file = Hashed { from, hash: Sha256::new() };
    let magic = file.array().map_err(|e| if matches!(e, FileError::Short) { FileError::Foreign } else { e })?;
    if magic != *MAGIC {
        return Err(FileError::Foreign.into());
    }
    match file.array()? {
        [VERSION] => {}
        [other] => return Err(FileError::Version(other).into()),
    }
    let mut count = 0;
    loop {
        match file.array::<1>()? {
            [0] => break,
            [1] => {}
            _ => return Err(FileError::Damaged.into()),
        }
        count += 1;
        let bytes = next(&mut file)?;
        let document = decode(&bytes).map_err(|what| FileError::Malformed { at: count, what })?;
        drop(bytes);
        document.check().map_err(|what| FileError::Bad { at: count, what })?;
        take(document)?;
    }
    let hash: [u8; 32] = file.hash.clone().finalize().into();
    let mut rest = Vec::new();
    file.from.by_ref().take(33).read_to_end(&mut rest).map_err(FileError::Io)?;
    if rest.len() < 32 {
        return Err(FileError::Short.into());
    }
    if rest == hash { Ok(count) } else { Err(FileError::Damaged.into()) }
}

/// The bytes of the next document. Memory grows with the bytes that exist, not with the stated length.
fn next<R: Read>(file: &mut Hashed<R>) -> Result<Vec<u8>, FileError> {
    let mut length = 0u64;
    for at in 0..5u32 {
        let [byte] = file.array::<1>()?;
        length |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            let mut bytes = Vec::new();
            if length > MAX_DOCUMENT {
                return Err(FileError::Damaged);
            }
            (&mut file.from).take(length).read_to_end(&mut bytes)?;
            file.hash.update(&bytes);
            return if bytes.len() as u64 == length { Ok(bytes) } else { Err(FileError::Short) };
        }
    }
    Err(FileError::Damaged)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rust_decimal::Decimal;

    use super::*;
    use crate::{
        BadListing, Behaviour, Category, Claim, ClaimList, ClaimType, Currency, EvidenceTier, Interval, Jurisdiction,
        MAX_ALIASES, MAX_JURISDICTIONS, PoolTag, Profile, Provenance, Quote, QuoteRow, Range, Series,
    };

    fn claim(rng: &mut ChaCha8Rng, row: u32) -> Claim {
        let text = |rng: &mut ChaCha8Rng| ["", "a", "https://example.org/ä"][rng.random_range(0..3usize)].into();
        Claim {
            row: row * 3,
            script: (0..rng.random_range(1..40)).map(|_| rng.random()).collect(),
            claim_type: ClaimType::ControlledBy,
            tier: EvidenceTier::SelfDisclosed,
            level: rng.random_range(0..=100),
            entity: rng.random::<bool>().then(|| "binance".parse().unwrap()),
            entity_name: text(rng),
            category: rng.random::<bool>().then_some(Category::Exchange),
            behaviour: Some(Behaviour::ColdWallet),
            label: text(rng),
            source_url: text(rng),
            origin_url: text(rng),
            note: text(rng),
            asserted_at: rng.random::<bool>().then(|| rng.random()),
            valid_from: None,
            valid_to: rng.random::<bool>().then(|| rng.random()),
            is_inherited: rng.random(),
            is_person: rng.random(),
            is_redacted: false,
        }
    }

    fn pool_tag(rng: &mut ChaCha8Rng, row: u32) -> PoolTag {
        let link = ["", "https://example.org/ä"][rng.random_range(0..2usize)].into();
        PoolTag {
            row: row * 3,
            tag: "/Mined by ä/".into(),
            pool: "a-pool".parse().unwrap(),
            name: "A Pool".into(),
            link,
        }
    }

    fn profile(rng: &mut ChaCha8Rng, row: u32) -> Profile {
        let codes = ["VG", "mt"].map(|code| code.parse().unwrap());
        Profile {
            row: row * 2,
            entity: "an-exchange".parse().unwrap(),
            name: "Än Exchange".into(),
            aliases: (0..rng.random_range(0..4)).map(|at| format!("alias {at}").into()).collect(),
            category: rng.random::<bool>().then_some(Category::Exchange),
            homepage: ["", "an.example"][rng.random_range(0..2usize)].into(),
            jurisdictions: codes[..rng.random_range(0..=2)].to_vec(),
            legal_name: ["", "An Exchange Ltd."][rng.random_range(0..2usize)].into(),
            asserted_at: rng.random::<bool>().then(|| rng.random()),
        }
    }

    fn document(rng: &mut ChaCha8Rng) -> Document {
        let provenance = Provenance {
            source: "some-source".parse().unwrap(),
            licence: "cc0-1.0".parse().unwrap(),
            origin: "https://example.org/ä".repeat(rng.random_range(0..3)),
            retrieved_at: rng.random(),
            document: DocumentHash(rng.random()),
        };
        if rng.random_ratio(1, 4) {
            let body = Body::Withdrawal { document: DocumentHash(rng.random()), reason: "wrong".into() };
            return Document { provenance, received_at: Some(9), body };
        }
        if rng.random_ratio(1, 3) {
            let list = ClaimList { name: "por".parse().unwrap(), is_complete: rng.random() };
            let rows = (1..rng.random_range(2..30)).map(|row| claim(rng, row)).collect();
            return Document { provenance, received_at: None, body: Body::Claims { list, rows } };
        }
        if rng.random_ratio(1, 3) {
            let count = rng.random_range(2..9);
            let rows = match rng.random() {
                true => (1..count).map(|row| pool_tag(rng, row)).collect::<Vec<_>>().into(),
                false => (1..count).map(|row| profile(rng, row)).collect::<Vec<_>>().into(),
            };
            let body = Body::Listing { list: "pools".parse().unwrap(), rows };
            return Document { provenance, received_at: None, body };
        }
        let mut rows = Vec::new();
        for quote in [Currency::EUR, Currency::USD] {
            let series = Series { base: Currency::BTC, quote, interval: Interval::Day };
            let mut day = rng.random_range(14_000..20_000);
            for _ in 0..rng.random_range(1..30) {
                day += rng.random_range(1..3u32);
                let price = |rng: &mut ChaCha8Rng| {
                    Decimal::new(rng.random_range(1..i64::MAX / 10_000), rng.random_range(0..20)).normalize()
                };
                let range = rng.random_bool(0.5).then(|| Range { open: price(rng), high: price(rng), low: price(rng) });
                let volume = rng.random_bool(0.5).then(|| price(rng));
                let quote = Quote { close: price(rng), range, volume };
                rows.push(QuoteRow { series, closes_at: day * 86_400, quote });
            }
        }
        Document { provenance, received_at: None, body: Body::Quotes(rows) }
    }

    fn written(documents: &[Document]) -> Vec<u8> {
        let mut file = FileWriter::begin(Vec::new()).unwrap();
        documents.iter().for_each(|document| file.add(document).unwrap());
        file.finish().unwrap().0
    }

    fn read_back(bytes: &[u8]) -> Result<Vec<Document>, FileError> {
        let mut found = Vec::new();
        read(bytes, |document| {
            found.push(document);
            Ok::<(), FileError>(())
        })?;
        Ok(found)
    }

    #[test]
    fn documents_read_back() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for count in [0, 1, 2, 20] {
            let documents: Vec<Document> = (0..count).map(|_| document(&mut rng)).collect();
            documents.iter().for_each(|document| document.check().unwrap());
            assert_eq!(read_back(&written(&documents)).unwrap(), documents);
        }
    }

    #[test]
    fn every_damage_is_found() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let whole = written(&[document(&mut rng), document(&mut rng)]);
        for cut in 0..whole.len() {
            assert!(read_back(&whole[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << rng.random_range(0..8);
            assert!(read_back(&bytes).is_err(), "changed at {at}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert!(matches!(read_back(&longer), Err(FileError::Damaged)));
        let mut later = whole.clone();
        later[12] = 9;
        assert!(matches!(read_back(&later), Err(FileError::Version(9))));
        assert!(matches!(read_back(b"date,open,high,low,close"), Err(FileError::Foreign)));
        // A stated length without bytes takes no memory.
        let mut huge = whole[..13].to_vec();
        huge.extend([1, 0xff, 0xff, 0xff, 0x7f]);
        assert!(matches!(read_back(&huge), Err(FileError::Short | FileError::Damaged)));
    }

    #[test]
    fn rules_are_checked() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let whole = loop {
            let document = document(&mut rng);
            if document.rows().len() > 3 {
                break document;
            }
        };
        let with = |change: &dyn Fn(&mut Vec<QuoteRow>)| {
            let mut rows = whole.rows().to_vec();
            change(&mut rows);
            Document { body: Body::Quotes(rows), ..whole.clone() }.check().unwrap_err()
        };
        assert_eq!(with(&|rows| rows.clear()), BadDocument::Empty);
        assert_eq!(with(&|rows| rows.swap(0, 1)), BadDocument::Order(2));
        assert_eq!(with(&|rows| rows[1] = rows[0]), BadDocument::Order(2));
        assert_eq!(with(&|rows| rows[0].closes_at -= 1), BadDocument::Time(1));
        assert_eq!(with(&|rows| rows[2].quote.close = Decimal::ZERO), BadDocument::Price(3));
        assert_eq!(with(&|rows| rows[2].quote.close = Decimal::new(150, 2)), BadDocument::Price(3));
        assert_eq!(with(&|rows| rows[2].quote.volume = Some(Decimal::NEGATIVE_ONE)), BadDocument::Price(3));

        let claims = |change: &dyn Fn(&mut Vec<Claim>)| {
            let mut rng = ChaCha8Rng::seed_from_u64(4);
            let mut rows: Vec<Claim> = (1..4).map(|row| claim(&mut rng, row)).collect();
            change(&mut rows);
            let list = ClaimList { name: "por".parse().unwrap(), is_complete: true };
            Document { body: Body::Claims { list, rows }, ..whole.clone() }.check()
        };
        assert_eq!(claims(&|_| ()), Ok(()));
        assert_eq!(claims(&Vec::clear), Err(BadDocument::Empty));
        assert_eq!(claims(&|rows| rows.swap(0, 1)), Err(BadDocument::Row(2)));
        assert_eq!(claims(&|rows| rows[0].row = 0), Err(BadDocument::Row(1)));
        assert_eq!(claims(&|rows| rows[2].level = 101), Err(BadDocument::Claim(3, "a level above 100")));
        let said = claims(&|rows| rows[1].note = "a\u{202e}b".into()).unwrap_err().to_string();
        assert!(said.contains("claim 2") && said.contains("note"), "{said}");
        assert!(claims(&|rows| rows[1].script = [].into()).is_err());
        assert!(claims(&|rows| rows[1].tier = EvidenceTier::ClusterInherited).is_err());

        let tags = |change: &dyn Fn(&mut Vec<PoolTag>)| {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let mut rows: Vec<PoolTag> = (1..4).map(|row| pool_tag(&mut rng, row)).collect();
            change(&mut rows);
            Document { body: Body::Listing { list: "pools".parse().unwrap(), rows: rows.into() }, ..whole.clone() }
                .check()
        };
        assert_eq!(tags(&|_| ()), Ok(()));
        assert_eq!(tags(&Vec::clear), Err(BadDocument::Empty));
        assert_eq!(tags(&|rows| rows.swap(0, 1)), Err(BadListing::Order("tag", 2).into()));
        for bad in ["", "a\u{0}", &"x".repeat(101)] {
            assert!(
                matches!(
                    tags(&|rows| rows[2].tag = bad.into()),
                    Err(BadDocument::Listing(BadListing::Row("tag", 3, _)))
                ),
                "{bad:?}"
            );
        }
        let many =
            |rows: &mut Vec<PoolTag>| *rows = (1..=10_001).map(|row| PoolTag { row, ..rows[0].clone() }).collect();
        let said = tags(&many).unwrap_err().to_string();
        assert!(said.contains("10001 rows, each a tag; at most 10000"), "{said}");

        let profiles = |change: &dyn Fn(&mut Profile)| {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let mut rows: Vec<Profile> = (1..4).map(|row| profile(&mut rng, row)).collect();
            change(&mut rows[1]);
            Document { body: Body::Listing { list: "actors".parse().unwrap(), rows: rows.into() }, ..whole.clone() }
                .check()
        };
        assert_eq!(profiles(&|_| ()), Ok(()));
        let bad: [&dyn Fn(&mut Profile); 8] = [
            &|of| of.name = "".into(),
            &|of| of.name = "a\u{202e}b".into(),
            &|of| of.aliases = vec!["".into()],
            &|of| of.aliases = vec!["x".into(); MAX_ALIASES + 1],
            &|of| of.homepage = "x".repeat(1_001).into(),
            &|of| of.jurisdictions = vec!["de".parse().unwrap(); MAX_JURISDICTIONS + 1],
            &|of| of.legal_name = "x".repeat(201).into(),
            &|of| of.row = 1,
        ];
        for change in bad {
            let said = profiles(change).unwrap_err().to_string();
            assert!(said.starts_with("profile 2 of the document"), "{said}");
        }
        assert!(["", "d", "D1", "DEU", "ß"].iter().all(|text| text.parse::<Jurisdiction>().is_err()));
    }
}
