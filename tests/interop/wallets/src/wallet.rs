//! BDK's wallet over a server: it scans, receives, spends, raises fees, and follows reorganizations. After each step it
//! has the coins of the node.

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant, SystemTime},
};

use bdk_electrum::{BdkElectrumClient, electrum_client::Client};
use bdk_esplora::{EsploraExt, esplora_client::BlockingClient};
use bdk_wallet::{
    KeychainKind, SignOptions, Update, Wallet,
    bitcoin::{
        Address, Amount, FeeRate, Network, Psbt, ScriptBuf, Transaction, Txid, absolute::LockTime, bip32::Xpriv,
    },
    chain::{
        Anchor, ChainPosition,
        spk_client::{FullScanRequest, SyncRequest},
    },
};
use serde_json::json;

use crate::{
    Result,
    node::{Coins, Node, sats_of},
};

const KEY: &str =
    "tprv8ZgxMBicQKsPdy6LMhUtFHAgpocR8GC6QmwMSFpZs7h6Eziw3SpThFfczTDh5rW2krkqffa11UpX3XkeTTB2FvzZKWXqPY54Y6Rq4AQ5R8L";
/// Receiving addresses that are used before the scan.
const USED: u32 = 60;
const GAP: usize = 20;
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A protocol that the wallet uses.
pub trait Server {
    /// How many blocks may replace nine. `bdk_electrum` leaves its chain as it is while the server's is shorter.
    fn fewest_instead_of_nine(&self) -> u64;
    fn scan(&self, request: FullScanRequest<KeychainKind>) -> Result<Update>;
    fn sync(&self, request: SyncRequest<(KeychainKind, u32)>) -> Result<Update>;
    fn send(&self, transaction: &Transaction) -> Result<()>;
}

impl Server for BdkElectrumClient<Client> {
    fn fewest_instead_of_nine(&self) -> u64 {
        9
    }

    fn scan(&self, request: FullScanRequest<KeychainKind>) -> Result<Update> {
        Ok(self.full_scan(request, GAP, 25, true)?.into())
    }

    fn sync(&self, request: SyncRequest<(KeychainKind, u32)>) -> Result<Update> {
        Ok(self.sync(request, 25, true)?.into())
    }

    fn send(&self, transaction: &Transaction) -> Result<()> {
        assert_eq!(self.transaction_broadcast(transaction)?, transaction.compute_txid());
        Ok(())
    }
}

impl Server for BlockingClient {
    fn fewest_instead_of_nine(&self) -> u64 {
        3
    }

    fn scan(&self, request: FullScanRequest<KeychainKind>) -> Result<Update> {
        Ok(self.full_scan(request, GAP, 4)?.into())
    }

    fn sync(&self, request: SyncRequest<(KeychainKind, u32)>) -> Result<Update> {
        Ok(EsploraExt::sync(self, request, 4)?.into())
    }

    fn send(&self, transaction: &Transaction) -> Result<()> {
        Ok(self.broadcast(transaction)?)
    }
}

/// A wallet of its own for each server.
pub struct Run<'a> {
    node: &'a Node,
    server: &'a dyn Server,
    wallet: Wallet,
    descriptors: Vec<String>,
    scripts: BTreeSet<ScriptBuf>,
    pub steps: u32,
}

impl<'a> Run<'a> {
    /// Pays to the first addresses of a wallet, of the account `account`.
    pub fn new(node: &'a Node, server: &'a dyn Server, account: u32) -> Result<Self> {
        let branch = |index: u32| format!("wpkh({KEY}/84h/1h/{account}h/{index}/*)");
        let wallet = Wallet::create(branch(0), branch(1)).network(Network::Regtest).create_wallet_no_persist()?;
        let keychains = [KeychainKind::External, KeychainKind::Internal];
        let descriptors = keychains.map(|keychain| wallet.public_descriptor(keychain).to_string()).to_vec();
        let peek = |keychain| (0..=300).map(move |index| (keychain, index));
        let scripts = keychains.into_iter().flat_map(peek);
        let scripts = scripts.map(|(keychain, at)| wallet.peek_address(keychain, at).address.script_pubkey()).collect();
        for index in 0..USED {
            let address = wallet.peek_address(KeychainKind::External, index).address.to_string();
            node.pay(&address, 100_000 + u64::from(index))?;
            if index % 10 == 9 {
                node.mine(1)?;
            }
        }
        Ok(Self { node, server, wallet, descriptors, scripts, steps: 0 })
    }

    /// Runs all of it; returns the number of transactions that the wallet has in the end.
    pub fn all(&mut self) -> Result<usize> {
        self.scan()?;
        self.payments()?;
        self.reorganizations()?;
        Ok(self.wallet.transactions().count())
    }

    fn scan(&mut self) -> Result<()> {
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            let request = self.wallet.start_full_scan().build();
            self.wallet.apply_update(self.server.scan(request)?)?;
            match self.difference()? {
                None => break,
                Some(difference) if Instant::now() > deadline => return Err(format!("scan: {difference}").into()),
                Some(_) => thread::sleep(Duration::from_millis(300)),
            }
        }
        assert_eq!(self.wallet.derivation_index(KeychainKind::External), Some(USED - 1));
        self.steps += 1;
        Ok(())
    }

    fn payments(&mut self) -> Result<()> {
        let address = self.wallet.reveal_next_address(KeychainKind::External).address;
        self.node.pay(&address.to_string(), 150_000_000)?;
        self.same("received, unconfirmed")?;
        let own = self.wallet.reveal_next_address(KeychainKind::External).address;
        self.pay(&own, 120_000_000, 3)?;
        self.same("an unconfirmed coin spent")?;
        self.node.mine(1)?;
        self.same("both confirmed")?;

        let to = self.foreign()?;
        let first = self.pay(&to, 30_000_000, 2)?;
        self.same("spent")?;
        let mut last = first;
        for rate in [10, 25] {
            let mut builder = self.wallet.build_fee_bump(last)?;
            builder.fee_rate(FeeRate::from_sat_per_vb(rate).ok_or("feerate")?);
            let psbt = builder.finish()?;
            last = self.sign_and_send(psbt)?;
            self.same("fee raised")?;
            assert!(self.wallet.get_tx(first).is_none() && self.node.mempool()?.contains(&last));
        }
        self.node.mine(1)?;
        self.same("the one with the higher fee confirmed")
    }

    fn reorganizations(&mut self) -> Result<()> {
        let address = self.wallet.reveal_next_address(KeychainKind::External).address;
        let received = self.node.pay(&address.to_string(), 70_000_000)?;
        self.same("received")?;
        let to = self.foreign()?;
        let spent = self.pay(&to, 10_000_000, 4)?;
        let block = self.node.mine(1)?;
        self.same("both in a block")?;
        self.node.replace(&block, 2, &[])?;
        self.same("two empty blocks in its place")?;
        assert!([received, spent].iter().all(|txid| self.height_of(*txid) == Some(0)));
        self.node.mine(1)?;
        self.same("mined in the new branch")?;

        let block = self.node.mine(1)?;
        for at in 0..8 {
            let address = self.wallet.reveal_next_address(KeychainKind::External).address;
            self.node.pay(&address.to_string(), 1_000_000 + at)?;
            self.node.mine(1)?;
        }
        self.same("eight payments in eight blocks")?;
        self.node.replace(&block, self.server.fewest_instead_of_nine(), &[])?;
        self.same("empty blocks in their place, and they wait")?;
        self.node.mine(9)?;
        self.same("a branch longer than the old one")?;

        let coin = &self.node.call("listunspent", json!([100]))?[0];
        let sats = sats_of(coin)? - 10_000;
        let address = self.wallet.reveal_next_address(KeychainKind::External).address;
        let lost = self.node.spend(coin, &address.to_string(), sats)?;
        let other = self.node.spend(coin, &self.node.address()?, sats)?;
        self.server.send(&lost)?;
        self.same("received over the server")?;
        let block = self.node.mine(1)?;
        self.same("and confirmed")?;
        self.node.replace(&block, 2, &[&other])?;
        self.same("its coins spent elsewhere by the new branch")?;
        assert!(self.height_of(lost.compute_txid()).is_none());
        Ok(())
    }

    fn foreign(&self) -> Result<Address> {
        Ok(self.node.address()?.parse::<Address<_>>()?.require_network(Network::Regtest)?)
    }

    fn pay(&mut self, to: &Address, sats: u64, rate: u64) -> Result<Txid> {
        let mut builder = self.wallet.build_tx();
        builder.add_recipient(to.script_pubkey(), Amount::from_sat(sats));
        // A height would keep it out of a shorter chain.
        builder.nlocktime(LockTime::ZERO);
        builder.fee_rate(FeeRate::from_sat_per_vb(rate).ok_or("feerate")?);
        let psbt = builder.finish()?;
        self.sign_and_send(psbt)
    }

    fn sign_and_send(&mut self, mut psbt: Psbt) -> Result<Txid> {
        let key: Xpriv = KEY.parse()?;
        psbt.sign(&key, self.wallet.secp_ctx()).map_err(|(_, errors)| format!("not signed: {errors:?}"))?;
        assert!(self.wallet.finalize_psbt(&mut psbt, SignOptions::default())?);
        let transaction = psbt.extract_tx()?;
        self.server.send(&transaction)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
        let txid = transaction.compute_txid();
        self.wallet.apply_unconfirmed_txs([(transaction, now)]);
        Ok(txid)
    }

    /// The height of a transaction as the wallet knows it: 0 if it waits.
    fn height_of(&self, txid: Txid) -> Option<u64> {
        self.wallet.get_tx(txid).map(|known| height(&known.chain_position))
    }

    /// Says how the wallet differs from the node.
    fn difference(&self) -> Result<Option<String>> {
        let coins = self.wallet.list_unspent();
        let coins = coins.map(|coin| (coin.outpoint, (coin.txout.value.to_sat(), height(&coin.chain_position))));
        let (coins, expected) = (coins.collect::<Coins>(), self.node.coins(&self.descriptors, &self.scripts)?);
        let (tip, balance) =
            (u64::from(self.wallet.latest_checkpoint().height()), self.wallet.balance().total().to_sat());
        let sum: u64 = expected.values().map(|(value, _)| value).sum();
        let same = coins == expected && balance == sum && tip == self.node.height()?;
        Ok((!same).then(|| format!("coins {coins:?}, expected {expected:?}; balance {balance}, {sum}; tip {tip}")))
    }

    /// Asks the server until the wallet has what the node has.
    fn same(&mut self, step: &str) -> Result<()> {
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            let request = self.wallet.start_sync_with_revealed_spks().build();
            let update = self.server.sync(request).map_err(|error| format!("{step}: {error}"))?;
            self.wallet.apply_update(update)?;
            match self.difference()? {
                None => break,
                Some(difference) if Instant::now() > deadline => return Err(format!("{step}: {difference}").into()),
                Some(_) => thread::sleep(Duration::from_millis(300)),
            }
        }
        self.steps += 1;
        Ok(())
    }
}

fn height<A: Anchor>(position: &ChainPosition<A>) -> u64 {
    position.confirmation_height_upper_bound().map_or(0, u64::from)
}
