//! Definitions of the terms in answers: one page for each id.

mod flows;
mod money;

use cairn_http::Definition;

pub(crate) use flows::{
    CONSOLIDATIONS, DORMANCY_FLUSHES, DORMANCY_WATCHLIST, DUST_CAMPAIGNS, EXCHANGE_FLOWS, FEED, MINER_FLOWS, OLD_COINS,
    WHALE_ALERTS, WHALE_WAKEUPS,
};
pub(crate) use money::{FLOW_GRAPH, PROFIT_AND_LOSS, WHOLE_WALLETS};

/// Id of the definition of claims.
pub(crate) const CLAIMS: &str = "claims";
/// Id of the definition of entities.
pub(crate) const ENTITIES: &str = "entities";
/// Id of the definition of mining pools.
pub(crate) const MINING_POOLS: &str = "mining-pools";
/// Id of the definition of what operators approve of a list of sanctions.
pub(crate) const OFAC_TIER: &str = "ofac-tier";

pub(crate) const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "projected-blocks",
        title: "Projected blocks",
        text: &[
            "The blocks that miners would mine next if no other transaction arrived. This server fills blocks from its \
             copy of the mempool by the rules of Bitcoin Core's block template. A transaction is selected together with \
             its unconfirmed ancestors: by ancestor feerate, as in Core up to v30, or by chunks of linearized clusters, \
             as in Core from v31 on. Answers name the method.",
            "Each block has at most 4 000 000 weight units and 80 000 units of sigop cost; some of both are reserved for \
             the coinbase. Transactions below the minimum feerate of the template are excluded. At most 8 blocks are \
             projected. The feerates of a block are those at which its transactions were selected, not those of single \
             transactions. The projection is recomputed shortly after the mempool changes.",
        ],
    },
    Definition {
        id: "recommended-fees",
        title: "Recommended fees",
        text: &[
            "Feerates in satoshis per virtual byte for a transaction that is sent now. Each targets a projected block: \
             fastest the first, half an hour the third, an hour the sixth, economy the eighth. For a block that is at \
             least 95 % full, the recommendation is its median feerate. For a block that is at most half full or does \
             not exist, it is the minimum. In between, it is interpolated linearly.",
            "The minimum is the larger of the node's entry feerate and the miners' minimum feerate. No recommendation is \
             below it, and none is above a faster one. They are estimates: later transactions and the time to the next \
             blocks are unknown.",
        ],
    },
    Definition {
        id: "mempool-stress",
        title: "Mempool stress",
        text: &[
            "A number from 0 to 100: 100 × (0.35 b + 0.30 f + 0.20 g + 0.15 e), each component from 0 to 1.",
            "b, the backlog: ln(1 + blocks waiting) / ln 145, at most 1. f, the feerate: the percentile of the next \
             block's median feerate among those of the last 30 days. g, the inflow: (virtual bytes per second / 1 667 − \
             1) / 2, limited to 0 to 1; 1 667 bytes per second fill blocks as fast as they are found. e, the entry \
             feerate: log10(the node's entry feerate / its minimum relay feerate) / 2, at most 1.",
            "An unknown component, such as f before there is enough history, is null. The weights of the others are then \
             scaled up in proportion, and the answer reports it.",
        ],
    },
    Definition {
        id: "mempool-congestion",
        title: "Congestion of the mempool",
        text: &[
            "A word for the backlog in full blocks: moderate above 1, high above 3, severe above 8, otherwise low. The \
             answer includes the thresholds.",
            "It measures size only, not feerates: a long queue of cheap transactions is a long queue.",
        ],
    },
    Definition {
        id: "mempool-eta",
        title: "When to expect an unconfirmed transaction",
        text: &[
            "The projected block that contains the transaction, counted from 1, the next block. A transaction in no \
             projected block is expected after all of them at the earliest.",
            "Seconds are the number of blocks times ten minutes, the target interval. The time since the last block does \
             not matter, because mining is memoryless.",
        ],
    },
    Definition {
        id: "fee-distribution",
        title: "Distribution of feerates",
        text: &[
            "The unconfirmed transactions by feerate: the number, virtual bytes and fees in each bucket. A transaction \
             counts at the feerate at which it would be mined: that of the package or chunk that it would be selected \
             with.",
            "The bounds of the buckets are fixed and are part of the answer. A bucket includes its lower bound and \
             excludes its upper one.",
        ],
    },
    Definition {
        id: "supply-distribution",
        title: "Distribution of the supply",
        text: &[
            "The supply is the sum of all unspent outputs. Outputs that nobody can spend by their form (OP_RETURN, scripts of \
             more than 10 000 bytes) and the genesis block's are left out. Lost keys are not known, so their coins count.",
            "The age of a coin is the number of days from the day of the block that made it to the day that the answer is \
             for. Days are UTC days of monotone block time: the latest header time up to a block. A coin that was made on \
             the same day has age 0. The classes begin at 0, 1, 7, 30, 90, 180, 365, 730, 1 095, 1 825, 2 555 and 3 650 days; \
             a month has 30 days, a year 365. Coins of 155 days and more are held for long.",
            "A holder is a scriptPubKey with a balance above zero, with or without an address; those without one are \
             counted apart, too. The bands go by powers of ten, in satoshis, lower bound included. A holder is not a person: \
             one owner may have many scripts, and a script of an exchange holds the coins of many.",
            "By cluster, scripts that transactions show to have one owner are one holder; see there. A script that was never \
             spent together with others is a holder of its own.",
            "The answer for a height is that for the end of its day. The sums by age, by balance and by cluster are all the \
             supply, exactly.",
        ],
    },
    Definition {
        id: "coin-days-destroyed",
        title: "Coin-days destroyed",
        text: &[
            "A coin of one bitcoin that is unspent for a day gathers one coin-day; spending it destroys what it gathered. Coin-days \
             destroyed are the sum, over the coins spent, of value × age in days (ByteCoin, bitcointalk.org, 2011). They tell \
             old coins that move from young ones that circulate.",
            "Ages are counted in seconds of monotone block time: from the block that made the coin to the block that spent it. \
             The unit is bitcoin-days, with 8 decimals, rounded down. Coin-days created are those that all unspent coins \
             gathered in the same time. Coins that were overwritten (two coinbases of 2010, BIP 30) were not spent: what they \
             had gathered is not destroyed.",
        ],
    },
    Definition {
        id: "dormancy",
        title: "Dormancy",
        text: &[
            "Coin-days destroyed divided by the value spent: the average age of the coins spent, in days, weighted by value \
             (Reginald Smith, Bitcoin Average Dormancy, 2017). Change counts like any output. If nothing was spent it is null.",
        ],
    },
    Definition {
        id: "liveliness",
        title: "Liveliness",
        text: &[
            "Coin-days destroyed divided by coin-days created, from 0 to 1 (Tamás Blummer, Liveliness of Bitcoin, 2018). \
             Since the chain began it falls while coins are held and rises when old coins move. The liveliness of a day or of a \
             window divides the sums of these days, and can exceed 1: old coins that move destroy more than is created in the \
             meantime.",
            "The time of a day ends with its last block. If no coin aged it is null.",
        ],
    },
    Definition {
        id: "realized-cap",
        title: "Realized cap",
        text: &[
            "The sum, over all unspent coins, of value × price of the day on which the coin was made, in USD (Nic Carter and \
             Antoine Le Calvez, Introducing Realized Capitalization, 2018). Market cap values all coins at the price of the day \
             that the answer is for; realized cap values each at the price when it last moved.",
            "The price of a day is the close of its UTC day in the series of daily BTC/USD closes, as this server knows it now: a \
             correction changes all answers. The day of a block is that of its monotone time. As long as the newest block's day has \
             no close, the last known one stands for it. Prices at the time of the block would differ by the day's movement.",
            "Coins that are older than the series count zero and are told as unpriced_sats. If a day on which unspent coins were made \
             lies inside the series and has no close, or behind its end, the figure is null and the first such day or the end \
             is named. Lost coins cannot be told from others and count. The sum is exact; it is rounded down to cents when it \
             is told.",
        ],
    },
    Definition {
        id: "mvrv",
        title: "MVRV",
        text: &[
            "Market value to realized value: market cap divided by realized cap (Murad Mahmudov and David Puell, 2018). Above 1, the \
             average coin is worth more than when it last moved. Market cap includes coins that are older than the prices, \
             realized cap counts them zero; see realized cap.",
        ],
    },
    Definition {
        id: "sopr",
        title: "SOPR",
        text: &[
            "Spent output profit ratio: the value of the coins spent at the price of the day on which they are spent, divided by \
             their value at the price of the day on which they were made (Renato Shirakashi, Introducing SOPR, 2019). Above 1, \
             coins that move gain on average. Prices are daily closes, as for the realized cap.",
            "Coins that are older than the prices are left out of both sums and told as unpriced_spent_sats. \
             sopr_excluding_same_day leaves out coins that were made on the same day, whose ratio is 1 by definition. It is not \
             the adjusted SOPR of others, which leaves out coins younger than an hour. Over several days both sums are added up \
             before they are divided.",
        ],
    },
    Definition {
        id: "hodl-waves",
        title: "HODL waves",
        text: &[
            "The unspent coins by age, as parts of the supply (Dhruv Bansal, Bitcoin Data Science: HODL Waves, 2018), and as parts of \
             the realized cap, where each coin counts with the price of the day on which it was made. Parts are rounded down, \
             so that they may add up to slightly less than 1.",
            "The classes begin at 0, 1, 7, 30, 90, 180, 365, 730, 1 095, 1 825, 2 555 and 3 650 days, the same as in the \
             distribution of the supply. The age of a coin is the number of days from the day of the block that made it to the \
             day that the answer is for.",
        ],
    },
    Definition {
        id: "volume",
        title: "Volume",
        text: &[
            "volume_sats is the value of all outputs of transactions except coinbases. Most of it is change that returns to the \
             sender.",
            "volume_net_sats is the part that went to others: outputs to scripts from which the transaction does not spend, and \
             which are in no cluster from which it spends. The clusters are those that the chain up to the transaction shows, what \
             the transaction itself shows included; later transactions change nothing. Outputs that nobody can spend are left \
             out. Change is not guessed: change to a new script counts as paid to others, so the figure is mostly \
             above what changed hands.",
        ],
    },
    Definition {
        id: "clusters",
        title: "Clusters",
        text: &[
            "A transaction that spends from several scripts needs the consent of all of their owners. So it is taken as a \
             sign that they have one owner, and scripts tied together by such transactions are a cluster. This is a heuristic: \
             it is wrong where several people sign one transaction, and it misses what one owner never spends together.",
            "Left out are CoinJoins (Wasabi 1 and 2, Whirlpool, JoinMarket, and equal outputs to several payers), inputs \
             signed with SIGHASH_ANYONECANPAY, which anyone can add, and scripts that may need no key: pay-to-anchor, witness \
             programs without rules, and scripts of no standard form. PayJoins and mixers that look like payments are not told \
             apart.",
            "A cluster is named after a transaction that shows it. When two clusters are merged, the one that more \
             transactions show keeps its name, of equal ones the older; the other name leads to it from then on. The clusters \
             as of a height are those that the chain up to it shows: later transactions change nothing about them.",
            "A merge of two clusters that 10 000 transactions and more show is suspect: a single mistake may have tied two \
             services together. Such a merge is told.",
            "Judged against generated chains whose owners are known: the precision by script (B-cubed) is 1 where no PayJoin \
             and no unlisted mixer is used.",
        ],
    },
    Definition {
        id: "price",
        title: "Price of bitcoin",
        text: &[
            "The price at a time is the last one that was known then. A candle is known at its close: a day's at 00:00 UTC of \
             the next day. Of the candles of minutes, hours and days the one that closed last counts; of several that closed \
             at the same time, the longest. The price now is the newest one that the sources were asked for, if it is newer \
             than every candle.",
            "The price of a candle is the median of what the sources say of it, without those that are more than 5 % from the \
             median of all. Of two sources it is the mean; if these are more than 5 % from it, the price is disputed. A \
             source that corrects a candle replaces what it said before, at once and everywhere.",
            "A price in a currency is the one that is quoted in it. Where none is, or where it is stale and the other is not, \
             the price in US dollars is converted: see exchange rate. The price of a day is the last candle that closed on \
             it, its end included; a day without one has no price. The day of the newest block may not be over: it has the \
             last price that is known so far.",
            "The change within a day is against the price that was known 24 hours before the current one was. It is null if \
             that one was stale then.",
            "Prices are exact decimals, rounded to 8 significant digits where they are shown. Values are products of exact \
             numbers, rounded to 2 decimals, half to even. What is not known is null, with a reason, and never 0.",
        ],
    },
    Definition {
        id: "price-staleness",
        title: "When a price is stale",
        text: &[
            "A price is stale if it was known for longer than twice the interval of its candle, and for more than ten minutes: \
             a daily close after two days, an hourly one after two hours, one of a minute and a live price after ten minutes. \
             A converted price is stale also if its exchange rate is: after five days, since no rates are published on \
             weekends and holidays, Easter being the longest such pause.",
            "A stale price is told, with its time and source, and marked. An exchange rate that is more than 30 days old \
             converts nothing, unless the price in US dollars is as old: then it has the rate of its own time. These \
             thresholds are ours.",
        ],
    },
    Definition {
        id: "exchange-rate",
        title: "Exchange rates",
        text: &[
            "Reference rates of the euro, such as the European Central Bank's, one for each business day. The rate of a day is \
             used from the end of that day on (00:00 UTC): at any time, the rate is that of the last business day before.",
            "One unit of A is (units of B for one euro) ÷ (units of A for one euro) units of B, both of the same day: the last \
             one that has both. So US dollars become euros by 1 ÷ the dollar's rate, and other currencies by the quotient \
             of two rates.",
        ],
    },
    flows::MINER_FLOWS_PAGE,
    flows::EXCHANGE_FLOWS_PAGE,
    flows::DUST_CAMPAIGNS_PAGE,
    money::PROFIT_AND_LOSS_PAGE,
    money::WHOLE_WALLETS_PAGE,
    money::FLOW_GRAPH_PAGE,
    Definition {
        id: OFAC_TIER,
        title: "OFAC tier",
        text: &[
            "Rows of OFAC's list of sanctions that operators of this server approved, and that the current feed still has. The feed \
             is the newest complete document of the list that this server imported; copies of the list whose date is unknown are \
             none. A row stands for an address and a party. An approval is for both, as the operator saw them in a document whose \
             hash is kept: if the list later has the address under another number or name of a party, the row is pending again. A \
             server can ask for two approvals by different operators.",
            "Removed is an address that was approved and that the feed no longer has. Invalid is a row of the file of which no address \
             of this network could be read. Listed under another asset is a row whose address is not of the asset that it says.",
            "The date of the feed is the day on which its document was retrieved. It is stale if it was last known to be the \
             publisher's list more than 48 hours ago. A listing is dated by the first snapshot with the address that this server \
             imported; the date of the party's own entry only says that the address was not listed before. An address that the list \
             lacks may belong to a listed party all the same: the list is not exhaustive.",
        ],
    },
    Definition {
        id: CLAIMS,
        title: "Claims",
        text: &[
            "A claim is what a source says of one script: who is said to control it, which list has it, what it is reported as. \
             Each names its source, document, row, date and licence. Answers repeat what sources say; they do not say that \
             it is so, and they give no score.",
            "Each claim has a level from 0 to 100 that says what it rests on: what the chain shows, a signature by the script's key, or \
             an authority that says listed by us 100; the holder's own publication 90; a named investigation 70; an authority's \
             record of who controls it 60; a third party's publication 40; behaviour 10; a community's collection at most 10. As \
             words: verified from 90, high from 70, moderate from 40, low from 20, otherwise unverified. A claim older than 365 \
             days counts one word lower, except facts about the chain or a list.",
            "Sources that repeat one origin count as one. Each origin votes with the highest level that it gives an entity; the \
             votes are added up by entity. The largest sum wins. It is conflicted if it has less than 75 % of all votes, a \
             majority if others are named too, corroborated if two or more origins agree and nobody else is named. Claims that \
             name nobody, and placeholders such as unnamed, do not vote. Only claims of control (controlled_by, \
             coinbase_payout_of) of level 40 or more make a script a member of an entity.",
            "A claim that its source lets extend, which is the rule for claims of control, also counts for the other scripts of the same \
             cluster: with six tenths of its level, 60 at most, and only if its script has it today. A listing never does, nor what is contested. The claims of \
             16 other scripts are read at most, those that joined the cluster first. Nothing is inherited over a merge of two clusters \
             of 10,000 transactions or more each. These numbers are ours.",
            "Of one list, the document that was retrieved last holds. If it is a complete list, what it no longer has ended then: \
             it is delisted, and stays in the history. A listing is dated by the first snapshot that has the script; the date of \
             the party's own entry only says that it was not listed before.",
            "The assessment is the first that holds: not_examined (no labels are loaded), contested, conflicted, labeled (a direct \
             claim of level 40 or more), inferred, observed_only, no_history (the chain has never seen it), examined_no_match. That \
             nothing was found proves nothing: no list has everything.",
        ],
    },
    Definition {
        id: ENTITIES,
        title: "Entities",
        text: &[
            "An entity is whom labels name: an exchange, a pool, a service, an organization. Its name for paths has small \
             letters, digits, dots, hyphens and underscores. Any spelling of it is accepted, and other names that sources \
             write: of two entities that are written alike, the one with more such addresses. The name and the category that \
             an answer shows are those that most of its addresses are said to have; they are what sources say.",
            "A script is a member of the entity that has the votes of its claims, if a claim of control (controlled_by, \
             coinbase_payout_of) of level 40 or more names it; see claims. A script whose claims conflict is nobody's member. \
             A script that is listed, mentioned or reported under the name of an entity is named, and no member: it counts in \
             no sum. Each script counts for one entity at most.",
            "Balance, received and sent are sums over the members, exact at the tip. Received and sent count every coin, also those \
             that members pay to each other. They cover known addresses only and are no estimate of all that the entity has.",
            "The inherited balance stands apart: what other scripts of a cluster hold, where the claims that extend to them (see \
             claims) make them the entity's, with a level of 50 or more, which a claim of 84 or more gives. A script that a list \
             names anybody for counts by what is said of itself alone. Claims of which the votes conflict give the cluster to \
             nobody. A cluster in which two clusters of 10,000 transactions or more each were merged is left out and counted apart \
             (suspect_cluster_count), since such a merge may rest on a mistake. Inherited scripts are in no page of members, and \
             received, sent and activity do not cover them. It is an inference from the clusters, which are a heuristic.",
            "coverage_status describes the evidence, not which share of the addresses is known. full: the entity's own list, \
             declared complete and retrieved at most 90 days ago. substantial: two or more independent origins, and 100 or \
             more members. partial: 10 or more members. seed_only: fewer. The numbers 10 and 100 are ours.",
            "A claim that says when it ends gives no member here, whenever it ends: the address's own card judges it by its dates.",
            "Activity is every transaction that pays a member or spends from one, with the sums over all members: what they \
             received, what they sent, and the difference. A transaction between members alone has the fee as its \
             difference.",
            "Entities that are natural persons, or of whose addresses a tenth or more are said to be a natural person's, are \
             left out of lists, directory, categories and suggestions. They are found by their exact name alone.",
        ],
    },
    flows::OLD_COINS_PAGE,
    flows::DORMANCY_FLUSHES_PAGE,
    flows::WHALE_WAKEUPS_PAGE,
    flows::DORMANCY_WATCHLIST_PAGE,
    flows::WHALE_ALERTS_PAGE,
    flows::FEED_PAGE,
    flows::CONSOLIDATIONS_PAGE,
    Definition {
        id: MINING_POOLS,
        title: "Mining pools",
        text: &[
            "A block is a pool's if its coinbase pays a script that claims name as the pool's: claims of control \
             (coinbase_payout_of, controlled_by) of the category mining_pool that stand now, one vote for each origin. A script \
             counts for nobody if no pool has three quarters of the votes. Of the 8 largest spendable outputs, the first one \
             with a pool decides.",
            "Else it is the pool's whose tag stands in the scriptSig of the coinbase, byte for byte. The longest tag counts; of \
             equally long ones that of the list that was retrieved last, then by the pool's name. Of a list the newest document \
             holds. Anybody can write any tag: the answer says which blocks have no better evidence. If a block pays one pool and \
             has the tag of another, it is the pool's that is paid, and both are told.",
            "Windows are numbers of newest blocks, as many as there are in that time at ten minutes each: a day has 144. So they \
             do not depend on clocks. The genesis block is none of them. Shares are millionths that add up to 1, those of \
             blocks of no known pool included: rounded down, and what is left goes to the largest remainders.",
            "The hash rate of a pool is its share of the blocks times the network's hash rate over the same window: the expected \
             work of its blocks, from their targets, divided by their monotone block time. Few blocks tell little: of n \
             blocks the chance error is about 1 in the square root of n.",
        ],
    },
];
