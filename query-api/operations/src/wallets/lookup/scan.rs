//! Which scripts of a wallet are used.

use std::collections::HashSet;

use cairn_domain::{address_of, script_sha256};
use cairn_http::{FieldError, Location};
use cairn_keys::Branch;

use super::super::Wallet;
use crate::{context::MempoolView, operation::prelude::*, parameters::descriptor::DescriptorParam};

/// Scripts that are looked at, of all branches together.
const MAX_SCRIPTS: u32 = 20_000;
const MAX_BRANCHES: usize = 64;

#[derive(Clone, Copy)]
pub(super) enum BranchEnd {
    /// After this many consecutive scripts that are not used.
    Gap(u32),
    /// With this first and last index.
    Range(u32, u32),
}

pub(super) struct UsedScript {
    /// The branch in the answer.
    pub(super) branch: usize,
    pub(super) index: u32,
}

/// The used scripts of a wallet.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) branches: Vec<BranchRow>,
    /// Each script once, by branch and index.
    pub(super) wallets: Vec<Wallet>,
    /// Where each is.
    pub(super) used: Vec<UsedScript>,
    looked_at: u32,
}

/// A sequence of addresses.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WalletBranch")]
pub(super) struct BranchRow {
    /// Position of the descriptor or key in the request, from 0.
    item: u32,
    /// Last step of the path before the index: by BIP 44, 0 is for receiving and 1 for change. Null without a path.
    step: Option<u32>,
    /// Script type as Bitcoin Core names it.
    script_type: &'static str,
    /// False if the descriptor stands for a single script.
    is_ranged: bool,
    /// Number of scripts that were looked up.
    scanned: u32,
    /// Number of scripts that a transaction funds, confirmed or not.
    used: u32,
    /// Index after the last used one, unused as far as this server knows. Null for a single script, or if the index was
    /// not looked up.
    next_index: Option<u32>,
    /// Address at `next_index`.
    next_address: Option<String>,
}

impl Scan {
    /// Looks at one descriptor or key.
    pub(super) fn add(
        &mut self,
        (ctx, view): (&Ctx<'_>, &View<'_>),
        pool: Option<&MempoolView<'_>>,
        (item, text, end): (usize, &DescriptorParam, BranchEnd),
    ) -> Result<(), ApiError> {
        let refused = |error: cairn_http::BadText| refuse(item, error.code, error.message);
        let branches = text.branches(view.network()).map_err(refused)?;
        let mut seen: HashSet<[u8; 32]> = self.wallets.iter().map(|wallet| wallet.script_hash).collect();
        for branch in branches {
            if self.branches.len() >= MAX_BRANCHES {
                let message = format!("all together have more than {MAX_BRANCHES} branches; ask for fewer at a time");
                return Err(ApiError::validation(Location::Body, "wallet", message));
            }
            let branch = branch.prepared().map_err(|error| refuse(item, None, error.to_string()))?;
            self.branch((ctx, view), pool, (item, &branch, end), &mut seen)?;
        }
        Ok(())
    }

    fn branch(
        &mut self,
        (ctx, view): (&Ctx<'_>, &View<'_>),
        pool: Option<&MempoolView<'_>>,
        (item, branch, end): (usize, &Branch, BranchEnd),
        seen: &mut HashSet<[u8; 32]>,
    ) -> Result<(), ApiError> {
        let (mut index, last) = match end {
            _ if !branch.has_wildcard() => (0, Some(0)),
            BranchEnd::Range(first, last) => (first, Some(last)),
            BranchEnd::Gap(_) => (0, None),
        };
        let mut row = BranchRow {
            item: u32::try_from(item).unwrap_or(u32::MAX),
            step: branch.step(),
            script_type: "unknown",
            is_ranged: branch.has_wildcard(),
            scanned: 0,
            used: 0,
            next_index: branch.has_wildcard().then_some(index),
            next_address: None,
        };
        let (mut unused, mut is_fresh) = (0, true);
        loop {
            let is_over = match (last, end) {
                (Some(last), _) => index > last,
                (None, BranchEnd::Gap(gap)) => unused >= gap,
                (None, BranchEnd::Range(..)) => true,
            };
            // The last index that is not hardened.
            if is_over || index > i32::MAX.cast_unsigned() {
                break;
            }
            ctx.work.poll()?;
            self.looked_at += 1;
            if self.looked_at > MAX_SCRIPTS {
                let message = format!(
                    "has more than {MAX_SCRIPTS} scripts to look at; ask for fewer at a time, or with a smaller gap_limit or range"
                );
                return Err(ApiError::validation(Location::Body, "wallet", message));
            }
            let script = branch.script(index).map_err(|error| refuse(item, None, error.to_string()))?;
            let wallet = wallet_of(view, script.into_bytes())?;
            if row.scanned == 0 {
                row.script_type = wallet.script_type();
            }
            row.scanned += 1;
            let is_used = wallet.found.is_some() || waits(pool, &wallet.script_hash);
            if is_used {
                (row.used, unused) = (row.used + 1, 0);
                // The next one is known once it has been looked at.
                (row.next_index, row.next_address, is_fresh) = (None, None, true);
                if seen.insert(wallet.script_hash) {
                    self.used.push(UsedScript { branch: self.branches.len(), index });
                    self.wallets.push(wallet);
                }
            } else {
                unused += 1;
                if branch.has_wildcard() && std::mem::take(&mut is_fresh) {
                    (row.next_index, row.next_address) = (Some(index), wallet.own_address);
                }
            }
            index += 1;
        }
        self.branches.push(row);
        Ok(())
    }
}

/// True if an unconfirmed transaction funds the script, or spends from it.
fn waits(pool: Option<&MempoolView<'_>>, script_hash: &[u8; 32]) -> bool {
    pool.is_some_and(|pool| pool.mempool.script_totals(script_hash).tx_count > 0)
}

/// A row read, which the filter saves for nearly every script that is not used.
fn wallet_of(view: &View<'_>, script: Vec<u8>) -> Result<Wallet, ApiError> {
    let found = view.scripts().find(&script)?;
    let own_address = address_of(&script, view.network());
    let script_hash = script_sha256(&script);
    // As a script without an address is asked for, and named as a showcase.
    let address = own_address.clone().unwrap_or_else(|| format!("scripthash:{}", hex::encode(script_hash)));
    Ok(Wallet { address, own_address, script_hash, script: Some(script), found })
}

/// An error of one descriptor or key.
fn refuse(item: usize, code: Option<ErrorCode>, message: String) -> ApiError {
    let field =
        FieldError { location: Location::Body, name: format!("wallet[{item}]"), message, allowed: None, example: None };
    ApiError::of_fields(code.unwrap_or(ErrorCode::InvalidDescriptor), vec![field])
}
