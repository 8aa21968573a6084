//! A stand-in for a Bitcoin Core node (v25 to v31) in tests: real HTTP with JSON-RPC and REST, real ZMQ sockets, over a
//! generated chain in memory, with a script that decides what happens and faults on command.
//!
//! ```
//! use cairn_standin::{HttpFault, HttpRule, Match, Payment, Restart, StandIn, StandInOptions, When};
//!
//! # fn main() -> Result<(), cairn_standin::Error> {
//! let mut node = StandIn::start(StandInOptions { premine: 110, ..StandInOptions::default() })?;
//! // A client would use node.url(), node.cookie_file() and node.zmq_addresses().
//! let payment = node.world().send(&Payment::at(5_000))?;
//! let better = node.world().replace(&payment, 20_000)?;
//! node.world().mine(2)?;
//! node.world().reorg(1, 2)?;
//! // The next getblock finds another chain than the request before it did.
//! node.at_request(Match::Rpc("getblock"), When::Before, 0, |world| {
//!     let _ = world.reorg(3, 4);
//! });
//! node.http_faults(7, vec![HttpRule::times(2, Match::Any, HttpFault::WarmUp("Verifying blocks…"))]);
//! node.restart(&Restart::default())?;
//! assert_ne!(payment, better);
//! assert_eq!(node.world().height(), 113);
//! # Ok(()) }
//! ```
//!
//! # The parts
//!
//! * [`StandIn`] is the running node: addresses, cookie, stop and restart, faults.
//! * [`World`], through [`StandIn::world`], is what happens: mining, forks, reorganizations, `invalidateblock`, the
//!   mempool, a wallet with payments of every output type, replacements, CPFP, conflicts; being behind, pruned, on
//!   another network. It also has the true state, for the oracle: [`World::active`], [`World::pool`],
//!   [`World::muhash`].
//! * [`ZmqRule`] and [`HttpRule`] say what goes wrong, always, once, or by chance with a seed.
//!   [`StandIn::at_request`] changes the world in the middle of a request.
//!
//! Equal seeds and equal calls give equal chains, transactions and faults (messages of HTTP requests that run side by
//! side apart). With [`StandInOptions::time`] set, nothing depends on the clock.
//!
//! # What is as with Core
//!
//! * RPC: `getblockchaininfo`, `getnetworkinfo`, `getbestblockhash`, `getblockcount`, `getblockhash`, `getblockheader`,
//!   `getblock` (verbosity 0 to 3), `getchaintips`, `getdifficulty`, `gettxout`, `gettxoutsetinfo` (`muhash`, `none`;
//!   any active block with `coinstatsindex`), `getrawtransaction`, `getrawmempool`, `getmempoolinfo`,
//!   `getmempoolentry`, `getmempoolancestors`, `getmempooldescendants`, `testmempoolaccept`, `sendrawtransaction`,
//!   `submitblock`, `getblocktemplate`, `invalidateblock`, `reconsiderblock`, `getzmqnotifications`, `getindexinfo`,
//!   `uptime`; parameters by position or name; JSON-RPC 1.0, and 2.0 from v28 on; batches, whose calls run one by one;
//!   HTTP status and error codes; amounts with eight decimals.
//! * Wallets ([`World::create_wallet`], at `/wallet/<name>`): `getwalletinfo`, `getbalances`, `listunspent`,
//!   `walletcreatefundedpsbt`, `walletprocesspsbt`, `finalizepsbt`, with the codes −4, −13, −18 and −19. Coins are
//!   P2WPKH; PSBTs and signatures are real ones. Given inputs may be spent in the mempool, so that a replacement can
//!   be made.
//! * REST: `block`, `block/notxdetails`, `headers`, `blockhashbyheight`, `tx`, `mempool/info`, `mempool/contents`,
//!   `chaininfo`, and `spenttxouts` from v30 on.
//! * ZMQ: `hashblock`, `rawblock`, `hashtx`, `rawtx`, `sequence`; three parts, hashes as printed, a number for each
//!   topic that starts at 0 with the node. `hashtx` and `rawtx` announce transactions that enter the mempool and of
//!   those in blocks connected or disconnected. Tips (`hashblock`, `rawblock`) are announced once for each step of
//!   Core's chain activation, not for each block of a reorganization, and not at all during the initial block download
//!   or where blocks are only taken off.
//! * The mempool sequence starts at 1; every addition and every removal takes a number. A removal because of a block
//!   has no message, so that the numbers of A and R then jump. `getrawmempool` gives the number that comes next.
//! * In a reorganization the messages come in Core's order: D for each block taken off (highest first); R for what the
//!   new blocks exclude; A for what is unconfirmed again; R for what is not valid any more; C for each new block; the
//!   tip. `invalidateblock` returns the transactions of ten blocks at most.
//! * A block is checked (proof of work, merkle root, witness commitment, coins, maturity, values, lock times), and so
//!   is a transaction (the same and fees, chain or cluster limits, BIP 125, full replacement from v28 on).
//! * [`World::template`] and `getblocktemplate` choose by ancestor fee rate, as Core does up to v30.
//!
//! # What is not
//!
//! * Scripts are not executed and standardness is not checked, as if with `-acceptnonstdtxn`; there are no rules for
//!   version 3 transactions and no packages, and `testmempoolaccept` judges each transaction alone.
//! * Wallets choose their largest coins first, or their smallest ones, and change comes last. They lock no coins, have
//!   no history, and their names are not percent-decoded.
//! * Memory used by the mempool is an estimate; its minimum fee rate does not fall with time; the pool for the
//!   transactions of disconnected blocks has no limit. The template of v31 (by clusters) may differ from the one here.
//! * `initialblockdownload` is what [`World::set_ibd`] says, however old the tip is. A node that is behind knows the
//!   count of the headers ahead, not the headers.
//! * HTTP requests with a chunked body are refused.
//! * Signet, testnet and mainnet consist of their genesis blocks.

mod dispatch;
mod error;
mod http;
mod mempool;
mod node;
mod notice;
mod options;
mod rest;
mod rpc;
mod stand_in;
mod state;
mod stored;
mod world;
mod zmq;

pub use crate::zmq::{ZmqFault, ZmqRule};
pub use error::Error;
pub use http::{HttpFault, HttpRule, Match, When};
pub use mempool::{Reject, RejectKind};
pub use options::{Auth, Source, StandInOptions, Topic, ZmqOptions};
pub use stand_in::{Restart, StandIn};
pub use world::{BlockPlan, Payment, PoolTx, Txs, World};
