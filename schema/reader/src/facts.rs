//! Parameters of an index.

use std::{collections::BTreeMap, path::PathBuf};

use cairn_model::{ChainParams, Network, SignetChallenge};
use cairn_tables::{
    Table, encode_key,
    facts::{Fact, Facts as FactsTable},
};

use crate::{Db, ReadError};

/// Parameters of the index, fixed at its first commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// The network.
    pub network: Network,
    /// The challenge of a custom signet; `None` for the default signet and all other networks.
    pub challenge: Option<SignetChallenge>,
    /// Bytes of a script's hash that are used as prefix: 8, except in tests of collisions.
    pub script_prefix: usize,
    /// Bytes of a txid that are used as prefix: 8, except in tests of collisions.
    pub txid_prefix: usize,
    /// The folder of block files, for raw bytes; `None` if the blocks came from a node.
    pub blocks_dir: Option<PathBuf>,
}

impl Facts {
    /// Parameters of a new index of a network.
    #[must_use]
    pub fn of(chain: impl Into<ChainParams>) -> Self {
        let chain = chain.into();
        let (network, challenge) = (chain.network(), chain.custom_challenge());
        Facts { network, challenge, script_prefix: 8, txid_prefix: 8, blocks_dir: None }
    }

    /// The network with the challenge of a custom signet.
    #[must_use]
    pub fn chain_params(&self) -> ChainParams {
        self.challenge.map_or_else(|| self.network.into(), ChainParams::signet)
    }

    /// As rows of the `facts` table.
    #[must_use]
    pub fn rows(&self) -> Vec<(String, Fact)> {
        let mut rows = vec![
            // The challenge is in the same row: programs that do not know custom signets refuse the index.
            ("network".to_owned(), self.chain_params().to_text()),
            ("script_prefix".to_owned(), self.script_prefix.to_string()),
            ("txid_prefix".to_owned(), self.txid_prefix.to_string()),
        ];
        if let Some(dir) = &self.blocks_dir {
            rows.push(("blocks_dir".to_owned(), dir.to_string_lossy().into_owned()));
        }
        rows.into_iter().map(|(k, v)| (k, Fact(v))).collect()
    }

    /// Name of the row that is there while a repair replaces a column family.
    pub const REPAIRING: &'static str = "repairing";

    /// True while a repair replaces a column family of the journal: its rows are incomplete.
    pub fn is_being_repaired(db: &Db) -> Result<bool, ReadError> {
        let family = db.cf_handle(FactsTable::FAMILY.name()).ok_or(ReadError::Empty)?;
        Ok(db.get_pinned_cf(&family, encode_key::<FactsTable>(&Self::REPAIRING.to_owned()))?.is_some())
    }

    /// Reads them; `None` if the index has none yet.
    ///
    /// # Errors
    /// Fails if this version does not support one of the facts.
    pub fn read(db: &Db) -> Result<Option<Self>, ReadError> {
        let family = db.cf_handle(FactsTable::FAMILY.name()).ok_or(ReadError::Empty)?;
        let fact = |name: &str| -> Result<Option<String>, ReadError> {
            let bytes = db.get_pinned_cf(&family, encode_key::<FactsTable>(&name.to_owned()));
            let bytes = bytes.map_err(|e| ReadError::of_table(FactsTable::NAME, e))?;
            bytes.map(|b| Ok(FactsTable::decode_value(&b)?.0)).transpose()
        };
        Self::from_texts(fact)
    }

    /// Reads them from the rows of [`Facts::rows`], wherever these were kept; `None` if they name no network.
    pub fn from_rows(rows: Vec<(String, Fact)>) -> Result<Option<Self>, ReadError> {
        let mut rows: BTreeMap<String, Fact> = rows.into_iter().collect();
        Self::from_texts(|name| Ok(rows.remove(name).map(|fact| fact.0)))
    }

    fn from_texts(mut fact: impl FnMut(&str) -> Result<Option<String>, ReadError>) -> Result<Option<Self>, ReadError> {
        let Some(network) = fact("network")? else { return Ok(None) };
        let chain: ChainParams =
            network.parse().map_err(|e: cairn_model::UnknownNetwork| ReadError::Unusable(e.to_string()))?;
        let mut number = |name: &str| -> Result<usize, ReadError> {
            let n = fact(name)?.and_then(|text| text.parse().ok()).filter(|n| (1..=8).contains(n));
            n.ok_or_else(|| ReadError::Unusable(format!("the index has no valid {name}")))
        };
        let (script_prefix, txid_prefix) = (number("script_prefix")?, number("txid_prefix")?);
        let blocks_dir = fact("blocks_dir")?.map(PathBuf::from);
        Ok(Some(Facts { script_prefix, txid_prefix, blocks_dir, ..Facts::of(chain) }))
    }
}
