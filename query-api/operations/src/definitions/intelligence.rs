//! Definitions of answers that put together what is known about an address.

use cairn_http::Definition;

pub(crate) const ADDRESS_INTELLIGENCE: &str = "address-intelligence";

pub(crate) const RISK_CHECK: &str = "risk-check";

pub(super) const RISK_CHECK_PAGE: Definition = Definition {
    id: RISK_CHECK,
    title: "Risk check",
    text: &[
        "The evidence about one address in one answer: its trust card (see claims), the signals of all detectors (see \
         risk-signals), and its exposure to lists of sanctions and to claimed risk (see exposure), over one \
         transaction, or two with depth 2. It adds nothing to these parts: there is no score, no verdict and no advice, \
         and not_a_recommendation is always true.",
        "Each part has a status. unavailable: the server could not compute it, for the reason that is given; the other \
         parts are complete. An unavailable part, a signal that is not_examined and an amount that is unresolved say \
         nothing about the address. Each part may use an equal share of the work of the request; so a part that needs \
         too much does not take the others with it.",
        "In a batch, transactions, clusters and claims that several addresses have in common are read once. An address \
         that is given several times is computed once and answered each time. No address is begun after half of the \
         time or of the work of the request is used: the rest have the error unavailable and can be asked for again. \
         Depth 2 takes at most 10 addresses.",
    ],
};

pub(super) const ADDRESS_INTELLIGENCE_PAGE: Definition = Definition {
    id: ADDRESS_INTELLIGENCE,
    title: "Intelligence about an address",
    text: &[
        "The best label is that of the trust card: the best supported claim of sources about the address, with its \
         level, its tier and its source; see claims. Activity counts confirmed transactions, in total and in the 1, 7 \
         and 30 days before the newest block by monotone block time; the unconfirmed sums are those of this server's \
         mempool at the same tip.",
        "A cohort is a group of addresses with something in common. cluster: the scripts that transactions spend \
         together with the address, directly or over others, as of the newest block; see clusters. label_pattern: the \
         addresses whose label names the same entity, or, without an entity, has the same words. The count includes \
         the address itself; the sample has at most 5 others, of an entity those with the newest transactions. Labels \
         about natural persons give no cohort. A cohort is a hint where to look: a cluster is a heuristic, and a label \
         is a statement of a source. Nothing that is known of one member is evidence about another.",
        "Signals are alerts of the last 30 days before the newest block, by monotone block time, whose transaction \
         spends from the address or pays it: whale_tx, coinjoin_round (a CoinJoin that pays 100 BTC or more), \
         consolidation, awakening, dormancy_flush, whale_wakeup and dust_campaign. Each scanner has a definition of \
         its own. A flush or a wake-up of the cluster in which the address takes no part has the role cluster. The \
         value is what the address spends in the transaction, or else receives; with the role cluster, the old coins \
         that the alert is about. At most 20 signals are listed, the newest first.",
        "The newest 500 transactions of the address are looked up, of these at most 50 that spend old coins and 20 \
         that bring dust; and the newest 500 flushes and wake-ups each. Where that does not reach back 30 days, the \
         scanner is cut, and covered_from_height says how far it reaches. Unconfirmed transactions give no signal. A \
         missing signal says nothing about the address beyond these transactions. The numbers are ours.",
    ],
};
