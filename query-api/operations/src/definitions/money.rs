//! Definitions of what a wallet gained and lost.

use cairn_http::Definition;

/// Id of the definition of profit and loss.
pub(crate) const PROFIT_AND_LOSS: &str = "profit-and-loss";

/// The page about profit and loss.
pub(super) const PROFIT_AND_LOSS_PAGE: Definition = Definition {
    id: PROFIT_AND_LOSS,
    title: "Profit and loss of a wallet",
    text: &[
        "A wallet is the addresses that the request names, nothing else: other addresses of the same owner count as others. Only confirmed \
         transactions count. Times and years are those of monotone block time (UTC). A price is the last one that was known at the \
         block's time: a daily candle is known from its end on.",
        "For each transaction, in is what the inputs of the wallet bring, out what its outputs get. If in is zero, out is acquired \
         at the price of the time; of a coinbase it is income. If all inputs are the wallet's, and all outputs that get anything, \
         it is a transfer: only the fee leaves. Else the wallet bears the fee in proportion to its inputs, rounded down. d is in, less out, less that share: \
         if it is above zero, d is disposed of at the price of the time; if it is below zero, so much is acquired.",
        "What leaves has cost a part of what is held. By average cost: the cost of all that is held × the quantity ÷ all that is held. By fifo: what the oldest lots \
         had cost; a lot is an output that came in, in the order of the chain. Shares of fees leave at their cost and bring nothing: they are losses, \
         but neither wins nor losses are counted of them. In one transaction the disposal comes before the fee. Lots are counted first in first out with both.",
        "Amounts of money are whole millionths, each rounded half to even once. Realized is proceeds less costs; unrealized is market value now less \
         the cost of what is held. Both together equal market value and proceeds, less the cost of all that came in: that is \
         checked for each answer, and so is the quantity with the coins of the addresses.",
        "Where a price is missing, the amount is null, and so is each sum that it is part of: never zero. A pool that has become empty is known again. Prices in \
         other currencies are their own, or dollars at the reference rate of the last business day before.",
        "Example, of the demo chain: bcrt1qsev7nzxvg9ec4hzwzrcw4ngqjjvt20tu0cfpxp acquired 122207232 satoshis, which cost 69787.429712 dollars, and \
         disposed of 122206754 for 111252.714943; its fee was 478. Nothing is left, so all that it gained is realized: 111252.714943 less \
         all that the coins had cost, those of the fee among them: 41465.285231.",
        "It is arithmetic over public data, not tax advice: it knows neither who owns an address, nor what was agreed outside of the chain.",
    ],
};

/// Id of the definition of whole wallets.
pub(crate) const WHOLE_WALLETS: &str = "whole-wallets";

/// The page about whole wallets.
pub(super) const WHOLE_WALLETS_PAGE: Definition = Definition {
    id: WHOLE_WALLETS,
    title: "Whole wallets, by descriptors or extended public keys",
    text: &[
        "An output descriptor (BIP 380) says which scripts a wallet has; an extended public key says it by the kind of its prefix: xpub and tpub stand for \
         pkh, sh(wpkh), wpkh and tr (BIP 44, 49, 84, 86), ypub and upub for sh(wpkh), zpub and vpub for wpkh. Each with the steps 0 (to receive) \
         and 1 (change), if the key is that of an account; a key below it has its addresses directly.",
        "A branch is a descriptor with all steps but the last: its addresses have the indexes 0, 1, 2 and so on. An address is used if a transaction \
         funds it, confirmed or not. A branch ends after gap_limit unused ones in a row; so money beyond a larger gap is not found. With a range, \
         as Bitcoin Core's listdescriptors tells it, those indexes are looked at and no others.",
        "All used addresses count as one wallet: balance is the sum of their coins, a transaction counts once, and what moves between them is neither \
         income nor disposal. Dashboard and profit and loss are those of one address with the others as its own.",
        "Whoever has a descriptor of the wallet sees all its addresses, past and to come. It goes over the wire to this server, and lives in its memory until the \
         answer is made: it is not stored, not logged, not cached, not repeated in an answer or an error. A cursor has 8 bytes of a hash of it. Private keys \
         and recovery phrases are refused before anything else is read.",
        "Bounds: 20 descriptors or keys, 64 branches, 20 000 addresses to look at, 100 000 transactions of all addresses together.",
    ],
};

/// Id of the definition of graphs of flows.
pub(crate) const FLOW_GRAPH: &str = "flow-graph";

/// The page about graphs of flows.
pub(super) const FLOW_GRAPH_PAGE: Definition = Definition {
    id: FLOW_GRAPH,
    title: "Graphs of who pays whom",
    text: &[
        "What one party brings into a transaction goes to its outputs in proportion to their values, the fee as one more output: shares are rounded \
         down, and what is left goes by one satoshi to those with the largest remainders. So what a payer brings is what leaves it. An edge is the sum \
         of such parts over transactions. It says which coins went where in proportion, not who meant to pay whom: a transaction with several \
         inputs does not say whose coins went to which output.",
        "In a CoinJoin nobody knows who pays whom, so it is an end, as are coinbases, fees and outputs that nobody can spend. What a node pays itself is hidden, mostly change; \
         self_sats has it. Only confirmed transactions count.",
        "The graph grows hop by hop: outwards along what nodes pay, inwards along what nodes receive. In each hop the nodes with the largest values on edges \
         of min_btc or more are taken, of equal ones always the same; each hop has its part of node_limit, and what later hops do not need is filled up \
         with the largest of those left out. accounting says where the value of all that was looked at is: seen is shown, to oneself, below the minimum, \
         and omitted.",
        "Bounds: the newest 1 000 transactions of a script, 5 000 edges in a hop, 10 000 transactions and 200 000 of their inputs and outputs in all, \
         1.2 seconds. Of a node of several scripts those 20 are followed that moved most. If a bound is reached, partial is true and \
         truncated_reasons names it. Without a bound of time, the same question at the same tip has the same answer.",
        "A node has the depth of the hop that took it, which is a later one if the first that saw it had no room; it is on the side of its larger value, outwards \
         if both are equal. With fold=cluster, scripts of one cluster as of the newest block are one node, unless it has a suspect merge; with fold=entity, scripts that \
         labels say are one entity's, others by cluster; the node asked about is followed by its script alone, others by those of their \
         scripts that the walk has met. Places are layered: columns by hops, rows sorted so that edges cross less.",
    ],
};
