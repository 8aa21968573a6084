//! YAML as a stream of events, within bounds: no aliases, little depth, short scalars.

use std::{
    cell::{Cell, RefCell},
    io::{self, BufRead, Bytes},
    rc::Rc,
};

use saphyr_parser::{BufferedInput, Event, Parser, ScalarStyle};

use crate::error::{InputError, excerpt};

/// Bytes of a scalar.
const MAX_SCALAR: usize = 65_536;
/// Characters between two events; comments and white space count.
const MAX_BETWEEN: u32 = 1 << 18;
const MAX_DEPTH: u32 = 16;
/// Anchors are remembered by the parser, although nothing may refer to them.
const MAX_ANCHORS: usize = 1_000;

/// The next part of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Item {
    Mapping,
    Sequence,
    /// The innermost mapping or sequence ends.
    Close,
    /// A scalar; `None` for null.
    Scalar(Option<String>),
    End,
}

/// State that the characters share with the parser.
#[derive(Default)]
struct Shared {
    left: Cell<u32>,
    line: Cell<u64>,
    fault: Cell<Option<&'static str>>,
    failed: RefCell<Option<io::Error>>,
}

/// The characters of a text. They end where something is wrong; `shared` says what.
struct Chars<R> {
    bytes: Bytes<R>,
    shared: Rc<Shared>,
}

impl<R: BufRead> Chars<R> {
    fn byte(&mut self) -> Option<u8> {
        match self.bytes.next()? {
            Ok(byte) => Some(byte),
            Err(error) => {
                self.shared.failed.replace(Some(error));
                None
            }
        }
    }

    fn stop(&self, what: &'static str) -> Option<char> {
        self.shared.fault.set(Some(what));
        None
    }
}

impl<R: BufRead> Iterator for Chars<R> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.shared.fault.get().is_some() || self.shared.failed.borrow().is_some() {
            return None;
        }
        let Some(left) = self.shared.left.get().checked_sub(1) else {
            return self.stop("a scalar, comment or gap has more than 262144 characters");
        };
        self.shared.left.set(left);
        let first = self.byte()?;
        let more = match first {
            0 => return self.stop("a NUL byte"),
            b'\n' => {
                self.shared.line.set(self.shared.line.get().saturating_add(1));
                0
            }
            1..0x80 => 0,
            0xc0..0xe0 => 1,
            0xe0..0xf0 => 2,
            _ => 3,
        };
        if more == 0 {
            return Some(char::from(first));
        }
        let mut bytes = vec![first];
        for _ in 0..more {
            match self.byte() {
                Some(byte) => bytes.push(byte),
                None => return self.stop("not UTF-8"),
            }
        }
        match str::from_utf8(&bytes).ok().and_then(|text| text.chars().next()) {
            Some(letter) => Some(letter),
            None => self.stop("not UTF-8"),
        }
    }
}

pub(super) struct Yaml<'i, R: BufRead + 'i> {
    parser: Parser<'i, BufferedInput<Chars<R>>>,
    shared: Rc<Shared>,
    depth: u32,
    is_over: bool,
}

impl<'i, R: BufRead + 'i> Yaml<'i, R> {
    pub(super) fn new(input: R) -> Self {
        let shared = Rc::new(Shared { left: Cell::new(MAX_BETWEEN), ..Shared::default() });
        let chars = Chars { bytes: input.bytes(), shared: Rc::clone(&shared) };
        Yaml { parser: Parser::new_from_iter(chars), shared, depth: 0, is_over: false }
    }

    pub(super) fn error(&self, what: impl Into<String>) -> InputError {
        InputError::Malformed { line: self.shared.line.get().saturating_add(1), what: what.into() }
    }

    pub(super) fn next(&mut self) -> Result<Item, InputError> {
        while !self.is_over {
            let event = self.parser.next_event();
            if let Some(error) = self.shared.failed.take() {
                return Err(error.into());
            }
            if let Some(what) = self.shared.fault.get() {
                return Err(self.error(what));
            }
            self.shared.left.set(MAX_BETWEEN);
            let (event, span) = match event {
                Some(Ok(event)) => event,
                None => break,
                Some(Err(error)) => {
                    let (line, info) = (error.marker().line() as u64, excerpt(error.info()));
                    return Err(InputError::Malformed { line, what: format!("not YAML: {info}") });
                }
            };
            let wrong = |what: &str| InputError::Malformed { line: span.start.line() as u64, what: what.to_owned() };
            let anchor = match &event {
                Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                    *anchor
                }
                Event::Alias(_) => return Err(wrong("aliases are not read; write the value itself")),
                _ => 0,
            };
            if anchor > MAX_ANCHORS {
                return Err(wrong("more than 1000 anchors"));
            }
            let is_open = matches!(event, Event::SequenceStart(..) | Event::MappingStart(..));
            self.depth += u32::from(is_open);
            if self.depth > MAX_DEPTH {
                return Err(wrong("nested deeper than 16"));
            }
            match event {
                Event::SequenceStart(..) => return Ok(Item::Sequence),
                Event::MappingStart(..) => return Ok(Item::Mapping),
                Event::SequenceEnd | Event::MappingEnd => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Item::Close);
                }
                Event::Scalar(text, ..) if text.len() > MAX_SCALAR => {
                    return Err(wrong("a scalar has more than 65536 bytes"));
                }
                Event::Scalar(text, style, ..) => {
                    let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                    return Ok(Item::Scalar((!is_null).then(|| text.into_owned())));
                }
                _ => {}
            }
        }
        self.is_over = true;
        Ok(Item::End)
    }

    /// The rest of a mapping or sequence that began.
    pub(super) fn skip(&mut self) -> Result<(), InputError> {
        let mut depth = 1u32;
        while depth > 0 {
            match self.next()? {
                Item::Mapping | Item::Sequence => depth += 1,
                Item::Close => depth -= 1,
                Item::Scalar(_) => {}
                Item::End => return Err(self.error("the text ends too early")),
            }
        }
        Ok(())
    }
}
