//! Flows into and out of exchanges in one transaction: the formulas of `exchange-flows` and `miner-flows`.

use cairn_model::Sats;

/// Activity of a holder's scripts in a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Part {
    /// Satoshis of the inputs that are its.
    pub sent: Sats,
    /// Satoshis of the outputs that are its.
    pub received: Sats,
}

/// Parts of it that come in, go out, stay and are paid as a fee, in satoshis.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flow {
    /// Sum received beyond the sum sent.
    pub inflow: Sats,
    /// Sum sent beyond the sum received and its share of the fee.
    pub outflow: Sats,
    /// Sum that comes back to it, change included.
    pub internal: Sats,
    /// Its share of the fee: fee × the sum that it sends ÷ all inputs, rounded down; not more than leaves it.
    pub fee: Sats,
}

impl Part {
    /// Its flow in a transaction with this fee and this sum of inputs. Its balance changes by inflow − outflow − fee.
    #[must_use]
    pub fn flow(self, fee: Sats, inputs: Sats) -> Flow {
        let Part { sent, received } = self;
        let left = sent.saturating_sub(received);
        let share = u128::from(fee) * u128::from(sent) / u128::from(inputs.max(1));
        let fee = Sats::try_from(share).unwrap_or(Sats::MAX).min(left);
        Flow { inflow: received.saturating_sub(sent), outflow: left - fee, internal: sent.min(received), fee }
    }
}

/// Part of the flows of a transaction from exchanges to exchanges.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Between {
    /// The smaller one of the sum of inflows and the sum of outflows.
    pub sats: Sats,
    /// The part of each flow's inflow or outflow in proportion, rounded down, in the order of the flows.
    pub parts: Vec<Sats>,
}

/// Sum from exchanges to exchanges in a transaction with these flows, one for each exchange.
#[must_use]
pub fn between(flows: &[Flow]) -> Between {
    let sum = |of: fn(&Flow) -> Sats| flows.iter().map(|flow| u128::from(of(flow))).sum::<u128>();
    let (inflow, outflow) = (sum(|flow| flow.inflow), sum(|flow| flow.outflow));
    let sats = inflow.min(outflow);
    // A flow never has both.
    let part = |flow: &Flow| {
        let share = u128::from(flow.inflow) * sats / inflow.max(1) + u128::from(flow.outflow) * sats / outflow.max(1);
        Sats::try_from(share).unwrap_or(Sats::MAX)
    };
    Between { sats: Sats::try_from(sats).unwrap_or(Sats::MAX), parts: flows.iter().map(part).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(sent: Sats, received: Sats) -> Part {
        Part { sent, received }
    }

    #[test]
    fn the_share_of_the_fee_is_no_outflow() {
        let flow = |sent, received, fee, inputs| {
            let Flow { inflow, outflow, internal, fee } = part(sent, received).flow(fee, inputs);
            [inflow, outflow, internal, fee]
        };
        // All inputs are its own.
        assert_eq!(flow(1_000, 0, 10, 1_000), [0, 990, 0, 10]);
        // A third of them: the share rounds down.
        assert_eq!(flow(1_000, 100, 10, 3_000), [0, 897, 100, 3]);
        // Only a fee is paid, or less than its share.
        assert_eq!(flow(1_000, 990, 10, 1_000), [0, 0, 990, 10]);
        assert_eq!(flow(1_000, 995, 10, 1_000), [0, 0, 995, 5]);
        // Others pay it, and a coinbase does.
        assert_eq!(flow(1_000, 1_500, 10, 3_000), [500, 0, 1_000, 0]);
        assert_eq!(flow(0, 5, 0, 0), [5, 0, 0, 0]);
    }

    #[test]
    fn what_goes_from_exchange_to_exchange_is_the_smaller_sum() {
        let flows = |parts: &[(Sats, Sats)]| -> Vec<Flow> {
            let inputs = parts.iter().map(|part| part.0).sum();
            parts.iter().map(|(sent, received)| part(*sent, *received).flow(0, inputs)).collect()
        };
        let between = |parts: &[(Sats, Sats)]| between(&flows(parts));
        assert_eq!(between(&[(100, 0), (0, 60)]), Between { sats: 60, parts: vec![60, 60] });
        assert_eq!(between(&[(100, 0), (0, 60), (0, 140)]), Between { sats: 100, parts: vec![100, 30, 70] });
        assert_eq!(between(&[(3, 0), (7, 0), (0, 5)]), Between { sats: 5, parts: vec![1, 3, 5] });
        assert_eq!(between(&[(100, 0)]), Between { sats: 0, parts: vec![0] });
        assert_eq!(between(&[]), Between::default());
    }

    proptest! {
        #[test]
        fn what_is_held_changes_by_the_flow(sent in 0u64..1 << 51, received in 0u64..1 << 51, others in 0u64..1 << 51, fee in 0u64..1 << 51) {
            let inputs = sent + others;
            let flow = part(sent, received).flow(fee.min(inputs), inputs);
            let change = i128::from(flow.inflow) - i128::from(flow.outflow) - i128::from(flow.fee);
            prop_assert_eq!(change, i128::from(received) - i128::from(sent));
            prop_assert!(flow.inflow == 0 || flow.outflow == 0);
            prop_assert_eq!(flow.internal, sent.min(received));
        }

        #[test]
        fn parts_do_not_exceed_the_whole(parts in proptest::collection::vec((0u64..1 << 51, 0u64..1 << 51), 0..6)) {
            let flows: Vec<Flow> = parts.iter().map(|(sent, received)| part(*sent, *received).flow(0, 1 << 54)).collect();
            let between = between(&flows);
            for (flow, part) in flows.iter().zip(&between.parts) {
                prop_assert!(*part <= flow.inflow.max(flow.outflow));
            }
            let sum = |of: fn(&Flow) -> Sats| flows.iter().zip(&between.parts).filter(|(flow, _)| of(flow) > 0).map(|(_, part)| *part).sum::<Sats>();
            for sum in [sum(|flow| flow.inflow), sum(|flow| flow.outflow)] {
                prop_assert!(sum <= between.sats && sum + parts.len() as u64 >= between.sats);
            }
        }
    }
}
