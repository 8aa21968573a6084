//! Scripts as text: their type, their operations, and the scripts inside of inputs.

use std::fmt;

use bitcoin::{
    Opcode, Script, TxIn,
    hex::DisplayHex,
    opcodes::{Class, ClassifyContext},
    script::Instruction,
};
use cairn_domain::{ScriptType, script_type};
use serde::{Serialize, Serializer};

/// Bytes of the longest script of a taproot input that is shown.
const MAX_TAPSCRIPT: usize = 10_000;
/// The first byte of an annex (BIP 341).
const ANNEX: u8 = 0x50;

/// The type of a scriptPubKey, by the names of electrs.
pub(crate) fn kind(script: &Script) -> &'static str {
    if script.is_empty() {
        return "empty";
    }
    if script.is_op_return() {
        return "op_return";
    }
    match script_type(script.as_bytes()) {
        ScriptType::PubKey => "p2pk",
        ScriptType::PubKeyHash => "p2pkh",
        ScriptType::ScriptHash => "p2sh",
        ScriptType::WitnessV0KeyHash => "v0_p2wpkh",
        ScriptType::WitnessV0ScriptHash => "v0_p2wsh",
        ScriptType::WitnessV1Taproot => "v1_p2tr",
        ScriptType::Anchor => "anchor",
        ScriptType::Multisig => "multisig",
        _ if is_provably_unspendable(script) => "provably_unspendable",
        _ => "unknown",
    }
}

/// True if the first operation ends every evaluation.
fn is_provably_unspendable(script: &Script) -> bool {
    script.as_bytes().first().is_some_and(|first| {
        let class = Opcode::from(*first).classify(ClassifyContext::Legacy);
        matches!(class, Class::ReturnOp | Class::IllegalOp)
    })
}

/// The operations of a script in the notation of rust-bitcoin. They can take many times its bytes, and are written
/// without a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asm<'s>(pub(crate) &'s Script);

impl fmt::Display for Asm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_asm(f)
    }
}

impl Serialize for Asm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Bytes in hexadecimal, written without a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hex<'b>(pub(crate) &'b [u8]);

impl Serialize for Hex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.as_hex())
    }
}

/// The scripts that an input reveals.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct InnerScripts<'i> {
    /// The script of a P2SH output.
    pub(crate) redeem: Option<&'i Script>,
    /// The script of a P2WSH output, also inside of P2SH; or of a taproot output that is spent by a script.
    pub(crate) witness: Option<&'i Script>,
}

impl<'i> InnerScripts<'i> {
    /// Finds the scripts of an input that spends an output with this scriptPubKey.
    pub(crate) fn find(input: &'i TxIn, prevout: &Script) -> Self {
        let redeem = prevout.is_p2sh().then(|| last_push(&input.script_sig)).flatten();
        let is_wsh = prevout.is_p2wsh() || redeem.is_some_and(Script::is_p2wsh);
        let witness = if is_wsh {
            input.witness.last().map(Script::from_bytes)
        } else if prevout.is_p2tr() {
            tapscript(input).filter(|script| script.len() <= MAX_TAPSCRIPT)
        } else {
            None
        };
        InnerScripts { redeem, witness }
    }
}

fn last_push(script: &Script) -> Option<&Script> {
    match script.instructions().last()?.ok()? {
        Instruction::PushBytes(bytes) => Some(Script::from_bytes(bytes.as_bytes())),
        Instruction::Op(_) => None,
    }
}

/// The script of a taproot input, which the control block and an annex may follow.
fn tapscript(input: &TxIn) -> Option<&Script> {
    let items = input.witness.len();
    let has_annex = items >= 2 && input.witness.last()?.first() == Some(&ANNEX);
    let after = if has_annex { 3 } else { 2 };
    items.checked_sub(after).and_then(|at| input.witness.nth(at)).map(Script::from_bytes)
}

#[cfg(test)]
mod tests {
    use bitcoin::{OutPoint, ScriptBuf, Sequence, Witness};

    use super::*;

    fn script(hex: &str) -> ScriptBuf {
        ScriptBuf::from_hex(hex).unwrap()
    }

    fn input(script_sig: &str, witness: &[&str]) -> TxIn {
        let witness: Vec<Vec<u8>> = witness.iter().map(|item| hex::decode(item).unwrap()).collect();
        TxIn {
            previous_output: OutPoint::null(),
            script_sig: script(script_sig),
            sequence: Sequence::MAX,
            witness: Witness::from_slice(&witness),
        }
    }

    #[test]
    fn types_have_the_names_of_electrs() {
        let (key, hash) = (format!("02{}", "11".repeat(32)), "33".repeat(20));
        for (hex, name) in [
            (String::new(), "empty"),
            ("6a0101".to_owned(), "op_return"),
            ("6aac".to_owned(), "op_return"),
            (format!("21{key}ac"), "p2pk"),
            (format!("76a914{hash}88ac"), "p2pkh"),
            (format!("a914{hash}87"), "p2sh"),
            (format!("0014{hash}"), "v0_p2wpkh"),
            (format!("0020{}", "33".repeat(32)), "v0_p2wsh"),
            (format!("5120{}", "33".repeat(32)), "v1_p2tr"),
            ("51024e73".to_owned(), "anchor"),
            (format!("5121{key}51ae"), "multisig"),
            ("65".to_owned(), "provably_unspendable"),
            ("51".to_owned(), "unknown"),
        ] {
            assert_eq!(kind(&script(&hex)), name, "{hex}");
        }
    }

    #[test]
    fn operations_are_written_as_electrs_does() {
        let hash = "33".repeat(20);
        let of = |hex: &str| Asm(&script(hex)).to_string();
        let p2pkh = format!("OP_DUP OP_HASH160 OP_PUSHBYTES_20 {hash} OP_EQUALVERIFY OP_CHECKSIG");
        assert_eq!(of(&format!("76a914{hash}88ac")), p2pkh);
        assert_eq!(of(&format!("0014{hash}")), format!("OP_0 OP_PUSHBYTES_20 {hash}"));
        assert_eq!(of("51024e73"), "OP_PUSHNUM_1 OP_PUSHBYTES_2 4e73");
        assert_eq!(of("4c0201024f"), "OP_PUSHDATA1 0102 OP_PUSHNUM_NEG1");
        assert_eq!(of("b1b2"), "OP_CLTV OP_CSV");
        assert_eq!(of("0501"), "OP_PUSHBYTES_5 <push past end>");
        assert_eq!(of(""), "");
        let json = |hex: &str| serde_json::to_string(&(Asm(&script(hex)), Hex(script(hex).as_bytes()))).unwrap();
        assert_eq!(json("0501"), r#"["OP_PUSHBYTES_5 <push past end>","0501"]"#);
    }

    #[test]
    fn inner_scripts_are_found() {
        let p2sh = script(&format!("a914{}87", "33".repeat(20)));
        let nested = format!("0020{}", "44".repeat(32));
        let spend = input(&format!("22{nested}"), &["01", "51"]);
        let found = InnerScripts::find(&spend, &p2sh);
        assert_eq!((found.redeem, found.witness), (Some(&*script(&nested)), Some(&*script("51"))));
        // A redeem script must be pushed.
        assert_eq!(InnerScripts::find(&input("51", &[]), &p2sh).redeem, None);
        let p2wsh = script(&format!("0020{}", "33".repeat(32)));
        assert_eq!(InnerScripts::find(&input("", &["01", "5151"]), &p2wsh).witness, Some(&*script("5151")));
        let p2tr = script(&format!("5120{}", "33".repeat(32)));
        let of = |witness: &[&str]| InnerScripts::find(&input("", witness), &p2tr).witness.map(Script::to_bytes);
        assert_eq!(of(&["01"]), None);
        assert_eq!(of(&["01", "5000"]), None);
        assert_eq!(of(&["51", "c0"]), Some(vec![0x51]));
        assert_eq!(of(&["01", "51", "c0", "5000"]), Some(vec![0x51]));
        let long = "51".repeat(MAX_TAPSCRIPT + 1);
        assert_eq!(of(&[&long, "c0"]), None);
        assert_eq!(InnerScripts::find(&input("", &[]), &p2wsh), InnerScripts::default());
    }
}
