//! What the terms in answers mean: one page for each id that answers name.

use cairn_http::Definition;

/// All of them.
pub(crate) const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "projected-blocks",
        title: "Projected blocks",
        text: &[
            "The blocks that miners would find next if nothing else came: the transactions of this server's copy of the \
             mempool, filled into blocks by the rules of Bitcoin Core's block template. Transactions are taken together \
             with the unconfirmed ones that they need: by the feerate of the package of ancestors as Core up to v30 \
             does it, or by chunks of linearized clusters as Core does it from v31 on; answers name which.",
            "Each block holds at most 4 000 000 weight units and 80 000 units of signature operations, of which some \
             are kept for the coinbase. What pays less than the floor of the template stays out. At most 8 blocks are \
             projected; the feerates of a block are those at which its transactions were chosen, not those of single \
             transactions. The projection is made anew some moments after the mempool changed.",
        ],
    },
    Definition {
        id: "recommended-fees",
        title: "Recommended fees",
        text: &[
            "Feerates in satoshis per virtual byte for a transaction that is sent now. Each aims at a projected block: \
             fastest at the first, half an hour at the third, an hour at the sixth, economy at the eighth. A block that \
             is at least 95 % full asks for its median feerate; one that is at most half full, or that is not there, \
             asks for the minimum; in between the feerate rises evenly from one to the other.",
            "The minimum is what the node asks for to take a transaction in, or what miners ask for if that is more. No \
             recommendation is below it, and none is above a faster one. They are estimates: what others send \
             meanwhile, and how soon blocks are found, nobody knows.",
        ],
    },
    Definition {
        id: "mempool-stress",
        title: "Mempool stress",
        text: &[
            "A number from 0 to 100: 100 × (0.35 b + 0.30 f + 0.20 g + 0.15 e), each component from 0 to 1.",
            "b, the backlog: ln(1 + blocks that wait) / ln 145, at most 1. f, the feerate: where the median feerate of \
             the next block stands among those of the last 30 days, as a share of them. g, the inflow: (virtual bytes \
             a second / 1 667 − 1) / 2, kept between 0 and 1; 1 667 bytes a second fill blocks as fast as they are \
             found. e, the entry: log10(the feerate that the node asks for / its minimum relay feerate) / 2, at most 1.",
            "A component that is not known yet, such as f before there is enough history, is null; the weights of the \
             others then grow in proportion, and the answer says so.",
        ],
    },
    Definition {
        id: "mempool-congestion",
        title: "Congestion of the mempool",
        text: &[
            "A word for how much waits, in full blocks: moderate above 1, high above 3, severe above 8, else low. The \
             thresholds stand beside the word in the answer.",
            "It speaks of amount only, not of price: a long queue of cheap transactions is a long queue.",
        ],
    },
    Definition {
        id: "mempool-eta",
        title: "When to expect an unconfirmed transaction",
        text: &[
            "The projected block that holds the transaction, counted from the next: 1 is the next block. One that no \
             projected block holds is expected after all of them, at the earliest.",
            "Seconds are the number of blocks times ten minutes: the mean of what the network aims at, whatever time \
             has passed since the last block, because the finding of blocks has no memory.",
        ],
    },
    Definition {
        id: "fee-distribution",
        title: "Distribution of feerates",
        text: &[
            "The unconfirmed transactions by feerate: how many there are in each class, their virtual bytes and their \
             fees. A transaction stands in the class of the feerate at which it would be mined: that of the package or \
             chunk that it would be taken with.",
            "The bounds of the classes are fixed and stand in the answer; a class holds what is at least its lower \
             bound and less than its upper one.",
        ],
    },
];
