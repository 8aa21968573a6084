//! Whether calls can be paid by x402, and the facilitator that carries the payments out.

use std::path::PathBuf;

use cairn_access::X402Settings;
use cairn_http::{X402Gate, looks_secret};
use cairn_x402::{Address, ConfigError, Credential, Eip712Name, HttpFacilitator, Network, OfferError, Timeouts};
use clap::{ArgAction, Args, ValueEnum};

use super::{
    private_key::{bare_key, text_of},
    state::Hidden,
    whole,
};
use crate::exit::Failure;

/// USDC on the default chain (Base), by its issuer's list of contracts.
const USDC_ON_BASE: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
/// The chain on which that contract is.
const BASE: Network = Network(8453);

/// The facilitator of x402, and the terms of payments.
#[derive(Args, Clone, Debug)]
pub(crate) struct X402 {
    /// URL of the facilitator that carries out x402 payments, for example http://127.0.0.1:4022. Default: calls are not
    /// sold by x402.
    #[arg(long, env = "CAIRN_X402_FACILITATOR", value_name = "URL")]
    x402_facilitator: Option<String>,
    /// File with the token that the facilitator asks for (`Authorization: Bearer`). Private keys are refused.
    #[arg(long, env = "CAIRN_X402_FACILITATOR_KEY_FILE", value_name = "FILE")]
    x402_facilitator_key_file: Option<PathBuf>,
    /// The token itself in place of a file. Set it in the environment or in cairn.toml: other users can see the command
    /// line.
    #[arg(long, env = "CAIRN_X402_FACILITATOR_KEY", value_name = "TOKEN", hide_env_values = true)]
    x402_facilitator_key: Option<Hidden>,
    /// Whether payments are settled. closed: calls are offered without a way to pay by x402.
    #[arg(long, env = "CAIRN_X402_SETTLEMENT", value_name = "WORD", value_enum, default_value = "closed")]
    x402_settlement: Settlement,
    /// Address that is paid: 0x and 40 hexadecimal digits.
    #[arg(long, env = "CAIRN_X402_PAY_TO", value_name = "ADDRESS")]
    x402_pay_to: Option<String>,
    /// The EVM chain of the payments: eip155: and its id. The default is Base.
    #[arg(long, env = "CAIRN_X402_NETWORK", value_name = "CHAIN", default_value = "eip155:8453")]
    x402_network: String,
    /// Contract of the token, which must implement EIP-3009. A token counts as a dollar. Default: USDC, on Base only.
    #[arg(long, env = "CAIRN_X402_ASSET", value_name = "ADDRESS")]
    x402_asset: Option<String>,
    /// Name of the token in its EIP-712 domain, as its contract has it.
    #[arg(long, env = "CAIRN_X402_ASSET_NAME", value_name = "NAME", default_value = "USD Coin")]
    x402_asset_name: String,
    /// Version of the token in its EIP-712 domain, as its contract has it.
    #[arg(long, env = "CAIRN_X402_ASSET_VERSION", value_name = "VERSION", default_value = "2")]
    x402_asset_version: String,
    /// Decimals of the token.
    #[arg(long, env = "CAIRN_X402_DECIMALS", value_name = "N", default_value = "6",
        value_parser = whole::<u8>(0..=18))]
    x402_decimals: u8,
    /// How long a payment may stay valid, in seconds.
    #[arg(long, env = "CAIRN_X402_MAX_TIMEOUT", value_name = "SECONDS", default_value = "60",
        value_parser = whole::<u32>(30..=600))]
    x402_max_timeout: u32,
    /// If true, payments that contract wallets sign are taken. Only the facilitator can verify them.
    #[arg(long, env = "CAIRN_X402_CONTRACT_WALLETS", value_name = "BOOL",
        default_value = "false", action = ArgAction::Set)]
    x402_contract_wallets: bool,
}

/// Whether payments are settled.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Settlement {
    /// Payments are settled.
    Open,
    /// Calls are offered without a way to pay.
    Closed,
}

impl X402 {
    /// Whether calls can be paid, by these settings.
    pub(crate) fn gate(&self) -> X402Gate {
        match (&self.x402_facilitator, self.x402_settlement) {
            (None, _) => X402Gate::Off,
            (Some(_), Settlement::Closed) => X402Gate::Closed,
            (Some(_), Settlement::Open) => X402Gate::Open,
        }
    }

    /// Returns the terms of payments and the facilitator; `None` if none is configured. The facilitator is not asked
    /// yet.
    ///
    /// # Errors
    /// Names the setting that is wrong.
    pub(crate) fn seller(&self) -> Result<Option<(X402Settings, HttpFacilitator)>, Failure> {
        let Some(url) = &self.x402_facilitator else {
            return match (&self.x402_pay_to, self.x402_settlement) {
                (None, Settlement::Closed) => Ok(None),
                _ => Err(Failure::usage("x402_facilitator is missing: payments by x402 need one")
                    .hint("set --x402-facilitator, CAIRN_X402_FACILITATOR or x402_facilitator")),
            };
        };
        let settings = self.terms()?;
        settings.check().map_err(x402_terms_failure)?;
        let credential = self.credential()?;
        let facilitator = HttpFacilitator::new(url, credential, Timeouts::default()).map_err(facilitator_failure)?;
        Ok(Some((settings, facilitator)))
    }

    fn terms(&self) -> Result<X402Settings, Failure> {
        let network: Network = self.x402_network.parse().map_err(x402_terms_failure)?;
        let asset = match &self.x402_asset {
            Some(asset) => asset,
            None if network == BASE => USDC_ON_BASE,
            None => {
                return Err(Failure::usage(format!("x402_asset is missing: the token on {network} is not known"))
                    .hint("set --x402-asset, and --x402-asset-name and --x402-asset-version to its EIP-712 domain"));
            }
        };
        let pay_to = self.x402_pay_to.as_deref().ok_or_else(|| {
            Failure::usage("x402_pay_to is missing: nobody would be paid")
                .hint("set --x402-pay-to, CAIRN_X402_PAY_TO or x402_pay_to to an address of yours")
        })?;
        Ok(X402Settings {
            network,
            asset: address("x402_asset", asset)?,
            domain: Eip712Name { name: self.x402_asset_name.clone(), version: self.x402_asset_version.clone() },
            decimals: self.x402_decimals,
            pay_to: address("x402_pay_to", pay_to)?,
            max_timeout_seconds: self.x402_max_timeout,
            contract_wallets: self.x402_contract_wallets,
            is_open: self.x402_settlement == Settlement::Open,
        })
    }

    fn credential(&self) -> Result<Option<Credential>, Failure> {
        let token = match (&self.x402_facilitator_key, &self.x402_facilitator_key_file) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage(
                    "x402_facilitator_key and x402_facilitator_key_file are both set; one is allowed",
                )
                .hint("remove one of them; `cairn config` shows where each was set"));
            }
            (Some(Hidden(token)), None) => token.clone(),
            (None, Some(path)) => text_of(path).map_err(|error| {
                Failure::usage(format!("x402_facilitator_key_file {}: {error}", path.display()))
                    .hint("name a readable text file with the token alone")
            })?,
            (None, None) => return Ok(None),
        };
        Credential::bearer(token.trim()).map(Some).map_err(facilitator_failure)
    }

    /// Refuses private keys and recovery phrases in place of a token or an address.
    ///
    /// # Errors
    /// Names the setting, not its value.
    pub(crate) fn refuse_private_keys(&self) -> Result<(), Failure> {
        let in_file = self.x402_facilitator_key_file.as_ref().and_then(|path| text_of(path).ok());
        let token = self.x402_facilitator_key.as_ref().map(|Hidden(text)| text);
        for (key, text) in [
            ("x402_facilitator_key", token),
            ("x402_facilitator_key_file", in_file.as_ref()),
            ("x402_facilitator", self.x402_facilitator.as_ref()),
            ("x402_pay_to", self.x402_pay_to.as_ref()),
            ("x402_asset", self.x402_asset.as_ref()),
        ] {
            if text.is_some_and(|text| looks_secret(text) || bare_key(text)) {
                let message = format!("{key} looks like a private key or a recovery phrase, which Cairn never takes");
                return Err(Failure::usage(message).hint(
                    "consider it as leaked. Cairn needs the address that is paid, and a token if the facilitator asks \
                     for one; the facilitator alone has a key, for the fees of the chain",
                ));
            }
        }
        Ok(())
    }
}

/// Reads an address. One in small and capital letters must have its checksum (EIP-55): money sent to a mistyped address
/// is lost.
fn address(key: &str, text: &str) -> Result<Address, Failure> {
    let wrong = |why: &str| {
        Failure::usage(format!("{key}: {why}")).hint(format!("set {key} to 0x and 40 hexadecimal digits, copied whole"))
    };
    let read: Address = text.trim().parse().map_err(|error| wrong(&format!("{error}")))?;
    let digits = text.trim().get(2..).unwrap_or_default();
    let is_mixed = digits.bytes().any(|b| b.is_ascii_lowercase()) && digits.bytes().any(|b| b.is_ascii_uppercase());
    if is_mixed && read.to_string() != text.trim() {
        return Err(wrong("the checksum in its capital letters (EIP-55) is wrong; a digit is mistyped"));
    }
    Ok(read)
}

/// Converts an error of terms, and names the settings.
pub(crate) fn x402_terms_failure(error: OfferError) -> Failure {
    let hint = match error {
        OfferError::Network => "correct --x402-network",
        OfferError::Name => "set --x402-asset-name and --x402-asset-version",
        OfferError::Timeout(_) => "raise --x402-max-timeout",
        OfferError::Zero => "raise --x402-decimals",
    };
    Failure::usage(error.to_string()).hint(hint)
}

fn facilitator_failure(error: ConfigError) -> Failure {
    let hint = match error {
        ConfigError::Url | ConfigError::ClearText => "correct --x402-facilitator",
        ConfigError::Credential => "correct --x402-facilitator-key-file or CAIRN_X402_FACILITATOR_KEY",
    };
    Failure::usage(error.to_string()).hint(hint)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::{super::Access, *};
    use crate::exit::Exit;

    const PAY_TO: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
    const KEY: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    const PHRASE: &str = "test test test test test test test test test test test junk";

    fn x402(flags: &[&str]) -> X402 {
        Access::of_flags(&[&["--x402-facilitator", "http://127.0.0.1:4022", "--x402-pay-to", PAY_TO], flags].concat())
            .x402
    }

    fn refused(flags: &[&str]) -> String {
        let failure = Access::of_flags(flags).x402.seller().unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        failure.to_string()
    }

    #[test]
    fn closed_unless_opened() {
        let off = Access::of_flags(&[]).x402;
        assert_eq!(off.gate(), X402Gate::Off);
        assert!(off.seller().unwrap().is_none());
        let closed = x402(&[]);
        assert_eq!(closed.gate(), X402Gate::Closed);
        let (settings, _) = closed.seller().unwrap().unwrap();
        assert!(!settings.is_open);
        let (network, asset) = (settings.network.to_string(), settings.asset.to_string());
        assert_eq!((network.as_str(), asset.as_str()), ("eip155:8453", USDC_ON_BASE));
        let open = x402(&["--x402-settlement", "open"]);
        assert_eq!(open.gate(), X402Gate::Open);
        assert!(open.seller().unwrap().unwrap().0.is_open);
    }

    #[test]
    fn incomplete_settings_name_what_is_missing() {
        let said = refused(&["--x402-settlement", "open"]);
        assert!(said.contains("x402_facilitator is missing"), "{said}");
        let said = refused(&["--x402-pay-to", PAY_TO]);
        assert!(said.contains("x402_facilitator is missing"), "{said}");
        let at = ["--x402-facilitator", "http://127.0.0.1:4022"];
        let said = refused(&at);
        assert!(said.contains("x402_pay_to is missing"), "{said}");
        let to = [&at[..], &["--x402-pay-to", PAY_TO]].concat();
        let with = |more: &[&str]| refused(&[&to[..], more].concat());
        let said = with(&["--x402-network", "eip155:84532"]);
        assert!(said.contains("x402_asset is missing") && said.contains("eip155:84532"), "{said}");
        assert!(with(&["--x402-network", "base"]).contains("--x402-network"));
        assert!(with(&["--x402-asset-name", ""]).contains("--x402-asset-name"));
        assert!(with(&["--x402-facilitator-key", "short"]).contains("--x402-facilitator-key-file"));
        let said = with(&["--x402-facilitator-key", "hunter2hunter2", "--x402-facilitator-key-file", "x"]);
        assert!(said.contains("both set") && !said.contains("hunter2"), "{said}");
        let said = with(&["--x402-facilitator-key-file", "/nonexistent/token"]);
        assert!(said.contains("/nonexistent/token"), "{said}");
        let far = ["--x402-facilitator", "http://facilitator.example", "--x402-pay-to", PAY_TO];
        let said = refused(&[&far[..], &["--x402-facilitator-key", "hunter2hunter2"]].concat());
        assert!(said.contains("clear text") && !said.contains("hunter2"), "{said}");
    }

    #[test]
    fn a_mistyped_address_is_refused() {
        let pay_to = |text: &str| address("x402_pay_to", text);
        assert!(pay_to(PAY_TO).is_ok());
        assert!(pay_to(&PAY_TO.to_lowercase()).is_ok());
        let said = pay_to(&PAY_TO.replace("209693Bc", "209693bC")).unwrap_err().to_string();
        assert!(said.contains("checksum"), "{said}");
        assert!(pay_to("0x1234").unwrap_err().to_string().contains("40 hex digits"));
    }

    #[test]
    fn private_keys_are_refused_and_not_repeated() {
        let folder = cairn_testkit::temp_dir();
        let file = folder.path().join("token");
        let path = file.to_str().unwrap();
        for key in [KEY, &format!("0x{KEY}"), PHRASE] {
            fs::write(&file, key).unwrap();
            for (flag, value) in [
                ("--x402-facilitator-key", key),
                ("--x402-facilitator-key-file", path),
                ("--x402-pay-to", key),
                ("--x402-asset", key),
            ] {
                let access = Access::of_flags(&[flag, value]);
                let said = access.check(None).unwrap_err().to_string();
                assert!(said.contains("looks like a private key") && !said.contains(key), "{flag}: {said}");
                assert!(!format!("{access:?}").contains(key) || flag != "--x402-facilitator-key", "{flag}");
            }
        }
        x402(&["--x402-facilitator-key", "a-token-of-the-facilitator"]).refuse_private_keys().unwrap();
    }
}
