//! The functions of a descriptor: which may stand where, and where its keys are.

use std::ops::Range;

use bitcoin::NetworkKind;

use crate::{
    key::{self, AllowedKeys, Key, read_number},
    refusal::Refusal,
    template::{KeySlot, Order, Template},
};

/// Most keys of `multi` in an output script.
const MAX_BARE_KEYS: usize = 3;
/// Most keys of `multi`.
const MAX_KEYS: usize = 20;
/// Most keys of `multi_a`.
const MAX_TAPROOT_KEYS: usize = 999;
/// Longest script of `sh` in bytes.
const MAX_REDEEM_BYTES: usize = 520;
/// Deepest leaf of a tree of scripts.
const MAX_LEAF_DEPTH: usize = 128;

/// A descriptor and the keys in it.
pub(crate) struct Expression {
    pub(crate) template: Template,
    /// Each key with its alternatives.
    pub(crate) keys: Vec<Vec<Key>>,
}

/// The place of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Context {
    /// Nothing.
    Output,
    Sh,
    Wsh,
    /// A tree of `tr`.
    Leaf,
    /// Another function of miniscript.
    Inside(AllowedKeys),
}

impl Context {
    const fn allowed_keys(self) -> AllowedKeys {
        match self {
            Context::Output | Context::Sh => AllowedKeys::Legacy,
            Context::Wsh => AllowedKeys::Witness,
            Context::Leaf => AllowedKeys::Taproot,
            Context::Inside(allowed) => allowed,
        }
    }

    /// True for a script of its own, which miniscript can be.
    const fn is_root(self) -> bool {
        matches!(self, Context::Wsh | Context::Leaf)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Argument {
    Key(AllowedKeys),
    Threshold,
    LockTime,
    /// Hexadecimal digits.
    Hash(usize),
    Script,
}

/// A function whose arguments are being read.
struct Frame<'a> {
    /// Without wrappers; `{` for a branch of a tree.
    name: &'a str,
    context: Context,
    /// The place of its arguments.
    inside: Context,
    arguments: usize,
    threshold: Option<usize>,
    first_key: usize,
    /// True for the outermost function of a miniscript expression.
    is_miniscript: bool,
}

impl Frame<'_> {
    fn argument(&self) -> Result<Argument, Refusal> {
        let allowed = self.inside.allowed_keys();
        Ok(match (self.name, self.arguments) {
            ("pk" | "pkh" | "pk_k" | "pk_h" | "wpkh" | "tr", 0) => Argument::Key(allowed),
            ("pk" | "pkh" | "pk_k" | "pk_h" | "wpkh", _) => return Err(Refusal::Arguments),
            ("tr" | "{", 1) | ("{" | "sh" | "wsh", 0) => Argument::Script,
            ("tr" | "{" | "sh" | "wsh", _) => return Err(Refusal::Arguments),
            ("multi" | "sortedmulti" | "multi_a" | "sortedmulti_a" | "thresh", 0) => Argument::Threshold,
            ("multi" | "sortedmulti" | "multi_a" | "sortedmulti_a", _) => Argument::Key(allowed),
            ("older" | "after", 0) => Argument::LockTime,
            ("sha256" | "hash256", 0) => Argument::Hash(64),
            ("ripemd160" | "hash160", 0) => Argument::Hash(40),
            ("older" | "after" | "sha256" | "hash256" | "ripemd160" | "hash160", _) => return Err(Refusal::Arguments),
            _ => Argument::Script,
        })
    }
}

/// Reads a descriptor without its checksum.
pub(crate) fn read(text: &str, network: NetworkKind) -> Result<Expression, Refusal> {
    let mut reader = Reader {
        network,
        frames: Vec::new(),
        is_closed: false,
        template: String::new(),
        keys: Vec::new(),
        sorted: Vec::new(),
        distinct: Vec::new(),
    };
    let mut rest = text;
    loop {
        let end = rest.find(['(', ')', '{', '}', ',']).ok_or(if reader.frames.is_empty() {
            Refusal::Unknown
        } else {
            Refusal::Parentheses
        })?;
        let (token, tail) = rest.split_at(end);
        let (delimiter, tail) = tail.split_at(1);
        rest = tail;
        match delimiter {
            "(" if token == "musig" && reader.wants_key()? => {
                // Up to its parenthesis, and the path after it.
                let inner = rest.find(')').ok_or(Refusal::Parentheses)?;
                let after = rest.get(inner + 1..).unwrap_or_default();
                let length = inner + 1 + after.find(['(', ')', '{', '}', ',']).ok_or(Refusal::Parentheses)?;
                let (inner, tail) = rest.split_at(length);
                reader.leaf(&format!("musig({inner}"))?;
                let (delimiter, tail) = tail.split_at(1);
                if matches!(delimiter, "(" | "{") {
                    return Err(Refusal::Parentheses);
                }
                rest = tail;
                reader.close(delimiter)?;
            }
            "(" => reader.open(token)?,
            "{" if token.is_empty() => reader.open_branch()?,
            "{" => return Err(Refusal::Parentheses),
            _ => {
                if !(reader.is_closed && token.is_empty()) {
                    reader.leaf(token)?;
                }
                reader.close(delimiter)?;
            }
        }
        if reader.frames.is_empty() {
            break;
        }
    }
    if !rest.is_empty() {
        return Err(Refusal::Parentheses);
    }
    reader.finish()
}

/// A descriptor that is being read.
struct Reader<'a> {
    frames: Vec<Frame<'a>>,
    /// True after a closing parenthesis.
    is_closed: bool,
    /// The text with places instead of keys.
    template: String,
    keys: Vec<Vec<Key>>,
    sorted: Vec<(Range<usize>, Order)>,
    /// Keys of which no two may be the same.
    distinct: Vec<Range<usize>>,
    network: NetworkKind,
}

impl<'a> Reader<'a> {
    fn wants_key(&self) -> Result<bool, Refusal> {
        let frame = self.frames.last().ok_or(Refusal::Place)?;
        Ok(matches!(frame.argument()?, Argument::Key(_)))
    }

    /// Begins a function; the token has its wrappers, too.
    fn open(&mut self, token: &'a str) -> Result<(), Refusal> {
        if self.is_closed {
            return Err(Refusal::Parentheses);
        }
        let context = match self.frames.last() {
            None => Context::Output,
            Some(frame) => match frame.argument()? {
                Argument::Script => frame.inside,
                Argument::Key(_) if !token.is_empty() => return Err(Refusal::Key),
                _ => return Err(Refusal::Arguments),
            },
        };
        let (wrappers, name) = token.rsplit_once(':').map_or((None, token), |(before, name)| (Some(before), name));
        let inside = inside(name, context, wrappers.is_some())?;
        let is_plain = wrappers.is_none()
            && matches!(
                (name, context),
                ("pk" | "pkh" | "multi" | "sortedmulti", Context::Wsh)
                    | ("pk" | "multi_a" | "sortedmulti_a", Context::Leaf)
            );
        if let Some(wrappers) = wrappers {
            self.template.push_str(wrappers);
            self.template.push(':');
        }
        // Its keys are sorted here.
        self.template.push_str(name.strip_prefix("sorted").unwrap_or(name));
        self.template.push('(');
        self.frames.push(Frame {
            name,
            context,
            inside,
            arguments: 0,
            threshold: None,
            first_key: self.keys.len(),
            is_miniscript: context.is_root() && !is_plain,
        });
        Ok(())
    }

    /// Begins a branch of a tree.
    fn open_branch(&mut self) -> Result<(), Refusal> {
        let frame = self.frames.last().ok_or(Refusal::Parentheses)?;
        if self.is_closed
            || frame.inside != Context::Leaf
            || !matches!((frame.name, frame.argument()?), ("tr" | "{", Argument::Script))
        {
            return Err(Refusal::Parentheses);
        }
        if self.frames.iter().filter(|frame| frame.name == "{").count() >= MAX_LEAF_DEPTH {
            return Err(Refusal::Miniscript);
        }
        self.template.push('{');
        let first_key = self.keys.len();
        self.frames.push(Frame {
            name: "{",
            context: Context::Leaf,
            inside: Context::Leaf,
            arguments: 0,
            threshold: None,
            first_key,
            is_miniscript: false,
        });
        Ok(())
    }

    /// Reads an argument without parentheses.
    fn leaf(&mut self, token: &str) -> Result<(), Refusal> {
        if self.is_closed {
            return Err(Refusal::Parentheses);
        }
        let frame = self.frames.last_mut().ok_or(Refusal::Unknown)?;
        match frame.argument()? {
            Argument::Key(allowed) => {
                let alternatives = key::read(token, allowed, self.network)?;
                let is_compressed = alternatives.iter().all(Key::is_compressed);
                let place = KeySlot { number: self.keys.len(), is_compressed };
                self.template.push_str(&place.to_string());
                self.keys.push(alternatives);
            }
            Argument::Threshold => {
                let threshold = read_number(token).and_then(|it| usize::try_from(it).ok()).ok_or(Refusal::Threshold)?;
                frame.threshold = Some(threshold);
                self.template.push_str(&threshold.to_string());
            }
            Argument::LockTime => {
                let time =
                    read_number(token).filter(|time| (1..key::HARDENED).contains(time)).ok_or(Refusal::Argument)?;
                self.template.push_str(&time.to_string());
            }
            Argument::Hash(digits) => {
                if token.len() != digits || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err(Refusal::Argument);
                }
                self.template.push_str(token);
            }
            Argument::Script => {
                let constant = token.rsplit(':').next().unwrap_or_default();
                match (frame.inside, constant) {
                    (Context::Inside(_) | Context::Wsh | Context::Leaf, "0" | "1") => self.template.push_str(token),
                    _ if token.is_empty() => return Err(Refusal::Arguments),
                    _ => return Err(Refusal::Function),
                }
            }
        }
        Ok(())
    }

    /// Ends an argument with a comma, or the function with a parenthesis.
    fn close(&mut self, delimiter: &str) -> Result<(), Refusal> {
        self.template.push_str(delimiter);
        self.is_closed = delimiter != ",";
        let frame = self.frames.last_mut().ok_or(Refusal::Unknown)?;
        frame.arguments += 1;
        if delimiter == "," {
            // One more must follow.
            frame.argument()?;
            return Ok(());
        }
        let frame = self.frames.pop().ok_or(Refusal::Parentheses)?;
        if (delimiter == "}") != (frame.name == "{") {
            return Err(Refusal::Parentheses);
        }
        if frame.name == "{" && frame.arguments != 2 {
            return Err(Refusal::Arguments);
        }
        self.check_keys(&frame)?;
        if frame.is_miniscript && self.keys.len() > frame.first_key + 1 {
            self.distinct.push(frame.first_key..self.keys.len());
        }
        Ok(())
    }

    /// Checks threshold and number of keys.
    fn check_keys(&mut self, frame: &Frame<'_>) -> Result<(), Refusal> {
        let Some(threshold) = frame.threshold else { return Ok(()) };
        let count = frame.arguments - 1;
        let (is_multi, range) = (frame.name != "thresh", frame.first_key..self.keys.len());
        if is_multi && count == 0 {
            return Err(Refusal::NoKey);
        }
        let max = match (frame.name, frame.context) {
            ("thresh", _) => usize::MAX,
            ("multi_a" | "sortedmulti_a", _) => MAX_TAPROOT_KEYS,
            (_, Context::Output) => MAX_BARE_KEYS,
            _ => MAX_KEYS,
        };
        if count > max {
            return Err(Refusal::KeyCount);
        }
        if threshold == 0 || threshold > count {
            return Err(Refusal::Threshold);
        }
        let size = |key: &Vec<Key>| if key.iter().all(Key::is_compressed) { 34 } else { 66 };
        let keys = self.keys.get(range.clone()).unwrap_or_default();
        if frame.context == Context::Sh && keys.iter().map(size).sum::<usize>() + 3 > MAX_REDEEM_BYTES {
            return Err(Refusal::KeyCount);
        }
        match frame.name {
            "sortedmulti" => self.sorted.push((range, Order::Full)),
            "sortedmulti_a" => self.sorted.push((range, Order::XOnly)),
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Expression, Refusal> {
        let template = Template::read(&self.template, self.sorted, self.distinct)?;
        Ok(Expression { template, keys: self.keys })
    }
}

/// Returns the context of a function's arguments, if the function may stand in this context.
fn inside(name: &str, context: Context, has_wrappers: bool) -> Result<Context, Refusal> {
    let is_script = matches!(context, Context::Wsh | Context::Leaf | Context::Inside(_));
    match name {
        "sh" if context == Context::Output && !has_wrappers => Ok(Context::Sh),
        "wsh" if matches!(context, Context::Output | Context::Sh) && !has_wrappers => Ok(Context::Wsh),
        "wpkh" if matches!(context, Context::Output | Context::Sh) && !has_wrappers => {
            Ok(Context::Inside(AllowedKeys::Witness))
        }
        "tr" if context == Context::Output && !has_wrappers => Ok(Context::Leaf),
        "sortedmulti" if matches!(context, Context::Output | Context::Sh | Context::Wsh) && !has_wrappers => {
            Ok(Context::Inside(context.allowed_keys()))
        }
        "sortedmulti_a" if context == Context::Leaf && !has_wrappers => Ok(Context::Inside(AllowedKeys::Taproot)),
        "sh" | "wsh" | "wpkh" | "tr" | "sortedmulti" | "sortedmulti_a" | "addr" | "raw" | "rawtr" | "combo"
        | "musig" => Err(Refusal::Place),
        "pk" | "pkh" if is_script || !has_wrappers => Ok(Context::Inside(context.allowed_keys())),
        "multi" if context.allowed_keys() == AllowedKeys::Taproot => Err(Refusal::Place),
        "multi" if is_script || !has_wrappers => Ok(Context::Inside(context.allowed_keys())),
        "multi_a" if context.allowed_keys() == AllowedKeys::Taproot => Ok(Context::Inside(AllowedKeys::Taproot)),
        "multi_a" => Err(Refusal::Place),
        "pk" | "pkh" | "multi" | "pk_k" | "pk_h" | "older" | "after" | "sha256" | "hash256" | "ripemd160"
        | "hash160" | "andor" | "and_v" | "and_b" | "and_n" | "or_b" | "or_c" | "or_d" | "or_i" | "thresh" => {
            if is_script {
                Ok(Context::Inside(context.allowed_keys()))
            } else {
                Err(Refusal::OutsideWitness)
            }
        }
        _ => Err(Refusal::Function),
    }
}
