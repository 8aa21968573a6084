//! Parameters of a request: by position, or by the names of the protocol.

use cairn_domain::mempool::ScriptHash;
use cairn_model::{Height, Txid};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The parameters of a request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Params {
    /// By position.
    List(Vec<Value>),
    /// By name.
    Named(Map<String, Value>),
}

impl Params {
    /// A parameter; `None` if it is absent.
    pub(crate) fn get(&self, at: usize, name: &str) -> Option<&Value> {
        match self {
            Params::List(values) => values.get(at),
            Params::Named(values) => values.get(name),
        }
    }

    fn present(&self, at: usize, name: &str) -> Result<&Value, Failure> {
        self.get(at, name).ok_or_else(|| Failure::params(format!("{name} is missing")))
    }

    /// A number; the default if it is absent.
    pub(crate) fn number_or(&self, at: usize, name: &str, default: u32) -> Result<u32, Failure> {
        match self.get(at, name) {
            None => Ok(default),
            Some(value) => {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
                number.ok_or_else(|| Failure::params(format!("{name} is not an integer from 0 to {}", u32::MAX)))
            }
        }
    }

    /// A number.
    pub(crate) fn number(&self, at: usize, name: &str) -> Result<u32, Failure> {
        self.present(at, name)?;
        self.number_or(at, name, 0)
    }

    /// A height.
    pub(crate) fn height(&self, at: usize, name: &str) -> Result<Height, Failure> {
        self.number(at, name)
    }

    /// True or false; false if it is absent.
    pub(crate) fn flag(&self, at: usize, name: &str) -> Result<bool, Failure> {
        match self.get(at, name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| Failure::params(format!("{name} is not true or false"))),
        }
    }

    /// A text.
    pub(crate) fn text(&self, at: usize, name: &str) -> Result<&str, Failure> {
        let value = self.present(at, name)?;
        value.as_str().ok_or_else(|| Failure::params(format!("{name} is not a string")))
    }

    /// A list.
    pub(crate) fn list(&self, at: usize, name: &str) -> Result<&[Value], Failure> {
        let value = self.present(at, name)?.as_array();
        value.map(Vec::as_slice).ok_or_else(|| Failure::params(format!("{name} is not a list")))
    }

    /// A txid.
    pub(crate) fn txid(&self, at: usize, name: &str) -> Result<Txid, Failure> {
        let text = self.text(at, name)?;
        text.parse().map_err(|_| Failure::bad(format!("{name} is not a transaction id of 64 hexadecimal digits")))
    }

    /// A script hash, which is written with its last byte first.
    pub(crate) fn script_hash(&self) -> Result<ScriptHash, Failure> {
        // The same form as a transaction id.
        let parsed: Result<Txid, _> = self.text(0, "scripthash")?.parse();
        parsed
            .map(|Txid(bytes)| bytes)
            .map_err(|_| Failure::bad("scripthash is not a script hash of 64 hexadecimal digits"))
    }
}

/// A script hash as the protocol writes it.
pub(crate) fn script_hash_text(hash: &ScriptHash) -> String {
    Txid(*hash).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(value: Value) -> Params {
        Params::List(value.as_array().cloned().unwrap_or_default())
    }

    #[test]
    fn parameters_are_found_by_position_and_by_name() {
        let named = Params::Named(json!({"height": 5, "merkle": true}).as_object().cloned().unwrap());
        assert_eq!((named.number(0, "height"), named.flag(2, "merkle")), (Ok(5), Ok(true)));
        let by_position = list(json!([5, 2, true]));
        assert_eq!((by_position.number(0, "height"), by_position.flag(2, "merkle")), (Ok(5), Ok(true)));
        assert_eq!((by_position.flag(3, "more"), by_position.number_or(3, "more", 7)), (Ok(false), Ok(7)));
    }

    #[test]
    fn wrong_parameters_are_named() {
        for value in [json!([-1]), json!([1.5]), json!(["1"]), json!([null]), json!([4_294_967_296_u64])] {
            let error = list(value.clone()).number(0, "height").unwrap_err();
            assert_eq!(error.code, Failure::BAD_PARAMS, "{value}");
            assert!(error.message.starts_with("height "), "{}", error.message);
        }
        assert_eq!(list(json!([])).number(0, "height").unwrap_err().message, "height is missing");
        assert_eq!(list(json!(["ab"])).script_hash().unwrap_err().code, Failure::BAD_REQUEST);
    }

    /// The example of the specification: the script of the first address.
    #[test]
    fn script_hashes_have_their_last_byte_first() {
        let text = "8b01df4e368ea28f8dc0423bcf7a4923e3a12d307c875e47a0cfbf90b5c39161";
        let hash = list(json!([text])).script_hash().unwrap();
        assert_eq!(hex::encode(hash), "6191c3b590bfcfa0475e877c302da1e323497acf3b42c08d8fa28e364edf018b");
        assert_eq!(script_hash_text(&hash), text);
    }
}
