//! Definitions of prices, and of what a wallet gained and lost.

use cairn_http::Definition;

pub(crate) const PROFIT_AND_LOSS: &str = "profit-and-loss";

pub(super) const PROFIT_AND_LOSS_PAGE: Definition = Definition {
    id: PROFIT_AND_LOSS,
    title: "Profit and loss of a wallet",
    text: &[
        "A wallet is the set of addresses in the request, nothing else: other addresses of the same owner count as \
         others. Only confirmed transactions count. Times and years are those of monotone block time (UTC). A price is \
         the last one known at the block's time: a daily candle is known from its end on.",
        "For each transaction, in is the sum of the wallet's inputs, out the sum of its outputs. If in is zero, out is \
         acquired at the price of that time; from a coinbase, it is income. If all inputs and all outputs with a value \
         belong to the wallet, it is a transfer: only the fee leaves. Otherwise the wallet bears the fee in proportion \
         to its inputs, rounded down. d is in − out − that share: if it is positive, d is disposed of at the price of \
         that time; if it is negative, −d is acquired.",
        "Coins that leave take a part of the cost of the holdings. By average cost: cost of the holdings × quantity \
         that leaves ÷ quantity held. By fifo: the cost of the oldest lots; a lot is an output that came in, in the \
         order of the chain. Shares of fees leave at their cost and bring nothing: they reduce the gain, but count as \
         neither wins nor losses. In one transaction, the disposal comes before the fee. With both methods, lots are \
         counted first in, first out.",
        "Amounts of money are whole millionths, each rounded half to even once. Realized gain is proceeds − costs; \
         unrealized gain is current market value − cost of the holdings. Their sum equals market value + proceeds − \
         cost of all coins that came in. Each answer is checked for this, and the quantity against the coins of the \
         addresses.",
        "Where a price is missing, the amount is null, never zero, and so is each sum that contains it. Once all coins \
         of unknown cost have left, costs are known again. A price in another currency is its own, or the dollar price \
         at the reference rate of the last business day before.",
        "Example, of the demo chain: bcrt1qsev7nzxvg9ec4hzwzrcw4ngqjjvt20tu0cfpxp acquired 122207232 satoshis, which \
         cost 69787.429712 dollars, and disposed of 122206754 for 111252.714943; its fee was 478. Nothing is left, so \
         the whole gain is realized: 111252.714943 minus the cost of all coins, including those of the fee: \
         41465.285231.",
        "It is arithmetic over public data, not tax advice: it knows neither who owns an address, nor what was agreed outside of the chain.",
    ],
};

pub(crate) const WHOLE_WALLETS: &str = "whole-wallets";

pub(super) const WHOLE_WALLETS_PAGE: Definition = Definition {
    id: WHOLE_WALLETS,
    title: "Whole wallets, by descriptors or extended public keys",
    text: &[
        "An output descriptor (BIP 380) defines the scripts of a wallet; an extended public key defines them by its \
         prefix: xpub and tpub stand for pkh, sh(wpkh), wpkh and tr (BIP 44, 49, 84, 86), ypub and upub for sh(wpkh), \
         zpub and vpub for wpkh. The key of an account has the steps 0 (receiving) and 1 (change) before the index; a \
         key below it has its addresses directly.",
        "A branch is a descriptor with all steps but the last: its addresses have the indexes 0, 1, 2 and so on. An \
         address is used if a transaction funds it, confirmed or not. A branch ends after gap_limit unused addresses \
         in a row, so money beyond a larger gap is not found. With a range, as in Bitcoin Core's listdescriptors, only \
         the indexes of the range are looked up.",
        "All used addresses count as one wallet: balance is the sum of their coins, a transaction counts once, and a \
         payment between them is neither income nor disposal. Dashboard and profit and loss treat all addresses as \
         one.",
        "A descriptor shows all addresses of the wallet, past and future. It is sent to this server, and stays in \
         memory until the answer is complete: it is not stored, not logged, not cached, and not repeated in an answer \
         or an error. A cursor has 8 bytes of a hash of it. Private keys and recovery phrases are refused before \
         anything else is read.",
        "Limits: 20 descriptors or keys, 64 branches, 20 000 addresses to look up, 100 000 transactions of all \
         addresses together.",
    ],
};

pub(crate) const FLOW_GRAPH: &str = "flow-graph";

pub(super) const FLOW_GRAPH_PAGE: Definition = Definition {
    id: FLOW_GRAPH,
    title: "Graphs of who pays whom",
    text: &[
        "The sum that one party brings into a transaction goes to its outputs in proportion to their values, with the \
         fee as one more output. Shares are rounded down, and the rest goes, one satoshi each, to those with the \
         largest remainders. So the parts of a payer add up to the sum that it brings. An edge is the sum of such \
         parts over transactions. It says which coins went where in proportion, not who meant to pay whom: a \
         transaction with several inputs does not say whose coins went to which output.",
        "In a CoinJoin payers and payees are unknown, so it is an end, as are coinbases, fees and unspendable outputs. \
         Payments of a node to itself, mostly change, are hidden; self_sats has their sum. Only confirmed transactions \
         count.",
        "The graph grows hop by hop: outwards along what nodes pay, inwards along what nodes receive. Each hop takes \
         the nodes with the largest values on edges of min_btc or more; ties have a fixed order. Each hop has its part \
         of node_limit; places that later hops do not need go to the largest nodes left out. accounting divides the \
         value that was read: seen is the sum of shown, self, below the minimum, and omitted.",
        "Limits: the newest 1 000 transactions of a script, 5 000 edges in a hop, 10 000 transactions and 200 000 of \
         their inputs and outputs in all, 1.2 seconds. In a node of several scripts, the 20 that moved most are \
         followed. If a limit is reached, partial is true and truncated_reasons names it. Unless the time limit is \
         reached, the same request at the same tip has the same answer.",
        "A node has the depth of the hop that took it, which may be a later one than the first to reach it; it is on \
         the side of its larger value, outwards if both are equal. With fold=cluster, scripts of one cluster as of the \
         newest block are one node, unless it has a suspect merge. With fold=entity, scripts that labels attribute to \
         one entity are one node, others by cluster. The requested node is followed by its script alone, other nodes \
         by those of their scripts that were found. Positions are layered: columns by hops, rows sorted so that fewer \
         edges cross.",
    ],
};

pub(super) const PRICE_PAGE: Definition = Definition {
    id: "price",
    title: "Price of bitcoin",
    text: &[
        "The price at a time is the last one that was known then. A candle is known at its close: a day's at 00:00 \
         UTC of the next day. Among candles of minutes, hours and days, the one that closed last counts; if \
         several closed at the same time, the longest. The current price is the latest one from the sources, if it \
         is newer than every candle.",
        "The price of a candle is the median of the sources, without those that are more than 5 % from the median \
         of all. With two sources it is the mean; if they are more than 5 % from it, the price is disputed. When a \
         source corrects a candle, the new value replaces the old one at once and everywhere.",
        "A price in a currency is the one quoted in it. If there is none, or if it is stale and the dollar price \
         is not, the price in US dollars is converted: see exchange rate. The price of a day is the last candle \
         that closed on it, its end included; a day without one has no price. The day of the newest block may not \
         be over: it has the last price that is known so far.",
        "The change within a day compares the current price with the one known 24 hours earlier. It is null if the \
         earlier price was stale at that time.",
        "Prices are exact decimals, rounded to 8 significant digits where they are shown. Values are products of \
         exact numbers, rounded to 2 decimals, half to even. An unknown price is null, with a reason, and never 0.",
    ],
};

pub(super) const PRICE_STALENESS_PAGE: Definition = Definition {
    id: "price-staleness",
    title: "When a price is stale",
    text: &[
        "A price is stale if it is older than twice the interval of its candle and older than ten minutes: a daily \
         close after two days, an hourly one after two hours, one of a minute and a live price after ten minutes. \
         A converted price is stale also if its exchange rate is: after five days, since no rates are published on \
         weekends and holidays, Easter being the longest such pause.",
        "A stale price is returned with its time and source, and marked. An exchange rate more than 30 days old \
         converts nothing, unless the price in US dollars is as old: then the rate of that time is used. These \
         thresholds are ours.",
    ],
};

pub(super) const EXCHANGE_RATE_PAGE: Definition = Definition {
    id: "exchange-rate",
    title: "Exchange rates",
    text: &[
        "Reference rates of the euro, such as the European Central Bank's, one for each business day. The rate of a day is \
         used from the end of that day on (00:00 UTC): at any time, the rate is that of the last business day before.",
        "One unit of A is (units of B for one euro) ÷ (units of A for one euro) units of B, both of the same day: the last \
         one that has both. So US dollars become euros by 1 ÷ the dollar's rate, and other currencies by the quotient \
         of two rates.",
    ],
};
