//! Measured precision and recall of the detectors, as sentences for their definitions. A test measures them and records
//! the files again (`CAIRN_UPDATE_DOCS=1`).

/// Of `coinjoin_participation`.
pub const COINJOIN_PARTICIPATION: &str = include_str!("measured/coinjoin_participation.txt");
/// Of `peel_chain`.
pub const PEEL_CHAIN: &str = include_str!("measured/peel_chain.txt");
/// Of `address_reuse`.
pub const ADDRESS_REUSE: &str = include_str!("measured/address_reuse.txt");
/// Of `rapid_pass_through`.
pub const RAPID_PASS_THROUGH: &str = include_str!("measured/rapid_pass_through.txt");
/// Of `fan_in`.
pub const FAN_IN: &str = include_str!("measured/fan_in.txt");
/// Of `fan_out`.
pub const FAN_OUT: &str = include_str!("measured/fan_out.txt");
/// Of `dust_recipient`.
pub const DUST_RECIPIENT: &str = include_str!("measured/dust_recipient.txt");
/// Of `mixer_exposure`.
pub const MIXER_EXPOSURE: &str = include_str!("measured/mixer_exposure.txt");
/// Of `sanctioned_indirect`.
pub const SANCTIONED_INDIRECT: &str = include_str!("measured/sanctioned_indirect.txt");
/// How often the detectors fire in real blocks.
pub const REAL_BLOCKS: &str = include_str!("measured/real_blocks.txt");
