//! Who held old coins, as answers show it.

use cairn_domain::cospending::counts;
use cairn_reader::{Brief, StoredTx};
use cairn_tables::{
    block_log::BlockLog,
    flushes::{Holder, InputKey},
    totals::TotalsTable,
};

use crate::{
    operation::prelude::*,
    transfers::{Owners, SideOwner},
    tx_sides::name_of,
};

/// A cluster, or a script outside all clusters.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CoinHolder {
    /// `cluster`, or `script` if no transaction ties the script to another.
    kind: &'static str,
    /// Id of the transaction after which the cluster is named; null for a script.
    cluster_root_txid: Option<String>,
    /// Address of a script of the holder: that of the first relevant input; or `scripthash:<hex>` if that script has
    /// none.
    address: String,
    /// Owner of this script by today's labels; null if they do not identify one.
    owner: Option<SideOwner>,
}

impl CoinHolder {
    /// Of the coins that an input spends, which are worth so much. Some ten rows read.
    pub(super) fn of(
        view: &View<'_>,
        owners: &mut Owners,
        (key, holder, sats): (InputKey, Holder, Sats),
    ) -> Result<Self, ApiError> {
        let tx = tx(view, key.tx_num)?;
        let coins = view.transactions().inputs(&tx)?;
        let missing = || lacks::<BlockLog>(format!("input {} of transaction {}", key.vin, key.tx_num.0));
        let coin = coins.get(key.vin as usize).ok_or_else(missing)?;
        let standings = view.labels().standings(&[coin.script])?;
        let root = match holder {
            Holder::Cluster(root) => Some(txid(view, root)?),
            Holder::Script(_) => None,
        };
        Ok(CoinHolder {
            kind: if root.is_some() { "cluster" } else { "script" },
            cluster_root_txid: root,
            address: name_of(&view.transactions().script_at(coin.outpoint)?, view),
            owner: owners.judge(view, standings.iter().map(|standing| (standing, sats)))?.owner,
        })
    }

    /// Of a cluster that is known by nothing else: by the first input that counts of the transaction that it is named
    /// after. Some ten rows read.
    pub(super) fn by_name(
        view: &View<'_>,
        owners: &mut Owners,
        (holder, sats): (Holder, Sats),
    ) -> Result<Self, ApiError> {
        let (script, bytes, root) = match holder {
            Holder::Script(script) => {
                let missing = || lacks::<TotalsTable>(format!("script {script:?}"));
                (script, view.scripts().bytes_of(script)?.ok_or_else(missing)?, None)
            }
            Holder::Cluster(root) => {
                let coins = view.transactions().inputs(&tx(view, root)?)?;
                let missing = || lacks::<BlockLog>(format!("inputs of transaction {}", root.0));
                let coin = coins.iter().find(|coin| counts(coin)).ok_or_else(missing)?;
                (coin.script, view.transactions().script_at(coin.outpoint)?, Some(txid(view, root)?))
            }
        };
        let standings = view.labels().standings(&[script])?;
        Ok(CoinHolder {
            kind: if root.is_some() { "cluster" } else { "script" },
            cluster_root_txid: root,
            address: name_of(&bytes, view),
            owner: owners.judge(view, standings.iter().map(|standing| (standing, sats)))?.owner,
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Name of the entity that it counts as, for tables.
    pub(super) fn entity(&self) -> String {
        self.owner.as_ref().map_or_else(String::new, |owner| owner.as_owner().0.to_owned())
    }
}

/// A transaction that rows name.
pub(super) fn tx(view: &View<'_>, tx_num: TxNum) -> Result<StoredTx, ApiError> {
    Ok(view.transactions().get(tx_num)?.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?)
}

/// The block of a transaction that rows name, with its height.
pub(super) fn block_of<'v>(view: &'v View<'_>, tx_num: TxNum) -> Result<(Height, &'v Brief), ApiError> {
    let chain = view.chain();
    let found = chain.height_of(tx_num).and_then(|height| Some((height, chain.get(height)?)));
    Ok(found.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?)
}

/// The id of a transaction that rows name.
pub(super) fn txid(view: &View<'_>, tx_num: TxNum) -> Result<String, ApiError> {
    let found =
        view.transactions().txid(tx_num)?.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?;
    Ok(found.0.to_string())
}
