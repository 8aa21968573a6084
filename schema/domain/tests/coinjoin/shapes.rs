//! Transactions as tests write them: amounts, templates and script numbers.

use cairn_domain::coinjoin::Shape;
use cairn_model::{Sats, ScriptTemplate};

/// An input or output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Coin {
    pub(crate) value: Sats,
    pub(crate) template: ScriptTemplate,
    /// The scriptPubKey.
    pub(crate) script: Vec<u8>,
}

/// A resolved transaction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tx {
    pub(crate) inputs: Vec<Coin>,
    pub(crate) outputs: Vec<Coin>,
}

impl Shape for Tx {
    type Spent<'a> = &'a [u8];

    fn inputs(&self) -> usize {
        self.inputs.len()
    }
    fn outputs(&self) -> usize {
        self.outputs.len()
    }
    fn input_value(&self, at: usize) -> Sats {
        self.inputs[at].value
    }
    fn input_template(&self, at: usize) -> ScriptTemplate {
        self.inputs[at].template
    }
    fn input_script(&self, at: usize) -> &[u8] {
        &self.inputs[at].script
    }
    fn output_value(&self, at: usize) -> Sats {
        self.outputs[at].value
    }
    fn output_script(&self, at: usize) -> &[u8] {
        &self.outputs[at].script
    }
}

/// A script of the template that a letter of the corpus names; scripts of different numbers differ.
pub(crate) fn script(letter: char, number: u32) -> Vec<u8> {
    let program = |length: usize| number.to_le_bytes().into_iter().cycle().take(length);
    let key = |length: usize| program(length - 1);
    match letter {
        'p' => [0x76, 0xa9, 0x14].into_iter().chain(program(20)).chain([0x88, 0xac]).collect(),
        's' => [0xa9, 0x14].into_iter().chain(program(20)).chain([0x87]).collect(),
        'w' => [0x00, 0x14].into_iter().chain(program(20)).collect(),
        'v' => [0x00, 0x20].into_iter().chain(program(32)).collect(),
        't' => [0x51, 0x20].into_iter().chain(program(32)).collect(),
        'm' => [0x51, 33, 2].into_iter().chain(key(33)).chain([0x51, 0xae]).collect(),
        'a' => vec![0x51, 0x02, 0x4e, 0x73],
        'n' => [0x75, 0x51, 4].into_iter().chain(program(4)).collect(),
        'd' => [0x6a, 4].into_iter().chain(program(4)).collect(),
        other => panic!("no template has the letter {other}"),
    }
}

pub(crate) fn coin(value: Sats, letter: char, number: u32) -> Coin {
    let script = script(letter, number);
    Coin { value, template: ScriptTemplate::of(&script), script }
}

impl Tx {
    /// From the two columns of the corpus.
    pub(crate) fn parse(inputs: &str, outputs: &str) -> Tx {
        // Scripts that the text numbers come first; the others get numbers of their own.
        let mut next = 1_000;
        let mut side = |text: &str| {
            let mut coins = Vec::new();
            for part in text.split(',') {
                let (part, times) = part.split_once('*').unwrap_or((part, "1"));
                let (part, number) = part.split_once('=').map_or((part, None), |(part, number)| (part, Some(number)));
                let (value, letter) = part.split_at(part.len() - 1);
                for _ in 0..times.parse::<u32>().unwrap() {
                    next += 1;
                    let number = number.map_or(next, |number| number.parse().unwrap());
                    coins.push(coin(value.parse().unwrap(), letter.chars().next().unwrap(), number));
                }
            }
            coins
        };
        let inputs = side(inputs);
        Tx { inputs, outputs: side(outputs) }
    }
}

#[test]
fn letters_name_templates() {
    let expected = [
        ('p', ScriptTemplate::PubKeyHash),
        ('s', ScriptTemplate::ScriptHash),
        ('w', ScriptTemplate::WitnessV0KeyHash),
        ('v', ScriptTemplate::WitnessV0ScriptHash),
        ('t', ScriptTemplate::WitnessV1Taproot),
        ('m', ScriptTemplate::Multisig),
        ('a', ScriptTemplate::Anchor),
        ('n', ScriptTemplate::NonStandard),
        ('d', ScriptTemplate::NonStandard),
    ];
    for (letter, template) in expected {
        assert_eq!(coin(0, letter, 7).template, template, "{letter}");
        assert!(letter == 'a' || script(letter, 7) != script(letter, 8), "{letter}");
    }
}

#[test]
fn columns_read_back() {
    let tx = Tx::parse("5w=1,4w*2,3w=1", "6t=1,2d");
    let values = |coins: &[Coin]| coins.iter().map(|coin| coin.value).collect::<Vec<_>>();
    assert_eq!((values(&tx.inputs), values(&tx.outputs)), (vec![5, 4, 4, 3], vec![6, 2]));
    assert!(tx.inputs[0].script == tx.inputs[3].script && tx.inputs[1].script != tx.inputs[2].script);
}
