//! L402 for a server that sells single requests: a challenge has a macaroon and a Lightning invoice, and the macaroon
//! with the preimage of the invoice opens one request. Bytes in, bytes out: no clock, no network, no storage. That a
//! credential opens its request only once is up to the caller, who has the row of the challenge.
//!
//! The protocol is bLIP 26 (pull request 26 of lightning/blips, at d2a8c19) with its later text
//! in lightninglabs/L402 (protocol-specification.md at 8f5a269). The texts differ, and we take:
//!
//! - **Identifier:** 2 bytes of version (0, big-endian), 32 bytes of payment hash, 32 bytes of token id, as both say.
//!   bLIP 26 calls the last part the user identifier. The first LSAT text left the order of the version's bytes open.
//! - **Challenge:** bLIP 26 and LSAT have `macaroon=`, the later text has `version=` and `token=`. We send all of them.
//! - **Signature:** the later text computes the first HMAC with the root key itself. libmacaroons, go-macaroon and so
//!   aperture and lnd derive a key from it first (`macaroons-key-generator`), and so do we.
//! - **Preimage:** only from the header. The caveat `preimage=` of aperture's gRPC clients is skipped like any other
//!   caveat that is not ours, and their headers `Macaroon` and `Grpc-Metadata-Macaroon` are not read.
//! - **Invalid credentials:** both texts answer 401 and 402 in different places; this crate only gives the reason.
//! - **Several macaroons:** see [`Credentials::parse`].

mod binding;
mod caveats;
mod chain;
mod challenge;
mod credentials;
mod fields;
mod identifier;
mod macaroon;
mod mint;
mod secrets;
mod verify;

pub use binding::{Binding, BindingError, MAX_METHOD_BYTES, MAX_PATH_BYTES, body_hash};
pub use challenge::{InvoiceError, MAX_INVOICE_BYTES, challenge_header, legacy_challenge_header};
pub use credentials::{CredentialError, Credentials, MAX_AUTHORIZATION_BYTES, MAX_MACAROONS, is_l402};
pub use identifier::{Identifier, IdentifierError};
pub use macaroon::{Caveat, Full, MAX_BYTES, MAX_CAVEATS, Macaroon, MacaroonError, ThirdParty};
pub use mint::mint;
pub use secrets::{Preimage, PreimageError, RootKey};
pub use verify::{Refusal, Verified, verify};
