//! Why a text is not taken. No variant holds any part of the text.

use thiserror::Error;

/// Longest text in bytes: a descriptor with 20 keys and their origins has some 3,500.
pub const MOST_BYTES: usize = 8_192;
/// Branches that one text has at most.
pub const MOST_BRANCHES: usize = 16;

/// Why a text is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// It has a private key or a recovery phrase.
    #[error(
        "has a private key or a recovery phrase; give public keys only. It was not kept, but it has left your machine: move the \
         coins that it controls to new keys"
    )]
    PrivateKey,
    /// It is empty or too long.
    #[error("must have 1 to {} characters", MOST_BYTES)]
    Length,
    /// It has characters that no descriptor has.
    #[error("has characters that neither a descriptor nor a key has; descriptors are plain ASCII")]
    Letters,
    /// It has too many paths.
    #[error("stands for more than {} branches; give fewer alternatives in <…>", MOST_BRANCHES)]
    Branches,
    /// Its checksum is wrong.
    #[error(
        "has a wrong checksum (BIP 380): a character is mistyped or missing; copy it again, with the 8 characters after #"
    )]
    Checksum,
    /// A key is of another network.
    #[error("is of another network than this index")]
    Network,
    /// A step is hardened.
    #[error(
        "has a hardened step after a public key, which only the private key can take; give the extended public key that the \
         wallet exports for the account, with the steps before it as origin: [fingerprint/84h/0h/0h]xpub…/0/*"
    )]
    Hardened,
    /// An extended key is damaged.
    #[error("is not a valid extended public key: its checksum or its content is wrong; copy it again")]
    Extended,
    /// A path follows an extended key that stands alone.
    #[error(
        "has a path after an extended key, so it must be a descriptor, for example wpkh(xpub…/0/*); or give the key alone"
    )]
    Path,
    /// An extended key of a wallet with several signers.
    #[error(
        "is the key of one of several signers; give the descriptor of the whole wallet, for example wsh(sortedmulti(2,xpub…/<0;1>/*,xpub…/<0;1>/*))"
    )]
    Multisig,
    /// A descriptor with the prefixes of SLIP 132.
    #[error("has a key with a prefix such as ypub or zpub inside a descriptor; descriptors have xpub or tpub")]
    Prefix,
    /// It cannot be read.
    #[error(
        "is neither an output descriptor nor an extended public key; descriptors are pk, pkh, wpkh, sh, wsh, tr, rawtr, multi, \
         sortedmulti, combo, addr and raw with public keys (BIP 380 to 386, 389), keys are xpub, ypub, zpub and those of test networks"
    )]
    Unknown,
}
