//! The types that every part of Cairn shares: heights, transaction numbers, amounts, script ids and
//! the blocks that flow from a source through the journal into the stages; and the token that cancels work. No I/O.

mod amount;
mod block;
mod cancel;
mod each_once;
mod ids;
pub mod leb128;
mod mempool;
mod muhash;
mod network;
mod signet;
mod source_status;
mod template;
mod time;
mod trouble;
mod words;

pub use amount::{BadAmount, MAX_MONEY, parse_btc};
pub use block::{Block, FilePos, InputFlags, OutputMeta, Overwritten, SpentCoin, TxMeta};
pub use cancel::{CancelOnDrop, CancelToken, Cancelled};
pub use each_once::each_once;
pub use ids::{BlockHash, Height, Outpoint, Sats, ScriptId, ScriptPrefix, TxNum, Txid, is_unspendable};
pub use mempool::{
    BYTES_PER_SIGOP, BadMempoolBytes, MAX_DELTA_BYTES, MempoolDelta, MempoolInput, MempoolOutput, MempoolSample,
    MempoolTx, NodeFloor, RemoveReason,
};
pub use muhash::{MuHash, MuHashDigest, coin_bytes};
pub use network::{Network, UnknownNetwork};
pub use signet::{BadChallenge, ChainParams, MAX_CHALLENGE_BYTES, SignetChallenge};
pub use source_status::{MempoolWatch, News, SourceKind, SourceStatus};
pub use template::{ScriptTemplate, is_key, pay_to_key};
pub use time::{DAY_SECS, MonoTime, date, date_of, day_of, last_second, rfc3339};
pub use trouble::{Part, Trouble, one_line};
