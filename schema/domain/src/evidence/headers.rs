//! A chain of block headers from a checkpoint on: links, proof of work and retargets, without an index.

use bitcoin::{BlockHash, Work, block::Header, consensus::deserialize, params::Params, pow::CompactTarget};
use cairn_model::{Height, Network};

use super::verify::hexadecimal;

/// Bytes of a header.
const BYTES: usize = 80;
/// Blocks between two changes of the difficulty.
const PERIOD: Height = 2_016;

/// Why headers are refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadHeaders {
    /// The file is not one of headers.
    #[error("it is neither headers of 80 bytes each nor lines of 160 hexadecimal digits")]
    Form,
    /// There is none.
    #[error("it has no header")]
    Empty,
    /// The first header does not begin a period.
    #[error("it begins at height {0}, but must begin at a multiple of 2016, so that every retarget can be checked")]
    Begin(Height),
    /// A header breaks a rule.
    #[error("header of height {0}: {1}")]
    Rule(Height, &'static str),
}

/// Headers that were checked.
#[derive(Debug)]
pub struct HeaderChain {
    from: Height,
    headers: Vec<Header>,
    work: Work,
    retargets: bool,
}

/// Reads headers: 80 bytes each, or lines of 160 hexadecimal digits, ascending.
fn read(file: &[u8]) -> Result<Vec<Header>, BadHeaders> {
    let is_text = file.iter().all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace());
    let bytes = if is_text {
        let text = std::str::from_utf8(file).map_err(|_| BadHeaders::Form)?;
        let lines = text.split_ascii_whitespace().map(|line| hexadecimal(&line.to_ascii_lowercase()));
        let lines: Option<Vec<Vec<u8>>> = lines.map(|line| line.filter(|line| line.len() == BYTES)).collect();
        lines.ok_or(BadHeaders::Form)?.concat()
    } else {
        file.to_vec()
    };
    let (headers, rest) = bytes.as_chunks::<BYTES>();
    if !rest.is_empty() {
        return Err(BadHeaders::Form);
    }
    headers.iter().map(|bytes| deserialize(bytes).map_err(|_| BadHeaders::Form)).collect()
}

impl HeaderChain {
    /// Checks the headers of a file, the first of which has the height `from`: the checkpoint. It is trusted, unless
    /// it is the network's first block, which is compared.
    ///
    /// # Errors
    /// Fails with the height of the header that breaks a rule.
    pub fn check(file: &[u8], from: Height, network: Network) -> Result<Self, BadHeaders> {
        let headers = read(file)?;
        let params = Params::new(network.to_bitcoin());
        // Test networks 3 and 4 let blocks have the least difficulty after 20 minutes.
        let retargets = matches!(network, Network::Main | Network::Signet);
        if retargets && !from.is_multiple_of(PERIOD) {
            return Err(BadHeaders::Begin(from));
        }
        let first = headers.first().ok_or(BadHeaders::Empty)?;
        let genesis = bitcoin::constants::genesis_block(&params).header;
        if from == 0 && *first != genesis {
            return Err(BadHeaders::Rule(0, "is not the first block of the network"));
        }
        let mut chain = HeaderChain { from, headers: Vec::with_capacity(headers.len()), work: first.work(), retargets };
        for header in headers {
            let height = chain.from.saturating_add(u32::try_from(chain.headers.len()).unwrap_or(u32::MAX));
            chain.add(header, height, &params).map_err(|why| BadHeaders::Rule(height, why))?;
        }
        Ok(chain)
    }

    fn add(&mut self, header: Header, height: Height, params: &Params) -> Result<(), &'static str> {
        let target = header.target();
        if target > params.max_attainable_target || !target.is_met_by(header.block_hash()) {
            return Err("its hash does not meet its target, or its target is above the network's limit");
        }
        if let Some(before) = self.headers.last() {
            if header.prev_blockhash != before.block_hash() {
                return Err("does not follow the header before");
            }
            if self.retargets && header.bits != self.bits_at(height, params).ok_or("its target cannot be computed")? {
                return Err("has another target than the difficulty rules give");
            }
            self.work = self.work + header.work();
        }
        self.headers.push(header);
        Ok(())
    }

    /// The target that the block of a height must have.
    fn bits_at(&self, height: Height, params: &Params) -> Option<CompactTarget> {
        let last = self.headers.last()?;
        if !height.is_multiple_of(PERIOD) {
            return Some(last.bits);
        }
        let first = self.headers.get(self.headers.len().checked_sub(PERIOD as usize)?)?;
        let timespan = u64::from(last.time.saturating_sub(first.time));
        Some(CompactTarget::from_next_work_required(last.bits, timespan, params))
    }

    /// The height and the hash of the first header: all else rests on it.
    #[must_use]
    pub fn checkpoint(&self) -> (Height, String) {
        (self.from, self.headers.first().map_or_else(String::new, |header| header.block_hash().to_string()))
    }

    /// The height of the last header.
    #[must_use]
    pub fn last(&self) -> Height {
        self.from.saturating_add(u32::try_from(self.headers.len().saturating_sub(1)).unwrap_or(u32::MAX))
    }

    /// The work of all headers, in hexadecimal.
    #[must_use]
    pub fn work(&self) -> String {
        format!("{:x}", self.work)
    }

    /// True if the targets of all headers were checked against the rule of retargets.
    #[must_use]
    pub fn checks_retargets(&self) -> bool {
        self.retargets
    }

    /// The hash of the block at a height; `None` if no header has it.
    pub(super) fn hash_at(&self, height: Height) -> Option<BlockHash> {
        let at = usize::try_from(height.checked_sub(self.from)?).ok()?;
        self.headers.get(at).map(Header::block_hash)
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::consensus::encode::{serialize, serialize_hex};

    use super::*;

    /// Headers on the first block of regtest, each with proof of work.
    fn mined(count: usize) -> Vec<Header> {
        let mut all = vec![bitcoin::constants::genesis_block(Params::new(bitcoin::Network::Regtest)).header];
        while all.len() < count {
            let before = *all.last().unwrap();
            let mut header =
                Header { prev_blockhash: before.block_hash(), time: before.time + 600, nonce: 0, ..before };
            while !header.target().is_met_by(header.block_hash()) {
                header.nonce += 1;
            }
            all.push(header);
        }
        all
    }

    fn check(headers: &[Header], from: Height) -> Result<HeaderChain, BadHeaders> {
        HeaderChain::check(&headers.iter().flat_map(serialize).collect::<Vec<u8>>(), from, Network::Regtest)
    }

    #[test]
    fn headers_are_read_in_both_forms() {
        let headers = mined(5);
        let chain = check(&headers, 0).unwrap();
        assert_eq!((chain.last(), chain.checkpoint().0), (4, 0));
        assert_eq!(chain.hash_at(3), Some(headers[3].block_hash()));
        assert_eq!((chain.hash_at(5), chain.checks_retargets()), (None, false));
        let lines: Vec<String> = headers.iter().map(serialize_hex).collect();
        let text = HeaderChain::check(lines.join("\n").as_bytes(), 0, Network::Regtest).unwrap();
        assert_eq!((text.work(), text.checkpoint()), (chain.work(), chain.checkpoint()));
        let later = check(&headers[2..], 2).unwrap();
        assert_eq!((later.hash_at(3), later.hash_at(1)), (Some(headers[3].block_hash()), None));
        for bad in [&b"00"[..], b"x", &[0; 81]] {
            assert_eq!(HeaderChain::check(bad, 0, Network::Regtest).unwrap_err(), BadHeaders::Form);
        }
        assert_eq!(HeaderChain::check(b"", 0, Network::Regtest).unwrap_err(), BadHeaders::Empty);
        assert_eq!(HeaderChain::check(b"00", 5, Network::Main).unwrap_err(), BadHeaders::Form);
    }

    #[test]
    fn a_broken_rule_is_found() {
        let headers = mined(6);
        let rule = |headers: &[Header], from| match check(headers, from).unwrap_err() {
            BadHeaders::Rule(height, _) => height,
            other => panic!("{other}"),
        };
        assert_eq!(rule(&headers[1..], 0), 0);
        assert_eq!(rule(&[headers[0], headers[1], headers[3]], 0), 2);
        let mut weak = headers.clone();
        while weak[4].target().is_met_by(weak[4].block_hash()) {
            weak[4].nonce += 1;
        }
        assert_eq!(rule(&weak, 0), 4);
        // A target of its own choice proves no work.
        let mut easy = headers;
        easy[5].bits = CompactTarget::from_consensus(0x21ff_ffff);
        assert_eq!(rule(&easy, 0), 5);
    }

    #[test]
    fn main_network_rules_are_checked_from_the_first_block() {
        let genesis = bitcoin::constants::genesis_block(Params::new(bitcoin::Network::Bitcoin)).header;
        let chain = HeaderChain::check(&serialize(&genesis), 0, Network::Main).unwrap();
        assert!(chain.checks_retargets());
        assert_eq!(chain.checkpoint().1, "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f");
        let error = HeaderChain::check(&serialize(&genesis), 7, Network::Main).unwrap_err();
        assert_eq!(error, BadHeaders::Begin(7));
        let other = HeaderChain::check(&serialize(&genesis), 0, Network::Regtest).unwrap_err();
        assert!(matches!(other, BadHeaders::Rule(0, _)));
    }
}
