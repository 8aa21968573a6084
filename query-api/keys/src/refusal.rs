//! Why a text is not taken. No variant holds any part of the text.

use thiserror::Error;

/// Longest text in bytes: a descriptor with 20 keys and their origins has some 3,500.
pub const MAX_BYTES: usize = 8_192;
/// Branches that one text has at most.
pub const MAX_BRANCHES: usize = 16;
/// Longest script in bytes that can be spent.
pub(crate) const MAX_SCRIPT_BYTES: usize = 10_000;

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
    #[error("must have 1 to {} characters", MAX_BYTES)]
    Length,
    /// It has characters that no descriptor has.
    #[error("has characters that neither a descriptor nor a key has; descriptors are plain ASCII")]
    Letters,
    /// It has too many paths.
    #[error("stands for more than {} branches; give fewer alternatives in <…>", MAX_BRANCHES)]
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
    /// The text is not a descriptor.
    #[error(
        "is neither an output descriptor nor an extended public key; descriptors are pk, pkh, wpkh, sh, wsh, tr, rawtr, multi, \
         sortedmulti, combo, addr and raw with public keys (BIP 380 to 387, 389, 390), keys are xpub, ypub, zpub and those of test networks"
    )]
    Unknown,
    /// A function that no descriptor has.
    #[error(
        "has a function or an argument that descriptors do not have; functions are pk, pkh, wpkh, sh, wsh, tr, rawtr, multi, sortedmulti, \
         multi_a, sortedmulti_a, musig, combo, addr and raw, and those of miniscript inside wsh and tr (BIP 379)"
    )]
    Function,
    /// A function where it must not be.
    #[error(
        "has a function where it is not allowed: sh, wsh, wpkh, tr, rawtr, combo, addr and raw stand outermost, wsh and wpkh also in sh; multi and \
         sortedmulti outermost, in sh or in wsh; multi_a and sortedmulti_a in tr; musig in tr and rawtr, not in another musig"
    )]
    Place,
    /// Miniscript outside of `wsh` and `tr`.
    #[error("has a miniscript expression outside of wsh and tr; only these two take miniscript (BIP 379)")]
    OutsideWitness,
    /// Its parentheses do not fit together.
    #[error("has parentheses or commas that do not fit together; a part may be missing: copy it again")]
    Parentheses,
    /// A function has too many or too few arguments.
    #[error(
        "has a function with too many or too few arguments; pk, pkh, wpkh, combo and rawtr take one key, tr a key and at most one tree"
    )]
    Arguments,
    /// No key where one must be.
    #[error("has no key where a key must be; give a public key or an extended public key")]
    NoKey,
    /// A key is damaged, or something else stands in its place.
    #[error(
        "has a damaged key, or something else where a key must be; public keys have 66 hex digits from 02 or 03 (130 from 04 in pk, pkh and sh; \
         64 in tr and rawtr), extended ones begin with xpub or tpub: copy it again"
    )]
    Key,
    /// An uncompressed key where segregated witness allows none.
    #[error(
        "has an uncompressed key (130 hex digits from 04) inside wpkh, wsh, tr, rawtr or musig; these take compressed keys only"
    )]
    Uncompressed,
    /// A key of 32 bytes outside of Taproot.
    #[error("has an x-only key (64 hex digits) outside of tr and rawtr; give the compressed key with 66 hex digits")]
    XOnly,
    /// The origin of a key is malformed.
    #[error(
        "has a key with a malformed origin; it is [fingerprint/steps] with a fingerprint of 8 hex digits, for example [d34db33f/84h/0h/0h]"
    )]
    Origin,
    /// A path after a key that is not extended.
    #[error("has a path after a key that is not extended; only xpub and tpub have paths")]
    NoPath,
    /// A step is not a number.
    #[error("has a path with a step that is not a number from 0 to 2147483647, written in digits only")]
    Step,
    /// A step after the wildcard.
    #[error("has a step after *, which must be the last one, or more than one *; for example xpub…/0/*")]
    AfterWildcard,
    /// A path is too long.
    #[error("has a path that leads deeper than the 255 steps of BIP 32")]
    Depth,
    /// Alternatives of a path are malformed.
    #[error(
        "has alternatives in <…> that are not two or more different numbers with ; between them, or twice in one key (BIP 389); for example <0;1>"
    )]
    Alternatives,
    /// Keys have different numbers of alternatives.
    #[error("has keys with different numbers of alternatives in <…>; each key has the same number, or none (BIP 389)")]
    Lengths,
    /// A threshold is impossible.
    #[error(
        "has a threshold of 0, above the number of keys or conditions, or that is not a number; it must be from 1 to their number"
    )]
    Threshold,
    /// Too many keys.
    #[error(
        "has too many keys in a multisig; at most 3 outermost, 20 in wsh, 999 in tr, and in sh as many as fit into 520 bytes (15 compressed ones)"
    )]
    KeyCount,
    /// A `musig` breaks a rule of BIP 390.
    #[error(
        "has steps after musig(…) that BIP 390 does not allow: they must not be hardened, and they need extended keys inside without * and, if they have \
         alternatives in <…>, without alternatives"
    )]
    Musig,
    /// A lock time or a hash that is malformed.
    #[error(
        "has a malformed lock time or hash; older and after take 1 to 2147483647, sha256 and hash256 64 hex digits, ripemd160 and hash160 40"
    )]
    Argument,
    /// The address in `addr` is malformed.
    #[error("has a malformed address in addr(…): its checksum or its content is wrong; copy it again")]
    Address,
    /// The script in `raw` is malformed.
    #[error("has no script in raw(…): it must be 1 to {} bytes as hex digits", MAX_SCRIPT_BYTES)]
    Raw,
    /// A miniscript expression is malformed.
    #[error("has a miniscript expression whose parts do not fit together, or that is too large or too deep (BIP 379)")]
    Miniscript,
    /// A miniscript expression is not safe.
    #[error("has a miniscript expression that is not safe: {0} (BIP 379)")]
    Unsafe(Flaw),
}

/// Why a miniscript expression is not safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Flaw {
    /// Somebody else can spend.
    #[error("it can be spent without a signature")]
    NoSignature,
    /// Third parties can change the witness.
    #[error("others can change its witness")]
    Malleable,
    /// Lock times of both kinds.
    #[error("it mixes lock times in blocks with those in seconds")]
    LockTimes,
    /// A key twice.
    #[error("it has a key twice")]
    RepeatedKey,
    /// It exceeds limits.
    #[error("spending it can exceed the limits of nodes")]
    Limits,
    /// Nothing satisfies it.
    #[error("it can never be spent")]
    Unsatisfiable,
}
