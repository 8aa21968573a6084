//! Definition of exposure.

use cairn_http::Definition;

pub(crate) const EXPOSURE: &str = "exposure";

pub(super) const EXPOSURE_PAGE: Definition = Definition {
    id: EXPOSURE,
    title: "Exposure",
    text: &[
        "Exposure is the part of an address's coins that came from scripts with claims, or went to them. It is evidence \
         of paths on the chain. It does not show that anybody knew, that a script belongs to a person, or that a coin is \
         good or bad. It is not a score. A counterparty that received coins in good faith has exposure too.",
        "A hop is a transaction. Sources: the coins that the address received are traced back for at most `depth` \
         transactions, then the amounts move forward. Destinations: the coins that it spent are followed for as many \
         transactions. One transaction away is a counterparty, two and more are indirect. Ownership is a claim about the \
         address itself: it covers all examined coins and stands apart from the sums.",
        "Haircut: each output of a transaction takes of every amount what its value is of the sum of the inputs, and so \
         does the fee. Amounts are whole millionths of a satoshi, and each step rounds down. FIFO: the satoshis of the \
         inputs fill the outputs, both in index order, and the last ones are the fee. Poison: every coin that a path \
         reaches counts wholly. It bounds haircut and FIFO of each coin. It is not an amount that moved: poison of several \
         rows or directions must not be added.",
        "Haircut and FIFO each add up: counterparty and indirect amounts of all rows, rows below min_share_ppm, mined, \
         fees and unresolved are together what the address received or sent. Satoshis that rounding down leaves are \
         unresolved with the reason rounding. Shares divide by all that the address received or sent, also where only \
         the newest 1 000 transactions are traced.",
        "A source is a script with a claim of its own that stands, that nobody contests, and whose level is 40 or more. \
         By category these count: behaviours that are flags, services, and perpetrators; `categories` chooses others. By \
         list, claims of the type listed_by count that have the behaviour sanctioned or none. A \
         script counts in one row only, that of its first claim: flags before kinds of entities, then the highest level. \
         `also` names its other categories or lists. The nearest source gets an amount; nothing is traced beyond it.",
        "A trace stops, in this order: at a source; at a coinbase; at a service, also one by its cluster (claims about \
         other scripts of the cluster make no source); at an address with more than 1 000 transactions; at an output \
         that is unspent or cannot be spent; at a CoinJoin, found by any of the detectors; after `depth` transactions. \
         Unless a source ends it, the amount is unresolved with this reason. Unresolved never means without a link. At \
         the last hop it is not looked up whether a CoinJoin spends a coin: the reason is hop_limit.",
        "Limits: the newest 1 000 transactions of the address, 5 000 coins, 5 000 transactions and 200 000 inputs and \
         outputs for each direction. The largest amounts are read first. `truncated`, `left_out` and the reasons of \
         unresolved show what they cut.",
        "Sensitivity: the claim on which the largest haircut of a row hangs. A script hangs on a claim if no claim of \
         another origin puts it into the same row. `without` is the row without this script; its amount would be \
         unresolved, or belong to sources behind it.",
        "A path is before the listing if its transaction at the source is older than the date that the list gives for \
         the entry; after, if it is not older than the first document with the claim, or its own date; otherwise unknown.",
        "`as_of` is a height of today's best chain. `labels_as_of` is a time, or a sequence number of the ledger of \
         input events: only documents count that were known then, and contests and delistings by then. With `as_of` \
         alone, claims count that were asserted by the time of that block, from all documents known today. With \
         `labels_as_of` alone, the chain counts up to that time.",
    ],
};
