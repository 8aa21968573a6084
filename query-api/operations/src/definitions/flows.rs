//! Definitions of what moves: large payments, old coins, gathered coins, miners, and the feed of all that.

use cairn_http::Definition;

pub(crate) const OLD_COINS: &str = "old-coins";
/// Id of the definition of clusters that spend many old coins at once.
pub(crate) const DORMANCY_FLUSHES: &str = "dormancy-flushes";
/// Id of the definition of large holders that spend after years.
pub(crate) const WHALE_WAKEUPS: &str = "whale-wakeups";
/// Id of the definition of large holders that have been quiet for years.
pub(crate) const DORMANCY_WATCHLIST: &str = "dormancy-watchlist";
/// Id of the definition of transactions that move much.
pub(crate) const WHALE_ALERTS: &str = "whale-alerts";
pub(crate) const FEED: &str = "activity-feed";
/// Id of the definition of transactions that gather many coins.
pub(crate) const CONSOLIDATIONS: &str = "consolidations";
pub(crate) const MINER_FLOWS: &str = "miner-flows";
pub(crate) const DUST_CAMPAIGNS: &str = "dust-campaigns";
pub(crate) const EXCHANGE_FLOWS: &str = "exchange-flows";

pub(super) const OLD_COINS_PAGE: Definition = Definition {
    id: OLD_COINS,
    title: "Old coins that move",
    text: &[
        "The age of a coin is the time from the block that made it to the block that spends it, by monotone block \
         time; of an unconfirmed spend, to the newest block. A year has 365 days. A coin is one output: if its owner \
         moved other coins meanwhile, its age does not change.",
        "Awakening: a spent coin of 365 days or more, worth 10 BTC or more. Dormant movement: a transaction whose \
         inputs of five years or more are worth 10 BTC or more together. Dormant alert: a movement of the last 24 \
         hours before the newest block, or one in the mempool, which may never confirm. pulse_dormant takes any age \
         from a year on. The numbers are ours.",
        "Coin-days destroyed are the sum of value times age over the old coins, in bitcoin times days. The average age is \
         weighted by value. Ages and sums cover the old coins of a transaction, not its other inputs.",
        "A movement does not prove a sale. Coins also move when an owner changes keys or wallets, or when a service \
         sorts its coins. Labels are today's, not those of the time of the movement.",
        "Lists are computed from a table of the transactions that spend coins of a year and more. One page scans a \
         limited number of them. If that is not enough, the page has fewer rows, truncated is true, and its cursor \
         continues. A cursor stays valid when blocks are added; it ends (409) if a reorg replaces the block that it \
         names.",
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
        "A dormancy flush: one cluster spends coins of two years or more that are worth 100 BTC or more together, \
         within 144 blocks. It begins with the first such spend and has the spends of that block and of the 143 blocks \
         after it; then the next spend begins another one. The cluster is that of the time of each spend; a script \
         that no transaction ties to another is a cluster of its own. If two clusters become one while both have a \
         flush that is open, the later flush becomes a part of the earlier one. Ages go by monotone block time, a year \
         has 365 days. The numbers are ours.",
        "The class is the first that applies to the spends with the most old value, at most 16. exchange_bound: half \
         or more of their old value reaches scripts that count as an exchange's by today's labels, with the spend or \
         with one transaction after it, in 144 blocks; value is followed in proportion to outputs. consolidation: each \
         has three inputs or more and one output, or brings 95 percent or more back to the cluster. key_migration: \
         each pays one or two scripts outside the cluster that no earlier block has and that are of a newer type than \
         all scripts that it spends from (P2PK, P2PKH, P2SH, version 0, version 1), and these outputs stay unspent for \
         1 008 blocks. holder_rotation: the same without a newer type, for any number of scripts. Otherwise unknown. \
         While later blocks can change it, it is provisional.",
        "It is an inference from transactions: the holder of the new keys is unknown, and a flush does not prove a \
         sale.",
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
        "A whale wake-up: a cluster had coins of two years or more that were worth 1 000 BTC or more together, none of \
         its scripts had spent anything for two years, and then it spends: old coins or others. The cluster is that \
         before the transaction; a script that no transaction ties to another is a cluster of its own. Coins received \
         meanwhile, such as dust, do not count as a wake-up. Ages go by monotone block time, a year has 365 days. A \
         transaction can wake several clusters. The numbers are ours.",
        "test_spend: the transaction spends less than 1 percent of these old coins. The row has the time of the \
         cluster's last spend before, or, if there is none, of its first payment received.",
        "A wake-up does not prove a sale, nor that the owner is the same: keys are moved, inherited and stolen.",
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
        "The watchlist has every cluster that holds coins of five years or more worth 500 BTC or more together, and \
         none of whose scripts spent anything for five years. A script that no transaction ties to another is a \
         cluster of its own. Coins received meanwhile, such as dust, neither count nor remove the cluster from the \
         list. Ages go by monotone block time, a year has 365 days. The numbers are ours.",
        "It is computed from the whole index as of one block, which the answer names, and again after 144 blocks or \
         when a reorg removes that block. A cluster that spends in between stays on it until then; whale wake-ups \
         report the spend at once. The hash of the set is SHA-256 over a line for each cluster, those with most old \
         coins first: \"cluster\" and the id of the transaction that it is named after, or \"script\" and the SHA-256 \
         of the script in hex, a space before and after, then the satoshis and a line feed. Two servers with the same \
         hash have the same set. The tables are ordered by satoshis, then scripts before clusters, each by their keys \
         in the index.",
        "Coins that do not move may be lost, held, or without an owner: the list does not distinguish them.",
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
        "A whale alert is a transaction that pays 100 BTC or more to others (net_external): to scripts from which it \
         does not spend, outside the clusters from which it spends. The clusters include the links of this transaction \
         itself. Unspendable outputs do not count, nor do coinbases, nor CoinJoins, where payers and payees are \
         unknown. The bands begin at 100, 1 000 and 10 000 BTC. The numbers are ours.",
        "Change to a new script cannot be recognised. So there is a second sum (net_external_min): if several outputs \
         go to others, it leaves out the largest one to a script that no earlier block has, with the caveat \
         change_guess. The true sum is one of the two, or lower if several outputs are change.",
        "A side (the inputs, or the outputs to others) belongs to an entity if at least half of its value does. A \
         script counts by its own claims, or else by those of its cluster; scripts of clusters with a suspect merge \
         have no entity. An alert is labelled if at least half of the value of one side is. The direction is the first \
         that applies: internal (both sides belong to one entity), cross_exchange, from_exchange, to_exchange, \
         miner_out (from a miner or a mining pool), unknown. Labels are those of the time of the request: an import \
         can change the direction of old alerts.",
        "A transfer proves neither a sale nor a change of owner.",
        "Lists are computed from a table of large transfers. One page scans a limited number of them. If that is not \
         enough, the page has fewer rows, truncated is true, and its cursor continues. A cursor stays valid when \
         blocks are added; it ends (409) if a reorg replaces the block that it names.",
        "Example, of the demo chain: transaction 8828b52ed2aca8efb3d4767df7956ab8e6a323226ca9cb03e1f0f49ff756ac38 in \
         block 2420 spends 150 BTC of one script. 120 BTC go to a deposit address of the exchange, the rest goes back \
         to the script. So it pays 120 BTC to others. Only one output goes to others, so no change is guessed. The \
         deposit address counts as the exchange's because of its cluster: to_exchange.",
    ],
};

pub(super) const FEED_PAGE: Definition = Definition {
    id: FEED,
    title: "Activity feed",
    text: &[
        "The announcements of this server, in its order: each block (block), large payments to others (whale_tx, see \
         whale-alerts), CoinJoins that pay 100 BTC or more (coinjoin_round), old coins that were spent (awakening, see \
         old-coins), clusters whose spends of old coins reached 100 BTC (dormancy_flush, see dormancy-flushes), large \
         clusters that woke up (whale_wakeup, see whale-wakeups), coins of 10 BTC and more that were gathered \
         (consolidation, see consolidations), imported labels (label_change, or sanctions_list_change for a list of \
         sanctions) and reorganizations (reorg). A whale_tx from or to an exchange is an exchange_flow_large, one from \
         a miner or a mining pool a miner_payout_large, by today's labels: these are not separate announcements, and \
         new labels change them.",
        "An announcement never changes and is never removed. If a reorg removes its block, a reorg event reports it, \
         then one retraction follows for each announcement about the removed blocks, the newest first; the events of \
         the new blocks are announced again. Only events at the tip are announced: while an index catches up, it \
         announces nothing. A feed begins with the newest 2 016 blocks of the index at that time.",
        "The id of an announcement is the time at which the feed began, a hyphen, and its number; numbers have no \
         gaps. A new index has another feed. Two servers announce the same blocks in their own order, at their own \
         time.",
        "/v1/events gives the announcements after an id, the oldest first. With Accept: text/event-stream, the answer \
         stays open and sends each new announcement once: a client that connects again with Last-Event-ID continues \
         after that id. If the id belongs to another feed, or no longer exists, an event reset comes first. \
         Retractions are not filtered by address or entity, since the transaction may no longer exist: a client \
         ignores those of events that it has not received.",
        "Example, of the demo chain: the miner who wakes up in block 2385 is announced three times. whale_wakeup with \
         transaction eb26d9bf62b8b47171e323802036a72988ed15e05f2420d67ebb0e4f0d6703ff, 1100 BTC: the sum of the \
         script. dormancy_flush in block 2391 with 7bfdcf6d77c56728b8441b82e0d8dc5487fb4de277340a51df50a3848b91a57b, \
         400 BTC: the sum spent by then. whale_tx in block 2420 with \
         8828b52ed2aca8efb3d4767df7956ab8e6a323226ca9cb03e1f0f49ff756ac38, 120 BTC: the sum that goes to the exchange.",
    ],
};

/// The page about transactions that gather many coins.
pub(super) const CONSOLIDATIONS_PAGE: Definition = Definition {
    id: CONSOLIDATIONS,
    title: "Consolidations",
    text: &[
        "A consolidation is a transaction with ten inputs or more, and with five inputs or more for each output, that no \
         detector takes for a CoinJoin. Outputs that nobody can spend count, too. The numbers are ours.",
        "Services gather the coins of many deposits this way, mostly while fees are low. It does not show who owns the \
         outputs: a payment can gather coins as well. The owner of a side is determined as for whale alerts, over all \
         inputs and all outputs.",
        "Example, of the demo chain: transaction 1cc5a5adecc7696e0f369cc4de11e69b635d60593cce866a48cd97d53fe496bd in block 2993 has 40 inputs of \
         65.5226141 BTC together, and 1 output.",
    ],
};

pub(super) const MINER_FLOWS_PAGE: Definition = Definition {
    id: MINER_FLOWS,
    title: "Flows of miners",
    text: &[
        "A pool's scripts are those that receive its mined coins: scripts that claims attribute to the pool and that \
         coinbases of the last 52 560 blocks pay, and all scripts paid by coinbases of its blocks with at most two \
         spendable outputs. Blocks belong to pools as described on the page about mining pools. Blocks without a pool \
         are unidentified.",
        "Mined: the sum of its coinbases, subsidy and fees. Outflow, for each transaction: the sum that its scripts \
         send, minus the sum that they receive, minus their share of the fee (fee × sum sent ÷ all inputs, rounded \
         down); zero if this is negative. To exchanges: the sum that such a transaction pays to scripts of an exchange \
         by today's labels, or by those of their clusters, at most the outflow. Reserve: the current balance of the \
         scripts. Days are UTC days of monotone block time.",
        "If most of a pool's blocks pay its members in the coinbase, only the mined sum counts. If a pool has too many \
         transactions to read, its flows are null, with the reason. An outflow does not prove a sale: pools pay their \
         members, and move coins between wallets without labels.",
        "Example, of the demo chain: on 2025-12-29 the coinbases of 107 blocks pay stone-pool 3278142 satoshis, all on one script. 4568926 \
         satoshis leave it that day, of which 1847800 go to the exchange.",
    ],
};

pub(super) const EXCHANGE_FLOWS_PAGE: Definition = Definition {
    id: EXCHANGE_FLOWS,
    title: "Flows of exchanges",
    text: &[
        "An exchange is an entity that most of its labels call an exchange today. Its scripts are those that lists \
         attribute to it, and other scripts of their clusters to which these claims extend. Scripts with conflicting \
         votes, and clusters with a suspect merge, belong to no exchange.",
        "For each transaction, let i be the inputs of an exchange and o the outputs to it. Internal is the smaller of \
         i and o, including change. Inflow is o − i, if positive. The share of the fee is fee × i ÷ all inputs, \
         rounded down, and at most i − o. Outflow is i − o minus that share. If several exchanges take part, the \
         smaller of all inflows and all outflows goes from exchange to exchange: totals leave it out and report it \
         separately. For each exchange, from_exchanges and to_exchanges are its part in proportion, rounded down. Days \
         are UTC days of monotone block time.",
        "Mode latest uses today's labels for the whole history. All histories are computed again every 144 blocks, and \
         some blocks after new documents have changed attributions. Later blocks count with the labels at their \
         arrival; changes of labels and clusters since then are reclassified, until all is computed again. Before that \
         block, reclassified is 0.",
        "Mode pit uses for each block the claims asserted by then (asserted_at, or else the time at which the document \
         was retrieved) and the clusters at that block. When a script begins to count, its balance is added to \
         reclassified; when it ceases to count, its balance is subtracted. A claim that a list no longer has counts \
         for the time in which the list had it. The answer is as of the block up to which histories were last \
         computed.",
        "So over any days, in both modes, the balance of an exchange changes by inflow − outflow − fees + \
         reclassified.",
        "Point in time means by assertion, not by the knowledge of this index at that time. A list received in 2026 \
         can name the holder of a script in 2020. backfilled is the part of inflow and outflow from scripts that no \
         document received by the end of that day attributes to the exchange, directly or by cluster. Backtests need \
         it: nobody could have seen the backfilled part here on that day.",
        "An inflow does not prove a sale, nor an outflow a purchase. Scripts that no list names are missing, so all \
         sums are lower bounds, as far as the labels are right.",
        "Example, of the demo chain: on 2025-12-30 cairn-exchange takes part in 271 transactions. 139740852725 satoshis come in, \
         131961403213 go out, 604823634673 come back to it, and its part of the fees is 362390. In mode pit its scripts begin to \
         count on 2025-10-04, the day from which the lists name it: then 521368287703 satoshis are reclassified.",
    ],
};

pub(super) const DUST_CAMPAIGNS_PAGE: Definition = Definition {
    id: DUST_CAMPAIGNS,
    title: "Dust campaigns",
    text: &[
        "A ping pays 1 000 satoshis or less to a script that an earlier transaction paid and from which it does not \
         spend. A transaction has another purpose and is not a ping if it spends such dust itself, pays nothing else, \
         or has the mark of a protocol in an OP_RETURN output (runes, Omni). A coinbase is not a ping.",
        "Pings belong to one group if they have the same first OP_RETURN output, byte for byte. A ping without one \
         belongs to its own group and to those of the transactions that fund it: the one that created its largest \
         input, and so on, at most three; if one of these is such a ping, to the groups of that ping. A group becomes \
         a campaign with the ping by which it has paid 100 different scripts with a history within 30 days, by \
         monotone block time. In a group that is not a campaign, pings are dropped after 30 days, and the newest 1 000 \
         count. The numbers are ours.",
        "Labels are those of the time of the request. A payment whose largest input belongs to a known service (an \
         exchange, a pool, a shop, a faucet and the like) is not a ping. If a ping has several groups, the one of the \
         farthest funding transaction before any service counts: a service's payments to many do not identify the \
         sender of a ping. If the raw bytes are available, pings with an inscription are left out.",
        "An owner who spends the dust together with other coins shows that both belong together: senders may wait for \
         this. co_spent_dust has such spends. The id of a campaign is a hash of the property that its pings share. It \
         has no name here, and it is attributed to nobody: advertisements, mistakes and payments of tiny amounts look \
         alike.",
        "The latest 2 000 transactions of an address and the latest 50 pings among them are read; truncated is true if \
         there are more. Unconfirmed payments are not read.",
        "Example, of the demo chain: transaction ae5e6892606a1e426914d2fa042e6a70cbca0b38977d143774b9b94bf0b28a33 in \
         block 2600 pays 547 satoshis to each of 80 scripts. For those of them that were used before, as \
         bcrt1pgqf8m79vnqgzqwwple84v3s3qrucklznznrakhl5yd9yh9nvtqvsng0kzg, it is a ping; as they are fewer than 100, \
         it belongs to no campaign.",
    ],
};
