//! `cairn ask`.

use clap::{
    Arg, Args, Command, Error,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};

use crate::config::{ApiKey, InProcess, StateDb};

#[derive(Args, Debug)]
pub(crate) struct Ask {
    /// URL of a Cairn server, for example https://example.org. Without it, --datadir names an index on this machine,
    /// and no server is needed. Settings stand before the name of the operation.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) key: ApiKey,
    /// Prints JSON on a terminal, too.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) here: InProcess,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// Name of the operation, for example wallet-overview, or words that only one name has; then its parameters, which
    /// `cairn ask OPERATION --help` explains. Without a name, all operations are listed.
    #[arg(value_name = "OPERATION", trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_parser = OperationName, hide_possible_values = true)]
    pub(crate) words: Vec<String>,
}

/// Takes any text; shells complete the names.
#[derive(Clone)]
struct OperationName;

impl TypedValueParser for OperationName {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &std::ffi::OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = cairn_operations::names().into_iter();
        Some(Box::new(names.map(|name| PossibleValue::new(name.replace('_', "-")))))
    }
}
