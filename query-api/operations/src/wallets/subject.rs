//! The script that a wallet request is about.

use cairn_domain::{Subject, address_of, mempool::Mempool, script_sha256, script_type};
use cairn_http::ApiError;
use cairn_reader::{FoundScript, View};

use crate::{config::ChainConfig, context::MempoolView, parameters::identifier::AddressParam};

/// The script of a request and its data in the index.
pub(crate) struct Wallet {
    pub(crate) address: String,
    /// The address of the script; `None` if it has none or if the script is unknown.
    pub(crate) own_address: Option<String>,
    /// The scriptPubKey; `None` if only its hash was given and neither chain nor mempool contains it.
    pub(crate) script: Option<Vec<u8>>,
    pub(crate) script_hash: [u8; 32],
    /// Its totals; `None` if the chain does not contain it.
    pub(crate) found: Option<FoundScript>,
}

impl Wallet {
    /// Looks the script up. Usually two row reads.
    pub(crate) fn find(view: &View<'_>, pool: Option<&MempoolView<'_>>, asked: AddressParam) -> Result<Self, ApiError> {
        let (script, script_hash, found) = match asked.subject {
            Subject::Script(script) => {
                let found = view.scripts().find(&script)?;
                let hash = script_sha256(&script);
                (Some(script), hash, found)
            }
            Subject::ScriptHash(hash) => match view.scripts().find_hash(&hash)? {
                Some((found, script)) => (Some(script), hash, Some(found)),
                None => (pool.and_then(|pool| unconfirmed_script(pool.mempool, &hash)), hash, None),
            },
        };
        let own_address = script.as_deref().and_then(|s| address_of(s, view.network()));
        Ok(Wallet { address: asked.text, own_address, script, script_hash, found })
    }

    /// Script type as Bitcoin Core names it.
    pub(crate) fn script_type(&self) -> &'static str {
        self.script.as_deref().map_or("unknown", |s| script_type(s).name())
    }

    /// True if its whole history is public.
    pub(crate) fn is_showcase(&self, config: &ChainConfig) -> bool {
        let listed = |text: &String| *text == self.address || Some(text) == self.own_address.as_ref();
        config.showcase_addresses.iter().any(listed)
    }
}

/// The script with this hash, from the newest unconfirmed transaction that funds it or spends from it.
fn unconfirmed_script(mempool: &Mempool, hash: &[u8; 32]) -> Option<Vec<u8>> {
    let newest = mempool.script_txs(hash, None, 1).pop()?;
    let tx = mempool.get(&newest.txid)?;
    let mut scripts = tx.outputs.iter().map(|o| &o.script).chain(tx.inputs.iter().map(|i| &i.script));
    scripts.find(|script| script_sha256(script) == *hash).map(|script| script.to_vec())
}
