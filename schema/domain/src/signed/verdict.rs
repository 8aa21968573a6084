//! Results of a verification.

/// Result of the verification of a signed message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The signature is valid: its maker held the keys that the script asks for.
    Valid(SignedBy),
    /// The signature proves nothing: some check failed.
    Invalid(InvalidReason),
    /// The verifier does not know: it lacks a rule or data that the check needs. BIP 322 has the same third state.
    Inconclusive(InconclusiveReason),
}

cairn_model::words! {
    /// The format of a valid signature.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum SignedBy {
        /// A compact signature from which the key is recovered (BIP 137, and `signmessage` of Bitcoin Core).
        Bip137 = "bip137",
        /// A witness stack (BIP 322, "simple").
        Bip322Simple = "bip322_simple",
        /// A whole transaction (BIP 322, "full").
        Bip322Full = "bip322_full",
    }
    /// Its code in answers. Codes never change.
    pub fn code;
}

/// Why a signature is invalid. `Display` writes it as a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum InvalidReason {
    /// The text is not base64 with its padding.
    #[error("the signature is not base64")]
    Base64,
    /// The bytes are not in any of the formats, or not in the one that the prefix names.
    #[error("the bytes of the signature are not of a known format")]
    Format,
    /// The header of a BIP 137 signature names another type of address.
    #[error("the header of the signature belongs to another type of address")]
    Header,
    /// No public key fits a BIP 137 signature.
    #[error("no public key can be recovered from the signature")]
    Recovery,
    /// The key or script that is shown is not the one that the address commits to.
    #[error("the key or script of the signature is not that of the address")]
    NotOfAddress,
    /// The first input of `to_sign` does not spend the output of `to_spend`: the message or the address is another.
    #[error("the signature is of another message or another address")]
    Outpoint,
    /// `to_sign` does not have exactly one output, of value 0, with the script OP_RETURN.
    #[error("the transaction of the signature does not have the one output that BIP 322 asks for")]
    Outputs,
    /// The scriptSig is not empty where it must be, or has a push that is not minimal or too long.
    #[error("the scriptSig of the signature breaks a rule")]
    ScriptSig,
    /// The stack has not the elements that the script takes, or there is a witness where none belongs.
    #[error("the stack of the signature has not the elements that the script takes")]
    Stack,
    /// A signature is not in strict DER, has a high S, or has not the length of a Schnorr signature.
    #[error("the encoding of a signature breaks a rule")]
    Encoding,
    /// A signature does not sign all of the transaction.
    #[error("a signature has another hash type than ALL")]
    HashType,
    /// A public key is not a point of the curve, or not encoded as one.
    #[error("a public key is not valid")]
    PublicKey,
    /// A signature does not fit the message and the key.
    #[error("a signature does not fit the message and the key")]
    Signature,
}

/// Why a verification is inconclusive. `Display` writes it as a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum InconclusiveReason {
    /// The text of the signature is longer than [`MAX_SIGNATURE`](super::MAX_SIGNATURE).
    #[error("the signature is longer than this verifier reads")]
    SignatureTooLong,
    /// The message is longer than [`MAX_MESSAGE`](super::MAX_MESSAGE).
    #[error("the message is longer than this verifier reads")]
    MessageTooLong,
    /// The script is of a kind that is not checked in this format.
    #[error("scripts of this kind are not checked")]
    Script,
    /// The scriptSig of a script without script hash does more than push data.
    #[error("a scriptSig that does more than push data is not checked")]
    ScriptSig,
    /// An output of taproot is spent by a script.
    #[error("the script path of taproot is not checked")]
    ScriptPath,
    /// The witness of taproot has an annex, which has no meaning yet (BIP 341).
    #[error("the witness has an annex")]
    Annex,
    /// A script of segwit takes a key that is not compressed. No node relays such a spend.
    #[error("a script of segwit takes a key that is not compressed")]
    UncompressedKey,
    /// `to_sign` has a lock time or a sequence: the signature is valid only from a time or an age.
    #[error("the signature is valid only from a time or an age")]
    TimeLock,
    /// The version of `to_sign` is neither 0 nor 2.
    #[error("the transaction of the signature has a version without rules")]
    Version,
    /// Other outputs are spent too (a proof of funds), which only a set of unspent outputs can confirm.
    #[error("a proof of funds is not checked")]
    ProofOfFunds,
}

/// Why a signature is not valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// Some check failed.
    Invalid(InvalidReason),
    /// A rule or data is missing.
    Inconclusive(InconclusiveReason),
}

impl From<InvalidReason> for Failure {
    fn from(reason: InvalidReason) -> Self {
        Failure::Invalid(reason)
    }
}

impl From<InconclusiveReason> for Failure {
    fn from(reason: InconclusiveReason) -> Self {
        Failure::Inconclusive(reason)
    }
}

impl From<Result<SignedBy, Failure>> for Verdict {
    fn from(found: Result<SignedBy, Failure>) -> Self {
        match found {
            Ok(by) => Verdict::Valid(by),
            Err(Failure::Invalid(reason)) => Verdict::Invalid(reason),
            Err(Failure::Inconclusive(reason)) => Verdict::Inconclusive(reason),
        }
    }
}
