//! Definitions of the risk signals: one page for all, and one for each detector.

use cairn_domain::risk::measured;
use cairn_http::Definition;

pub(crate) const RISK_SIGNALS: &str = "risk-signals";

pub(super) const RISK_SIGNALS_PAGE: Definition = Definition {
    id: RISK_SIGNALS,
    title: "Risk signals",
    text: &[
        "A risk signal is a pattern in the transactions of an address, or a claim of a source near it, with the \
         transactions that show it. Anyone can check it with them. It is not a judgement about a person, and no \
         signals are added up.",
        "Ten detectors look at the newest 1,000 transactions of the address, in which at most 200,000 inputs and \
         outputs are read, and at neighbouring transactions within their own limits. Each is always in the answer, in \
         one order. fired: the pattern is there. not_fired: it is not in the transactions of the address, all of \
         which were examined. suppressed: it is there, but a standing claim of control (level 40 or more, 50 if it is \
         inherited) says that a service owns the address; services show peel chains, reuse, pass-through, and many \
         senders and recipients in their ordinary business. not_examined: nothing was found, and not everything was \
         examined; the reason says why. The absence of a signal proves nothing.",
        "The level measures the evidence, from 0 to 100: 10 for a pattern, 100 for a fact that anyone can recompute \
         from the chain; for CoinJoins the lower end of the 95 % interval of the precision on documented real \
         transactions, in percent; for claims, the level of the claim. The strength follows from measured precision: \
         weak below nine tenths, strong if the lower end of its 95 % interval (Wilson) is nine tenths or more, \
         otherwise moderate. A signal that rests on a claim is not stronger than the evidence of the claim.",
        "Precision and recall are measured on generated actors. Each follows an intent, such as laundering, paying \
         salaries or moving savings, with chance in amounts and times; none knows the rule of a detector. A detector \
         is right if it fires for the intent that it is about. The shares of the intents are ours, so that the \
         figures compare detectors. The pages of the detectors have them.",
        "How often the detectors fire in real blocks, without the knowledge whether they are right:",
        measured::REAL_BLOCKS,
        "The base rate is the share of the scripts of 4,032 blocks for which a detector fires: of those with a \
         transaction in these blocks that the detector could examine, as of the tip. The blocks end with the last one \
         of the day before (UTC), which has the date. It is an estimate: 2,000 times an input or output of these blocks \
         is drawn, by the hash of the last one, so that every server draws the same, and its script is examined as an \
         answer does it. Busy scripts are drawn more often, so each draw counts 1 ÷ (s × m): s is the number of inputs \
         and outputs of the script in the drawn transaction, m the number of its transactions in the blocks (Hansen and \
         Hurwitz, 1943). With 2,000 draws of one weight, 95 of 100 estimates of one half are within 0.022 of it; \
         unequal weights make this wider. Suppressed signals count as not fired. A server computes base rates once a \
         day, from when a client first asks for signals. Until it has them they are null, with a reason.",
    ],
};

pub(super) const COINJOIN_PARTICIPATION_PAGE: Definition = Definition {
    id: "signal-coinjoin-participation",
    title: "Signal: CoinJoin participation",
    text: &[
        "A transaction that spends from the address, or pays it, looks like a CoinJoin. The rules are those for \
         clusters: Whirlpool, Wasabi 1 and 2, JoinMarket, and equal outputs to several payers in general; the answer \
         counts the transactions of each. A rule describes the shape of a transaction, not its software.",
        "Levels: Whirlpool 96, Wasabi 1 92, equal outputs 87, JoinMarket 85, Wasabi 2 79: the lower ends of the 95 % \
         intervals of the precision on 402 documented real transactions, in percent.",
        "Ordinary explanations: CoinJoins protect the privacy of their participants, and a participant may pay \
         somebody else in one. Evidence that would decide: whether the address is spent from in the transaction, and \
         which software its owner uses.",
        measured::COINJOIN_PARTICIPATION,
    ],
};

pub(super) const PEEL_CHAIN_PAGE: Definition = Definition {
    id: "signal-peel-chain",
    title: "Signal: peel chain",
    text: &[
        "The address is on a chain of five or more linked spends. Each has one input and two outputs; the larger \
         output has 80 % or more of both, and is the input of the next spend, at most 144 blocks later. The address \
         is spent from in the chain, or holds its rest. The script that is paid the small part is not on the chain. \
         50 spends are followed each way, and 500 transactions of others are read. The longest chain counts; the \
         answer names the ten spends that end with the newest one of the address.",
        "Ordinary explanations: whoever pays several times a day out of one large coin makes such a chain, and the \
         rest is change. Services pay withdrawals this way, and wallets that mint tokens fund one-time scripts. \
         Evidence that would decide: where the small parts go, and where the first coin came from.",
        measured::PEEL_CHAIN,
    ],
};

pub(super) const ADDRESS_REUSE_PAGE: Definition = Definition {
    id: "signal-address-reuse",
    title: "Signal: address reuse",
    text: &[
        "A transaction pays the address after its first spend, or in the same transaction: change that goes back. The \
         first spend reveals the key, and reuse ties payments together.",
        "Ordinary explanations: donation pages, shops and employers use one address for years, and anybody can pay an \
         address again without its owner's consent. Evidence that would decide: whether the owner published the \
         address.",
        measured::ADDRESS_REUSE,
    ],
};

pub(super) const RAPID_PASS_THROUGH_PAGE: Definition = Definition {
    id: "signal-rapid-pass-through",
    title: "Signal: rapid pass-through",
    text: &[
        "Over the examined history, 90 % or more of all that others paid to the address, and at least 0.1 BTC, left \
         it within 144 blocks of its receipt. Mined coins have no sender, and do not count. A coin leaves with the \
         transaction that spends it, less the share that this transaction pays back. Payments by the address to \
         itself are not received.",
        "Ordinary explanations: exchanges and payment processors sweep each deposit address within minutes, and an \
         owner who moves coins to another wallet does the same. Evidence that would decide: who controls the place \
         where the coins go.",
        measured::RAPID_PASS_THROUGH,
    ],
};

pub(super) const FAN_IN_PAGE: Definition = Definition {
    id: "signal-fan-in",
    title: "Signal: many senders",
    text: &[
        "Ten or more senders pay the address within 144 blocks. A sender is a cluster, or a script that no \
         transaction ties to another, as of the newest block. Coinbases, CoinJoins and payments by the own cluster do \
         not count. The answer has the window with the most senders, and a payment of each.",
        "Ordinary explanations: shops, donation pages and services with one address, or an owner who gathers coins of \
         addresses that nothing ties together. Evidence that would decide: whether the address was published, and by \
         whom.",
        measured::FAN_IN,
    ],
};

pub(super) const FAN_OUT_PAGE: Definition = Definition {
    id: "signal-fan-out",
    title: "Signal: many recipients",
    text: &[
        "A transaction that spends from the address pays 20 or more scripts that it does not spend from. CoinJoins do \
         not count.",
        "Ordinary explanations: salaries, payouts of pools and exchanges, and owners who divide their coins. Evidence \
         that would decide: who owns the recipients.",
        measured::FAN_OUT,
    ],
};

pub(super) const DUST_RECIPIENT_PAGE: Definition = Definition {
    id: "signal-dust-recipient",
    title: "Signal: dust",
    text: &[
        "A campaign paid the address 1,000 satoshis or less after its first transaction: see dust campaigns. The \
         newest 50 such payments are judged. The recipient did nothing.",
        "Ordinary explanations: advertisements and tokens are sent this way, too. Evidence that would decide: what \
         the transactions of the campaign have in common, and whether the dust was spent with other coins.",
        measured::DUST_RECIPIENT,
    ],
};

pub(super) const MIXER_EXPOSURE_PAGE: Definition = Definition {
    id: "signal-mixer-exposure",
    title: "Signal: mixer nearby",
    text: &[
        "A claim says that a script within two transactions belongs to a mixer or behaves like one: a script that the \
         coins of the address came from, or one that they went to. The signal reads the traces of risk-exposure with \
         depth=2 and categories=mixer,mixing: the same claims count (the script's own, standing, uncontested, level 40 \
         or more), and the same stops end a trace. Its one bound of its own: each direction reads at most 1,000 \
         transactions besides those of the address. Exposure finds all that the signal finds; where nothing is \
         truncated, both find the same. The answer names the transactions of the nearest 100 scripts of each direction; \
         of further ones, the transaction at the end of the trace.",
        "Ordinary explanations: those who are paid by a user of a mixer have no part in it, and two transactions away \
         is often another owner. Evidence that would decide: who owns the scripts between.",
        measured::MIXER_EXPOSURE,
    ],
};

pub(super) const SANCTIONED_DIRECT_PAGE: Definition = Definition {
    id: "signal-sanctioned-direct",
    title: "Signal: listed address",
    text: &[
        "A list of sanctions has the address: a standing claim of the type listed_by about this very script, with the \
         behaviour sanctioned or without one. A contest does not change it; a listing that ended does not count. \
         Claims about other scripts of the cluster never count. The answer names the claims; no transaction shows it.",
        "It repeats claims, so no precision is measured: level and strength are those of the claim. Lists can be out \
         of date or wrong, and no list is complete. The authority's own publication decides.",
    ],
};

pub(super) const SANCTIONED_INDIRECT_PAGE: Definition = Definition {
    id: "signal-sanctioned-indirect",
    title: "Signal: listed address nearby",
    text: &[
        "A list of sanctions has a script within two transactions: one that the coins of the address came from, or one \
         that they went to. The signal reads the traces of sanctions-exposure with depth=2, with the same claims and \
         stops: a claim of the type listed_by with the behaviour sanctioned or without one, about the script itself, that \
         stands and has level 40 or more. Its bounds are those of the signal about mixers. The listing may be younger than \
         the payments: sanctions-exposure has dates and amounts.",
        "Ordinary explanations: anybody can be paid by a listed party without knowing it, also with dust, and two \
         transactions away is often another owner. Evidence that would decide: who owns the scripts between.",
        measured::SANCTIONED_INDIRECT,
    ],
};
