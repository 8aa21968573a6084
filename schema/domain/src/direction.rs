//! The direction of a transaction for one script: incoming, outgoing or to itself.

use cairn_model::Sats;

/// Direction of the value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// The script's balance rises, or it stays the same and nothing was sent.
    In,
    /// The script's balance falls, and some value went to other scripts.
    Out,
    /// It paid itself, and only the fee was spent.
    OwnTransfer,
}

/// Amounts of a transaction, for a script and in total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Its outputs to the script.
    pub received: Sats,
    /// Its inputs from the script.
    pub sent: Sats,
    /// All its inputs.
    pub all_inputs: Sats,
    /// All its outputs.
    pub all_outputs: Sats,
}

impl Effect {
    /// Received minus sent.
    #[must_use]
    pub fn net(&self) -> i64 {
        // Amounts stay below 2^51, so the difference fits.
        self.received as i64 - self.sent as i64
    }
}

/// Direction of the value for the script.
#[must_use]
pub fn direction(effect: &Effect) -> Direction {
    let own_inputs = effect.sent > 0 && effect.sent >= effect.all_inputs;
    if effect.sent == 0 {
        Direction::In
    } else if own_inputs && effect.received >= effect.all_outputs || effect.received == effect.sent {
        Direction::OwnTransfer
    } else if effect.received > effect.sent {
        Direction::In
    } else {
        Direction::Out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(received: Sats, sent: Sats, all_inputs: Sats, all_outputs: Sats) -> Direction {
        direction(&Effect { received, sent, all_inputs, all_outputs })
    }

    #[test]
    fn ways() {
        assert_eq!(of(50, 0, 100, 99), Direction::In);
        assert_eq!(of(0, 0, 100, 99), Direction::In);
        assert_eq!(of(50, 0, 0, 50), Direction::In);
        assert_eq!(of(0, 100, 100, 99), Direction::Out);
        assert_eq!(of(40, 100, 100, 99), Direction::Out);
        assert_eq!(of(99, 100, 100, 99), Direction::OwnTransfer);
        assert_eq!(of(100, 100, 100, 100), Direction::OwnTransfer);
        assert_eq!(of(150, 100, 300, 299), Direction::In);
        assert_eq!(of(100, 100, 300, 299), Direction::OwnTransfer);
        assert_eq!(of(99, 100, 300, 299), Direction::Out);
        assert_eq!(Effect { received: 1, sent: 3, all_inputs: 3, all_outputs: 2 }.net(), -2);
    }
}
