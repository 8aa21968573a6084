//! Random output scripts of every kind.

use bitcoin::hashes::Hash;
use bitcoin::{PubkeyHash, ScriptBuf};
use rand::Rng;
use rand::seq::IndexedRandom;

use super::Everything;
use crate::{Error, KeyForm, Lock};

impl Everything {
    /// A spendable script: often one paid before, else a new lock of a random kind.
    pub(super) fn any_script(&mut self) -> Result<ScriptBuf, Error> {
        if self.shared.is_some() {
            let owner = self.any_owner();
            return self.payee(owner);
        }
        if self.rng.random_bool(0.6)
            && let Some(script) = self.scripts.choose(&mut self.rng)
        {
            return Ok(script.clone());
        }
        let lock = self.any_lock();
        let script = self.builder.keyring().script(&lock)?;
        self.truth.own(&script, 0);
        if script.len() < 1_000 {
            self.scripts.push(script.clone());
        }
        Ok(script)
    }

    pub(super) fn any_lock(&mut self) -> Lock {
        let key = self.new_key();
        match self.rng.random_range(0..24) {
            0 => Lock::P2pk { key, form: KeyForm::Compressed },
            1 => Lock::P2pk { key, form: KeyForm::Uncompressed },
            2 => Lock::P2pk { key, form: KeyForm::Hybrid },
            3 | 4 => Lock::P2pkh { key, form: KeyForm::Compressed },
            5 => Lock::P2pkh { key, form: KeyForm::Uncompressed },
            6 => {
                let (needed, keys) = self.quorum(3);
                Lock::BareMultisig { needed, keys, form: KeyForm::Compressed }
            }
            7 => {
                let (needed, keys) = self.quorum(3);
                Lock::BareMultisig { needed, keys, form: KeyForm::Uncompressed }
            }
            8 => {
                let (needed, keys) = self.quorum(15);
                Lock::P2shMultisig { needed, keys, form: KeyForm::Compressed }
            }
            9 => {
                let (needed, keys) = self.quorum(3);
                Lock::P2shMultisig { needed, keys, form: KeyForm::Uncompressed }
            }
            10 | 11 => Lock::P2shP2wpkh { key },
            12 => {
                let (needed, keys) = self.quorum(5);
                Lock::P2shP2wsh { needed, keys }
            }
            13 | 14 => Lock::P2wpkh { key },
            15 => {
                let (needed, keys) = self.quorum(16);
                Lock::P2wsh { needed, keys }
            }
            16..19 => Lock::P2trKey { key },
            19 => Lock::P2trScript { internal: key, leaves: [self.new_key(), self.new_key()] },
            20 => Lock::p2a(),
            21 => Lock::anyone(),
            22 => {
                let length = self.rng.random_range(2..=40);
                let program = (0..length).map(|_| self.rng.random()).collect::<Vec<u8>>();
                match self.rng.random_range(1..=16) {
                    // A 32-byte program of version 1 would be a taproot output without a known key.
                    1 if length == 32 => Lock::p2a(),
                    version => Lock::future_witness(version, program),
                }
            }
            _ => {
                let length = self.rng.random_range(0..=520);
                let preimage = (0..length).map(|_| self.rng.random()).collect::<Vec<u8>>();
                if self.rng.random_bool(0.02) { Lock::largest(self.rng.random()) } else { Lock::hash_puzzle(&preimage) }
            }
        }
    }

    /// A script that nobody will spend: data, burns, oversized and malformed scripts.
    pub(super) fn dead_script(&mut self) -> ScriptBuf {
        let mut bytes = |length: usize| (0..length).map(|_| self.rng.random()).collect::<Vec<u8>>();
        let junk = bytes(80);
        let hash: [u8; 20] = std::array::from_fn(|index| junk[index]);
        match junk[79] % 10 {
            // OP_RETURN: bare, short push, PUSHDATA1, raw bytes that are not valid pushes.
            0 => ScriptBuf::from_bytes(vec![0x6a]),
            1 => op_return(&junk[..usize::from(junk[78] % 76)]),
            2 => op_return(&junk),
            3 => ScriptBuf::from_bytes([&[0x6a], &junk[..30]].concat()),
            // Several pushes behind one OP_RETURN, numbers among them (Runes start so).
            4 => ScriptBuf::from_bytes([&[0x6a, 0x5d, 0x04], &junk[..4], &[0x51, 0x02], &junk[4..6]].concat()),
            5 => ScriptBuf::new(),
            // A key that is not a point of the curve, in P2PK form.
            6 => ScriptBuf::from_bytes([&[0x41, 0x04], &junk[..64], &[0xac]].concat()),
            // Ends inside a push: undecodable, but a coin like any other.
            7 => ScriptBuf::from_bytes([&[0x4c, 0xff], &junk[..10]].concat()),
            // To a hash whose key nobody has.
            8 => ScriptBuf::new_p2pkh(&PubkeyHash::from_byte_array(hash)),
            _ => ScriptBuf::from_bytes([&[0x51, 0x20], &junk[..32]].concat()),
        }
    }

    /// A script above 10,000 bytes, which no coin set keeps.
    pub(super) fn oversized_script(&mut self) -> ScriptBuf {
        let length = self.rng.random_range(10_001..12_000);
        ScriptBuf::from_bytes(vec![0x51; length])
    }

    pub(super) fn new_key(&mut self) -> u32 {
        self.next_key += 1;
        // A bounded number of keys, so that keys recur across kinds of script.
        self.own_key(self.next_key % 400)
    }

    /// The number of a key of the owner at work; keys of different owners differ.
    pub(super) fn own_key(&self, key: u32) -> u32 {
        match &self.shared {
            None => key,
            Some(owners) => key * owners.count + self.working,
        }
    }

    fn quorum(&mut self, most: u32) -> (u8, Vec<u32>) {
        let count = self.rng.random_range(1..=most);
        let keys = (0..count).map(|_| self.new_key()).collect();
        (self.rng.random_range(1..=count) as u8, keys)
    }
}

/// OP_RETURN and one push of the data, of any length.
pub(super) fn op_return(data: &[u8]) -> ScriptBuf {
    let mut script = vec![0x6a];
    match data.len() {
        0..76 => script.push(data.len() as u8),
        76..256 => script.extend([0x4c, data.len() as u8]),
        256..65_536 => {
            script.push(0x4d);
            script.extend((data.len() as u16).to_le_bytes());
        }
        _ => {
            script.push(0x4e);
            script.extend((data.len() as u32).to_le_bytes());
        }
    }
    script.extend_from_slice(data);
    ScriptBuf::from_bytes(script)
}
