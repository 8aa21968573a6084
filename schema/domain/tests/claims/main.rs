//! The judgement over claims: each rule, the answers' sentences, and properties against a slower second computation.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod cards;
mod oracle;
mod pages;
mod properties;
mod said;
mod votes;
mod words;
