//! Parameters: by position or by name.

use std::str::FromStr;

use bitcoin::{BlockHash, Txid};
use serde_json::Value;

use super::{Result, RpcError, code};

/// The parameters of a call, by position.
#[derive(Debug)]
pub(crate) struct Args {
    names: &'static [&'static str],
    values: Vec<Value>,
    /// The wallet that the request's path names.
    wallet: Option<String>,
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl Args {
    pub(crate) fn new(names: &'static [&'static str], params: Option<&Value>) -> Result<Self> {
        let mut values = vec![Value::Null; names.len()];
        match params {
            None | Some(Value::Null) => {}
            Some(Value::Array(given)) if given.len() > names.len() => {
                return Err(RpcError::new(code::MISC, format!("at most {} parameters are taken", names.len())));
            }
            Some(Value::Array(given)) => values[..given.len()].clone_from_slice(given),
            Some(Value::Object(given)) => {
                for (name, value) in given {
                    // Core's old name for the same parameter.
                    let name = if name == "verbose" && !names.contains(&"verbose") { "verbosity" } else { name };
                    let Some(at) = names.iter().position(|known| *known == name) else {
                        let message = format!("Unknown named parameter {name}");
                        return Err(RpcError::new(code::INVALID_PARAMETER, message));
                    };
                    values[at] = value.clone();
                }
            }
            Some(_) => return Err(RpcError::new(code::INVALID_REQUEST, "Params must be an array or object")),
        }
        Ok(Self { names, values, wallet: None })
    }

    pub(crate) fn of_wallet(self, name: Option<&str>) -> Self {
        Self { wallet: name.map(str::to_owned), ..self }
    }

    pub(crate) fn wallet(&self) -> Option<&str> {
        self.wallet.as_deref()
    }

    pub(crate) fn value(&self, at: usize) -> Option<&Value> {
        self.values.get(at).filter(|value| !value.is_null())
    }

    fn mistyped(value: &Value, wanted: &str) -> RpcError {
        let message = format!("JSON value of type {} is not of expected type {wanted}", kind(value));
        RpcError::new(code::TYPE, message)
    }

    fn missing(&self, at: usize) -> RpcError {
        let name = self.names.get(at).copied().unwrap_or_default();
        RpcError::new(code::MISC, format!("parameter {name} is required"))
    }

    pub(crate) fn text(&self, at: usize) -> Result<&str> {
        let value = self.value(at).ok_or_else(|| self.missing(at))?;
        value.as_str().ok_or_else(|| Self::mistyped(value, "string"))
    }

    pub(crate) fn flag(&self, at: usize, default: bool) -> Result<bool> {
        match self.value(at) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| Self::mistyped(value, "bool")),
        }
    }

    pub(crate) fn integer(&self, at: usize) -> Result<i64> {
        let value = self.value(at).ok_or_else(|| self.missing(at))?;
        value.as_i64().ok_or_else(|| Self::mistyped(value, "number"))
    }

    /// A number, or true for 1 and false for 0.
    pub(crate) fn verbosity(&self, at: usize, default: i64) -> Result<i64> {
        match self.value(at) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(i64::from(*flag)),
            Some(_) => self.integer(at),
        }
    }

    pub(crate) fn block_hash(&self, at: usize) -> Result<BlockHash> {
        parse_hash(self.text(at)?, "blockhash")
    }

    pub(crate) fn txid(&self, at: usize) -> Result<Txid> {
        parse_hash(self.text(at)?, "txid")
    }
}

/// Reads a hash as Core does, with its two complaints.
pub(crate) fn parse_hash<T: FromStr>(text: &str, name: &str) -> Result<T> {
    let complaint = || match text.len() {
        64 => format!("{name} must be hexadecimal string (not '{text}')"),
        length => format!("{name} must be of length 64 (not {length}, for '{text}')"),
    };
    if text.len() != 64 {
        return Err(RpcError::new(code::INVALID_PARAMETER, complaint()));
    }
    text.parse().map_err(|_| RpcError::new(code::INVALID_PARAMETER, complaint()))
}
