//! Custom signets (BIP 325): the challenge, and what follows from it.

use std::{
    fmt,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use bitcoin::{
    Script,
    consensus::serialize,
    hashes::{Hash, sha256d},
    hex::{DisplayHex, FromHex},
};

use crate::{Network, UnknownNetwork};

/// Maximum length of a challenge: that of a script.
pub const MAX_CHALLENGE_BYTES: usize = 10_000;

/// The challenge of the default signet.
const DEFAULT_CHALLENGE: &str = "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430\
     210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae";

/// Digits of a challenge that messages show in full: 3 public keys and their opcodes.
const SHOWN_DIGITS: usize = 220;

/// Script that the blocks of a signet satisfy. The challenge of the default signet is one as well.
///
/// A process knows one or two challenges. Each is stored once and for as long as the process runs, so that this type is
/// as small as a [`Network`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignetChallenge(&'static Stored);

#[derive(PartialEq, Eq, Hash)]
struct Stored {
    /// The script in hexadecimal digits.
    hex: String,
    /// Message start bytes.
    magic: [u8; 4],
    /// See [`ChainParams::key`].
    key: String,
}

/// Why a text is not a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadChallenge {
    /// It has no digits.
    #[error("the challenge is empty; expected {EXPECTED}")]
    Empty,
    /// It has other characters, or half a byte.
    #[error("the challenge is not pairs of hexadecimal digits; expected {EXPECTED}")]
    NotHex,
    /// It is longer than a script may be.
    #[error("the challenge has {0} bytes; expected {EXPECTED}")]
    TooLong(usize),
}

const EXPECTED: &str = "a script of 1 to 10000 bytes in hexadecimal digits";

impl FromStr for SignetChallenge {
    type Err = BadChallenge;

    fn from_str(text: &str) -> Result<Self, BadChallenge> {
        if text.is_empty() {
            return Err(BadChallenge::Empty);
        }
        let script = Vec::<u8>::from_hex(text).map_err(|_| BadChallenge::NotHex)?;
        if script.len() > MAX_CHALLENGE_BYTES {
            return Err(BadChallenge::TooLong(script.len()));
        }
        Ok(SignetChallenge::stored(&script))
    }
}

impl SignetChallenge {
    fn stored(script: &[u8]) -> Self {
        static KNOWN: Mutex<Vec<&'static Stored>> = Mutex::new(Vec::new());
        let hex = script.to_lower_hex_string();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stored) = known.iter().find(|stored| stored.hex == hex) {
            return SignetChallenge(stored);
        }
        // BIP 325: the hash of the script behind its CompactSize length.
        let hash = sha256d::Hash::hash(&serialize(Script::from_bytes(script))).to_byte_array();
        let magic = [hash[0], hash[1], hash[2], hash[3]];
        let key = format!("{}-{}", Network::Signet.name(), hash[..16].to_lower_hex_string());
        let stored: &'static Stored = Box::leak(Box::new(Stored { hex, magic, key }));
        known.push(stored);
        SignetChallenge(stored)
    }

    /// The script in lowercase hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> &'static str {
        &self.0.hex
    }

    /// Message start bytes of its signet.
    #[must_use]
    pub fn magic(self) -> [u8; 4] {
        self.0.magic
    }
}

/// Shows the digits; of a long challenge, the first ones, the length and the message start bytes.
impl fmt::Display for SignetChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.hex.get(..SHOWN_DIGITS) {
            Some(start) if start.len() < self.0.hex.len() => {
                let (bytes, magic) = (self.0.hex.len() / 2, self.0.magic.to_lower_hex_string());
                write!(f, "{start}… ({bytes} bytes, magic {magic})")
            }
            _ => f.write_str(&self.0.hex),
        }
    }
}

impl fmt::Debug for SignetChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignetChallenge({self})")
    }
}

/// A network, and the challenge if it is a custom signet: everything that distinguishes one chain from another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChainParams {
    network: Network,
    challenge: Option<SignetChallenge>,
}

impl From<Network> for ChainParams {
    fn from(network: Network) -> Self {
        ChainParams { network, challenge: None }
    }
}

impl ChainParams {
    /// The signet with this challenge. That of the default challenge equals [`Network::Signet`].
    #[must_use]
    pub fn signet(challenge: SignetChallenge) -> Self {
        let challenge = Some(challenge).filter(|challenge| challenge.to_hex() != DEFAULT_CHALLENGE);
        ChainParams { network: Network::Signet, challenge }
    }

    /// The network.
    #[must_use]
    pub fn network(self) -> Network {
        self.network
    }

    /// The challenge of a custom signet; `None` for the default signet and all other networks.
    #[must_use]
    pub fn custom_challenge(self) -> Option<SignetChallenge> {
        self.challenge
    }

    /// The challenge of a signet in hexadecimal digits, also of the default one; `None` for all other networks.
    #[must_use]
    pub fn challenge_hex(self) -> Option<&'static str> {
        let default = (self.network == Network::Signet).then_some(DEFAULT_CHALLENGE);
        self.challenge.map(SignetChallenge::to_hex).or(default)
    }

    /// Message start bytes, which also begin every record of a block file.
    #[must_use]
    pub fn magic(self) -> [u8; 4] {
        self.challenge.map_or_else(|| self.network.magic(), SignetChallenge::magic)
    }

    /// A short name that no other chain has, for databases that several chains share: the network's name; for a custom
    /// signet, `signet-` and the first 16 bytes of the hash whose first 4 are the magic.
    #[must_use]
    pub fn key(self) -> &'static str {
        self.challenge.map_or(self.network.name(), |challenge| &challenge.0.key)
    }

    /// The text that [`FromStr`] reads: the network's name; for a custom signet, `signet:` and the challenge. A program
    /// that does not know custom signets refuses the latter as an unknown network.
    #[must_use]
    pub fn to_text(self) -> String {
        self.challenge.map_or_else(|| self.network.name().to_owned(), |challenge| format!("signet:{}", challenge.0.hex))
    }

    /// The name in a message that also names `other`: signets are distinguished.
    #[must_use]
    pub fn name_beside(self, other: Self) -> String {
        if other.challenge.is_some() { self.name_among_signets() } else { self.to_string() }
    }

    /// The name in a message that also names a custom signet.
    #[must_use]
    pub fn name_among_signets(self) -> String {
        match (self.network, self.challenge) {
            (Network::Signet, None) => "the default signet".to_owned(),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for ChainParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.challenge {
            Some(challenge) => write!(f, "the signet with challenge {challenge}"),
            None => f.write_str(self.network.name()),
        }
    }
}

impl FromStr for ChainParams {
    type Err = UnknownNetwork;

    fn from_str(text: &str) -> Result<Self, UnknownNetwork> {
        match text.strip_prefix("signet:") {
            Some(challenge) => {
                let challenge = challenge.parse().map_err(|_| UnknownNetwork(text.to_owned()))?;
                Ok(ChainParams::signet(challenge))
            }
            None => text.parse().map(Network::into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(hex: &str) -> SignetChallenge {
        hex.parse().unwrap()
    }

    #[test]
    fn the_default_challenge_gives_the_default_signet() {
        let default = challenge(DEFAULT_CHALLENGE);
        assert_eq!(default.magic(), [0x0a, 0x03, 0xcf, 0x40]);
        assert_eq!(default.magic(), Network::Signet.magic());
        let signet = ChainParams::from(Network::Signet);
        for digits in [DEFAULT_CHALLENGE.to_owned(), DEFAULT_CHALLENGE.to_uppercase()] {
            assert_eq!(ChainParams::signet(challenge(&digits)), signet);
        }
        assert_eq!((signet.to_text().as_str(), signet.key(), signet.custom_challenge()), ("signet", "signet", None));
        assert_eq!(signet.challenge_hex(), Some(DEFAULT_CHALLENGE));
    }

    /// Computed by Python's hashlib. Bitcoin Core 31 writes the first into its block files with -signetchallenge=51.
    #[test]
    fn magics_and_keys_of_custom_challenges() {
        let expected = [
            (1, "54d26fbd", "54d26fbdb479b4930fdcd672e27e8715"),
            (252, "ff52c207", "ff52c207d575e4b484b6d8d83e3f8976"),
            // From here on, the length has three bytes.
            (253, "ae285478", "ae285478fedbc7d259fb21fff7f468c1"),
            (MAX_CHALLENGE_BYTES, "0b91adbc", "0b91adbc9ca24999376f2d562c5e7c01"),
        ];
        for (bytes, magic, key) in expected {
            let params = ChainParams::signet(challenge(&"51".repeat(bytes)));
            assert_eq!(params.magic().to_lower_hex_string(), magic, "{bytes} bytes");
            assert_eq!(params.key(), format!("signet-{key}"));
            assert_eq!(params.network(), Network::Signet);
            assert_eq!(params.to_text().parse(), Ok(params));
        }
    }

    #[test]
    fn challenges_are_scripts_in_hexadecimal_digits() {
        let bad = [
            (String::new(), BadChallenge::Empty),
            ("5".to_owned(), BadChallenge::NotHex),
            ("0x51".to_owned(), BadChallenge::NotHex),
            ("51 ".to_owned(), BadChallenge::NotHex),
            ("ü1".to_owned(), BadChallenge::NotHex),
            ("51".repeat(MAX_CHALLENGE_BYTES + 1), BadChallenge::TooLong(MAX_CHALLENGE_BYTES + 1)),
        ];
        for (text, error) in bad {
            assert_eq!(text.parse::<SignetChallenge>(), Err(error));
            assert!(error.to_string().contains(&MAX_CHALLENGE_BYTES.to_string()), "{error}");
            assert_eq!(format!("signet:{text}").parse::<ChainParams>().ok(), None);
        }
        assert_eq!(challenge("AB"), challenge("ab"));
        assert_ne!(challenge("51"), challenge("5151"));
    }

    #[test]
    fn other_networks_have_no_challenge() {
        for network in Network::ALL {
            let params = ChainParams::from(network);
            assert_eq!((params.magic(), params.network()), (network.magic(), network));
            assert_eq!((params.to_text().as_str(), params.key()), (network.name(), network.name()));
            assert_eq!(network.name().parse(), Ok(params));
            assert_eq!(params.challenge_hex().is_some(), network == Network::Signet);
        }
        assert!("regtest:51".parse::<ChainParams>().is_err());
    }

    #[test]
    fn messages_distinguish_signets() {
        let (default, custom) = (ChainParams::from(Network::Signet), ChainParams::signet(challenge("51")));
        assert_eq!(custom.name_beside(default), "the signet with challenge 51");
        assert_eq!(default.name_beside(custom), "the default signet");
        assert_eq!(default.name_beside(Network::Main.into()), "signet");
        let long = ChainParams::signet(challenge(&"51".repeat(300))).to_string();
        assert!(long.len() < 300 && long.contains("… (300 bytes, magic "), "{long}");
    }
}
