//! Definitions of what moves: large payments, old coins, gathered coins, miners, and the feed of all that.

use cairn_http::Definition;

/// Id of the definition of old coins that move.
pub(crate) const OLD_COINS: &str = "old-coins";
/// Id of the definition of clusters that spend many old coins at once.
pub(crate) const DORMANCY_FLUSHES: &str = "dormancy-flushes";
/// Id of the definition of large holders that spend after years.
pub(crate) const WHALE_WAKEUPS: &str = "whale-wakeups";
/// Id of the definition of large holders that have been quiet for years.
pub(crate) const DORMANCY_WATCHLIST: &str = "dormancy-watchlist";
/// Id of the definition of transactions that move much.
pub(crate) const WHALE_ALERTS: &str = "whale-alerts";
/// Id of the definition of the feed.
pub(crate) const FEED: &str = "activity-feed";
/// Id of the definition of transactions that gather many coins.
pub(crate) const CONSOLIDATIONS: &str = "consolidations";
/// Id of the definition of the flows of miners.
pub(crate) const MINER_FLOWS: &str = "miner-flows";
/// Id of the definition of campaigns that send dust.
pub(crate) const DUST_CAMPAIGNS: &str = "dust-campaigns";
/// Id of the definition of the flows of exchanges.
pub(crate) const EXCHANGE_FLOWS: &str = "exchange-flows";

/// The page about old coins that move.
pub(super) const OLD_COINS_PAGE: Definition = Definition {
    id: OLD_COINS,
    title: "Old coins that move",
    text: &[
        "The age of a coin is the time from the block that made it to the block that spends it, by monotone block time; of an \
         unconfirmed spend, to the newest block. A year has 365 days. A coin is one output: that an owner moved other coins \
         meanwhile does not change its age.",
        "Awakening: a spent coin of 365 days or more, worth 10 BTC or more. Dormant movement: a transaction of which the inputs of \
         five years or more are worth 10 BTC or more together. Dormant alert: a movement of the last 24 hours before the \
         newest block, or one in the mempool, which may never confirm. pulse_dormant takes any age from a year on. The \
         numbers are ours.",
        "Coin-days destroyed are the sum of value times age over the old coins, in bitcoin times days. The average age is \
         weighted by value. Ages and sums cover the old coins of a transaction, not its other inputs.",
        "A movement is no sale. Coins also move when an owner changes keys or wallets, or when a service sorts its coins. Labels are \
         what sources say today, not when the coins moved.",
        "Lists are computed from the transactions that spend coins of a year and more, which the index keeps. So much is looked through \
         for one page; if that is not enough, the page has fewer rows, says so (truncated), and its cursor goes on. A cursor \
         stays valid when blocks are added; a reorg that replaces the block that it names ends it (409).",
        "Example, of the demo chain: in block 2420 a miner of the first weeks moves coins for the last time. Transaction \
         8828b52ed2aca8efb3d4767df7956ab8e6a323226ca9cb03e1f0f49ff756ac38 spends 3 coins of 150 BTC together. The oldest is 5104 \
         days old, they are 5102.12 days old on average, and 150 BTC times that are 765318.4693287 coin-days destroyed: a \
         dormant movement, and 3 awakenings.",
    ],
};

/// The page about clusters that spend many old coins at once.
pub(super) const DORMANCY_FLUSHES_PAGE: Definition = Definition {
    id: DORMANCY_FLUSHES,
    title: "Dormancy flushes",
    text: &[
        "A dormancy flush: one cluster spends coins of two years or more that are worth 100 BTC or more together, within 144 \
         blocks. It begins with the first such spend and has the spends of that block and of the 143 blocks after it; then \
         the next spend begins another one. The cluster is as it is with each spend; a script that no transaction ties to \
         another is a cluster of its own. If two clusters become one while both have a flush that is open, the later flush \
         becomes a part of the earlier one. Ages go by monotone block time, a year has 365 days. The numbers are ours.",
        "The class is the first that holds, for the spends with most old value, 16 at most. exchange_bound: half or more of \
         their old value reaches scripts that count as an exchange's by today's labels, with the spend or with one \
         transaction after it, in 144 blocks; value is followed in proportion to outputs. consolidation: each has three \
         inputs or more and one output, or brings 95 percent or more back to the cluster. key_migration: each pays one or \
         two scripts outside the cluster, which no block had before, which are of a newer type than all that it spends \
         (P2PK, P2PKH, P2SH, version 0, version 1), and whose outputs stay unspent for 1 008 blocks. holder_rotation: the \
         same without a newer type, for any number of scripts. Else unknown. While later blocks can change it, it is \
         provisional.",
        "It is an inference from transactions: who holds the new keys is not known, and a flush is no sale.",
        "Example, of the demo chain: in block 1850 the script bcrt1pkk7ua6g4d4zhlth8uwdgcvn96ykjhj8y4pwawlpnf7ppwk2zr6nq2qmwf8 spends 10 coins \
         of 215 BTC in 3 transactions, the first of which is c29c355f36a86b11b8a1c837a09ab3d2b04d2b7b75dde40af8680a6318d99a9c. They are \
         2593.52 days old on average. 89.1 percent of their value reaches the exchange: exchange_bound.",
    ],
};

/// The page about large holders that spend after years.
pub(super) const WHALE_WAKEUPS_PAGE: Definition = Definition {
    id: WHALE_WAKEUPS,
    title: "Whale wake-ups",
    text: &[
        "A whale wake-up: a cluster had coins of two years or more that were worth 1 000 BTC or more together, none of its \
         scripts had spent anything for two years, and then it spends: old coins or others. The cluster is as it was before \
         that transaction; a script that no transaction ties to another is a cluster of its own. What it received meanwhile, \
         as dust, does not wake it. Ages go by monotone block time, a year has 365 days. A transaction can wake several \
         clusters. The numbers are ours.",
        "test_spend: the transaction spends less than 1 percent of these old coins. The row says when the cluster spent \
         before, or if it never had, when it was first paid.",
        "A wake-up is no sale, and does not say that the owner is the same: keys are moved, inherited and stolen.",
        "Example, of the demo chain: a miner of the first weeks had 1100 BTC of one script and never spent. In block 2385 transaction \
         eb26d9bf62b8b47171e323802036a72988ed15e05f2420d67ebb0e4f0d6703ff spends 50 BTC of them, 4.54 percent, 5046 days after \
         dbfd736ad2ed5150cbe189f7fcbf544c6499858f4a5d91a4973b4147b8d57f4c paid it first.",
    ],
};

/// The page about large holders that have been quiet for years.
pub(super) const DORMANCY_WATCHLIST_PAGE: Definition = Definition {
    id: DORMANCY_WATCHLIST,
    title: "Dormancy watchlist",
    text: &[
        "The watchlist has every cluster that holds coins of five years or more worth 500 BTC or more together, and none of \
         whose scripts spent anything for five years. A script that no transaction ties to another is a cluster of its own. \
         What a cluster received meanwhile, as dust, neither counts nor takes it off. Ages go by monotone block time, a year \
         has 365 days. The numbers are ours.",
        "It is made of the whole index as of one block, which the answer names, and made anew after 144 blocks or when that \
         block is gone. Who spends in between stays until then; whale wake-ups tell of that at once. The hash of the set is \
         SHA-256 over a line for each cluster, those with most old coins first: \"cluster\" and the id of the transaction \
         that it is named after, or \"script\" and the SHA-256 of the script in hex, a space before and after, then the \
         satoshis and a line feed. Two servers with the same hash have the same set. The tables are ordered by satoshis, \
         then scripts before clusters, each by their keys in the index.",
        "Coins that do not move may be lost, kept, or nobody's: the list does not tell.",
        "Example, of the demo chain as of block 3000: 2 clusters hold 8169.6056726 BTC. The first is the cold wallet of the exchange, \
         bcrt1qf044l2ah8pttggwlrce635354gxzstsu356was00h4tvstg4s29s255zq2, with 4658.72289415 BTC: it was paid first 4702 days \
         before, and never spent.",
    ],
};

/// The page about transactions that move much.
pub(super) const WHALE_ALERTS_PAGE: Definition = Definition {
    id: WHALE_ALERTS,
    title: "Whale alerts",
    text: &[
        "A whale alert is a transaction that pays 100 BTC or more to others (net_external): what its outputs give to scripts \
         that it does not spend from and that are in no cluster that it spends from. The clusters are those with this \
         transaction, which may tie several together. Outputs that nobody can spend are not paid, a coinbase pays nobody, and \
         a CoinJoin is no alert, since nobody knows who pays whom. The bands begin at 100, 1 000 and 10 000 BTC. The numbers \
         are ours.",
        "Nobody knows which output is change if it goes to a new script. So a second sum stands beside the first \
         (net_external_min): if several outputs go to others, the largest of those to scripts that no block had before is left \
         out, with the caveat change_guess. The truth is one of the two, or lies below both if several are change.",
        "A side is an entity's if at least half of its value is: of the inputs, or of the outputs to others. A script counts \
         by what lists say of itself, else by what is said of its cluster; scripts of clusters with a suspect merge count for \
         nobody. An alert is labelled if at least half of the value of one side is. The direction is the first that holds: \
         internal (both sides are one entity's), cross_exchange, from_exchange, to_exchange, miner_out (from a miner or a \
         mining pool), unknown. Labels are joined when an alert is read: an import can change the direction of old ones.",
        "That coins moved does not say that they were sold, nor that the owner changed.",
        "Lists are computed from the large transfers that the index keeps. So much is looked through for one page; if that is \
         not enough, the page has fewer rows, says so (truncated), and its cursor goes on. A cursor stays valid when blocks \
         are added; a reorg that replaces the block that it names ends it (409).",
        "Example, of the demo chain: transaction 8828b52ed2aca8efb3d4767df7956ab8e6a323226ca9cb03e1f0f49ff756ac38 in block 2420 spends \
         150 BTC of one script. 120 BTC go to a deposit address of the exchange, the rest goes back to the script. So it pays \
         120 BTC to others; as only one output does, no change is guessed. The deposit address counts as the exchange's because \
         of its cluster: to_exchange.",
    ],
};

/// The page about the feed.
pub(super) const FEED_PAGE: Definition = Definition {
    id: FEED,
    title: "Activity feed",
    text: &[
        "What this server announced, in its order: each block (block), large payments to others (whale_tx, see whale-alerts), \
         CoinJoins that pay 100 BTC or more (coinjoin_round), old coins that woke up (awakening, see old-coins), clusters whose \
         spends of old coins reached 100 BTC (dormancy_flush, see dormancy-flushes), large clusters that woke up (whale_wakeup, see \
         whale-wakeups), coins of 10 BTC and more that were gathered (consolidation, see consolidations), imported labels \
         (label_change, or sanctions_list_change for a list of sanctions) and reorganizations (reorg). A whale_tx from or to an exchange is an exchange_flow_large, one from a miner or a mining \
         pool a miner_payout_large, as far as today's labels tell: these are no announcements of their own, and labels change \
         them.",
        "An announcement never changes and is never removed. If a reorg removes its block, a reorg event says so, then a \
         retraction follows for each announcement about the blocks that are gone, once, the newest first; what the new blocks \
         have is announced anew. Only what is at the tip is announced: while an index catches up, it announces nothing. A feed \
         begins with the newest 2 016 blocks that the index has then.",
        "The id of an announcement is the time when the feed began, a hyphen, and its number; numbers have no gaps. An index \
         that is made anew has another feed. Two servers announce the same blocks in their own order, at their own time.",
        "/v1/events gives the announcements after an id, the oldest first. Asked with Accept: text/event-stream, it stays \
         open and sends what is announced, each once: a client that connects again with Last-Event-ID goes on after that. If \
         the id is of another feed, or is gone, an event reset comes first. Retractions are not filtered by address or entity, \
         since the transaction may be gone: a client passes over those of events that it has not seen.",
        "Example, of the demo chain: the miner who wakes up in block 2385 is announced three times. whale_wakeup with transaction \
         eb26d9bf62b8b47171e323802036a72988ed15e05f2420d67ebb0e4f0d6703ff, 1100 BTC: what the script had. dormancy_flush in block \
         2391 with 7bfdcf6d77c56728b8441b82e0d8dc5487fb4de277340a51df50a3848b91a57b, 400 BTC: what it had spent by then. whale_tx in \
         block 2420 with 8828b52ed2aca8efb3d4767df7956ab8e6a323226ca9cb03e1f0f49ff756ac38, 120 BTC: what goes to the exchange.",
    ],
};

/// The page about transactions that gather many coins.
pub(super) const CONSOLIDATIONS_PAGE: Definition = Definition {
    id: CONSOLIDATIONS,
    title: "Consolidations",
    text: &[
        "A consolidation is a transaction with ten inputs or more, and with five inputs or more for each output, that no \
         detector takes for a CoinJoin. Outputs that nobody can spend count, too. The numbers are ours.",
        "Services gather the coins of many deposits this way, mostly while fees are low. It says nothing about who owns the \
         outputs: a payment can gather coins as well. Whose a side is, is told as for whale alerts, over all inputs and all \
         outputs.",
        "Example, of the demo chain: transaction 1cc5a5adecc7696e0f369cc4de11e69b635d60593cce866a48cd97d53fe496bd in block 2993 has 40 inputs of \
         65.5226141 BTC together, and 1 output.",
    ],
};

/// The page about flows of miners.
pub(super) const MINER_FLOWS_PAGE: Definition = Definition {
    id: MINER_FLOWS,
    title: "Flows of miners",
    text: &[
        "A pool's scripts are those that hold what it mines: scripts that claims name as the pool's and that coinbases of the last \
         52 560 blocks pay, and all scripts that coinbases of its blocks pay if these have two outputs at most that can be spent. \
         Which blocks are a pool's is told as on the page about mining pools. Blocks of none are unidentified.",
        "Mined is what its coinbases pay: subsidy and fees. Outflow, transaction by transaction: what its scripts send less what they \
         receive, less their share of the fee (fee times what they send, divided by all inputs, rounded down); nothing if that is \
         below zero. To exchanges is what such a transaction pays to scripts that count as an exchange's by today's labels, or by \
         those of their clusters, at most the outflow. Reserve is what the scripts hold now. Days are UTC days of monotone block \
         time.",
        "Of a pool most of whose blocks pay its members in the coinbase, only what was mined counts. A pool with very many transactions \
         is not read to the end: its flows are null then, with the reason. An outflow is no sale: pools pay their members, and \
         move coins between wallets that nobody has named.",
        "Example, of the demo chain: on 2025-12-29 the coinbases of 107 blocks pay stone-pool 3278142 satoshis, all on one script. 4568926 \
         satoshis leave it that day, of which 1847800 go to the exchange.",
    ],
};

/// The page about flows of exchanges.
pub(super) const EXCHANGE_FLOWS_PAGE: Definition = Definition {
    id: EXCHANGE_FLOWS,
    title: "Flows of exchanges",
    text: &[
        "An exchange is an entity that most of its labels call one, today. Its scripts are those that lists name for it and the others of \
         their clusters, as far as claims extend to them; scripts about which votes conflict, and clusters with a suspect \
         merge, count for nobody.",
        "Transaction by transaction, with i the inputs of an exchange and o the outputs to it: internal is the smaller of i and o, change \
         included. Inflow is o less i, if that is above zero. Its share of the fee is fee times i, divided by all inputs, \
         rounded down, and at most i less o. Outflow is i less o less that share. If several exchanges take part, the smaller \
         of all inflows and all outflows goes from exchange to exchange: totals leave it out, and it stands beside. Of each exchange, \
         from_exchanges and to_exchanges are its part in proportion, rounded down. Days are UTC days of monotone block time.",
        "Mode latest takes the labels of today for the whole history. All histories are read anew once in 144 blocks, and some blocks after \
         documents have changed who is named; blocks since count with the labels that there were when they came, and what labels \
         and clusters change meanwhile is reclassified, until all is read anew. Before that, reclassified is 0.",
        "Mode pit takes for each block the claims that were asserted by then (asserted_at, else when the document was retrieved) and the \
         clusters as they were with it. What a script holds when it begins to count is reclassified, and what it holds when it \
         ceases to is taken off. What a list no longer says counts for the time when it said it. It is as of the block \
         up to which histories were read last.",
        "So over any days, in both modes: what an exchange holds changes by inflow less outflow less fees plus reclassified.",
        "Point in time means by assertion, not by what this index knew then. A list that came in 2026 can say who held a script in 2020. \
         backfilled is the part of inflow and outflow that comes from scripts which no document named for the exchange, itself or its \
         cluster, that this index had received by the end of that day. Whoever tests a strategy on old data needs it: \
         what is backfilled nobody could have seen here.",
        "An inflow is no sale, and an outflow no purchase. Scripts that no list names are missing, so all sums are at least so much, as \
         far as the labels are right.",
        "Example, of the demo chain: on 2025-12-30 cairn-exchange takes part in 269 transactions. 139370853967 satoshis come in, \
         131961403213 go out, 604823634673 come back to it, and its part of the fees is 362390. In mode pit its scripts begin to \
         count on 2025-10-04, the day from which the lists name it: then 521368287703 satoshis are reclassified.",
    ],
};

/// The page about campaigns that send dust.
pub(super) const DUST_CAMPAIGNS_PAGE: Definition = Definition {
    id: DUST_CAMPAIGNS,
    title: "Dust campaigns",
    text: &[
        "A ping pays 1 000 satoshis or less to a script that an earlier transaction paid and that it does not spend from. A transaction \
         that spends such dust itself, that pays nothing else, or that has the mark of a protocol in an OP_RETURN output (runes, \
         Omni), carries something else and is none. A coinbase is none.",
        "Pings are of one group if they have the same first OP_RETURN output, byte for byte. Without one, a ping is of the groups of itself and of the \
         transactions that fund it: that which made its largest input, and so on, three at most; if one of these is such a ping, it is of the groups \
         of that one. A group is a campaign from the ping on with which it has paid 100 different scripts with a history within \
         30 days, by monotone block time. Of a group that is none, pings are forgotten after 30 days, and the newest 1 000 are \
         looked at. The numbers are ours.",
        "Labels are joined when an address is asked for. A ping whose largest input is a known service's (an exchange, a pool, a shop, a \
         faucet and the like) is none. Of its groups that of the farthest transaction counts before which no service comes: what a \
         service pays out to many tells nothing of who sends a ping. If the raw bytes are at hand, pings that carry an inscription are left \
         out.",
        "Whoever spends the dust together with other coins shows that both are one owner's: that is what senders may wait for. \
         co_spent_dust has such spends. The id of a campaign is a hash of what its pings have in common. It has no name here, and it is attributed \
         to nobody: advertisements, mistakes and payments of tiny amounts look alike.",
        "The latest 2 000 transactions of an address and the latest 50 pings among them are looked at; truncated says if there are more. \
         Unconfirmed payments are not.",
        "Example, of the demo chain: transaction ae5e6892606a1e426914d2fa042e6a70cbca0b38977d143774b9b94bf0b28a33 in block 2600 pays 547 satoshis \
         to each of 80 scripts. For those of them that were used before, as bcrt1pgqf8m79vnqgzqwwple84v3s3qrucklznznrakhl5yd9yh9nvtqvsng0kzg, it is a \
         ping; as they are fewer than 100, it is of no campaign.",
    ],
};
