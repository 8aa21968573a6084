//! Definitions of the terms in answers: one page for each id.

mod community;
mod evidence_pack;
mod exposure;
mod flows;
mod intelligence;
mod money;
mod risk_signals;
mod timestamps;

use cairn_http::Definition;

pub(crate) use community::COMMUNITY_REPORTS;
pub(crate) use evidence_pack::EVIDENCE_PACK;
pub(crate) use exposure::EXPOSURE;
pub(crate) use flows::{
    CONSOLIDATIONS, DORMANCY_FLUSHES, DORMANCY_WATCHLIST, DUST_CAMPAIGNS, EXCHANGE_FLOWS, FEED, MINER_FLOWS, OLD_COINS,
    WHALE_ALERTS, WHALE_WAKEUPS,
};
pub(crate) use intelligence::{ADDRESS_INTELLIGENCE, RISK_CHECK};
pub(crate) use money::{FLOW_GRAPH, PROFIT_AND_LOSS, WHOLE_WALLETS};
pub(crate) use risk_signals::RISK_SIGNALS;
pub(crate) use timestamps::TIMESTAMPS;

pub(crate) const CLAIMS: &str = "claims";
pub(crate) const ENTITIES: &str = "entities";
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
            "The age of a coin is the number of days from the day of the block that made it to the day that the answer \
             is for. Days are UTC days of monotone block time: the latest header time up to a block. A coin that was \
             made on the same day has age 0. The classes begin at 0, 1, 7, 30, 90, 180, 365, 730, 1 095, 1 825, 2 555 \
             and 3 650 days; a month has 30 days, a year 365. Coins of 155 days and more count as held for long.",
            "A holder is a scriptPubKey with a balance above zero, with or without an address; those without one are \
             also counted separately. The bands are powers of ten, in satoshis, lower bound included. A holder is not \
             a person: one owner may have many scripts, and a script of an exchange holds the coins of many.",
            "By cluster, scripts that transactions show to have one owner are one holder; see clusters. A script that \
             was never spent together with others is a holder of its own.",
            "The answer for a height is for the end of its day. The sums by age, by balance and by cluster each equal \
             the supply exactly.",
        ],
    },
    Definition {
        id: "coin-days-destroyed",
        title: "Coin-days destroyed",
        text: &[
            "A coin of one bitcoin that is unspent for a day gathers one coin-day; spending it destroys the coin-days \
             that it gathered. Coin-days destroyed are the sum, over the coins spent, of value × age in days \
             (ByteCoin, bitcointalk.org, 2011). They distinguish old coins that move from young ones that circulate.",
            "Ages are counted in seconds of monotone block time: from the block that made the coin to the block that \
             spent it. The unit is bitcoin-days, with 8 decimals, rounded down. Coin-days created are those that all \
             unspent coins gathered in the same time. Coins that were overwritten (two coinbases of 2010, BIP 30) were \
             not spent: the coin-days that they had gathered are not destroyed.",
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
            "The price of a day is the close of its UTC day in the series of daily BTC/USD closes, as this server \
             knows it now: a correction changes all answers. The day of a block is that of its monotone time. As long \
             as the newest block's day has no close, the last known one is used. Prices at the time of the block would \
             differ by the day's movement.",
            "Coins that are older than the series count zero and are reported as unpriced_sats. The figure is null if \
             a day on which unspent coins were made has no close, inside the series or after its end; the reason names \
             the first such day or the end. Lost coins cannot be distinguished from others, so they count. The sum is \
             exact; only the answer is rounded down to cents.",
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
            "Coins that are older than the prices are left out of both sums and reported as unpriced_spent_sats. \
             sopr_excluding_same_day leaves out coins that were made on the same day, whose ratio is 1 by definition. \
             Other providers' adjusted SOPR differs: it leaves out coins younger than an hour. Over several days, both \
             sums are added up before the division.",
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
            "volume_net_sats is the part that went to others: outputs to scripts from which the transaction does not \
             spend, and which are in no cluster from which it spends. The clusters are those that the chain shows up \
             to and including the transaction; later transactions change nothing. Outputs that nobody can spend are \
             left out. Change is not guessed: change to a new script counts as paid to others, so the figure is mostly \
             above the sum that changed hands.",
        ],
    },
    Definition {
        id: "clusters",
        title: "Clusters",
        text: &[
            "A transaction that spends from several scripts needs the consent of all of their owners. So it is taken as a \
             sign that they have one owner, and scripts tied together by such transactions are a cluster. This is a heuristic: \
             it is wrong where several people sign one transaction, and it misses what one owner never spends together.",
            "These are left out: CoinJoins (Wasabi 1 and 2, Whirlpool, JoinMarket, and equal outputs to several \
             payers), inputs signed with SIGHASH_ANYONECANPAY, which anyone can add, and scripts that may need no key: \
             pay-to-anchor, witness programs without rules, and scripts of no standard form. PayJoins and mixers that \
             look like payments are not recognised.",
            "A cluster is named after a transaction that shows it. When two clusters are merged, the one that more \
             transactions show keeps its name; if both are equal, the older one. From then on, the other name leads to \
             it. The clusters as of a height are those that the chain up to it shows: later transactions change \
             nothing about them.",
            "A merge of two clusters that 10 000 transactions or more show is suspect: a single mistake may have tied \
             two services together. Answers report such a merge.",
            "Tests on generated chains with known owners give a precision by script (B-cubed) of 1 where no PayJoin \
             and no unlisted mixer is used.",
        ],
    },
    money::PRICE_PAGE,
    money::PRICE_STALENESS_PAGE,
    money::EXCHANGE_RATE_PAGE,
    flows::MINER_FLOWS_PAGE,
    flows::EXCHANGE_FLOWS_PAGE,
    flows::DUST_CAMPAIGNS_PAGE,
    money::PROFIT_AND_LOSS_PAGE,
    money::WHOLE_WALLETS_PAGE,
    money::FLOW_GRAPH_PAGE,
    timestamps::TIMESTAMPS_PAGE,
    community::COMMUNITY_REPORTS_PAGE,
    Definition {
        id: OFAC_TIER,
        title: "OFAC tier",
        text: &[
            "Rows of OFAC's sanctions list that operators of this server approved, and that the current feed still \
             has. The feed is the newest complete document of the list that this server imported; a copy of unknown \
             date is not a feed. Each row has an address and a party. An approval is for both, as the operator saw \
             them in a document whose hash is stored. If the list later has the address under a party with another \
             number or name, the row is pending again. A server can require two approvals by different operators.",
            "Removed: an approved address that the feed no longer has. Invalid: a row of the file without a readable \
             address of this network. Listed under another asset: a row whose address belongs to another asset than \
             the row says.",
            "The date of the feed is the day on which its document was retrieved. It is stale if the last check that \
             it is still the publisher's list was more than 48 hours ago. A listing is dated by the first snapshot \
             with the address that this server imported; the date of the party's own entry only says that the address \
             was not listed before. An address that is not on the list may still belong to a listed party: the list is \
             not exhaustive.",
        ],
    },
    Definition {
        id: CLAIMS,
        title: "Claims",
        text: &[
            "A claim is a statement of a source about one script: who controls it, which list has it, or as what it is \
             reported. Each names its source, document, row, date and licence. Answers repeat the statements; they do \
             not confirm them, and they give no score.",
            "Each claim has a level from 0 to 100 for its evidence: 100 for a fact of the chain, a signature by the \
             script's key, or an authority's own list; 90 for the holder's own publication; 70 for a named \
             investigation; 60 for an authority's record of who controls it; 40 for a third party's publication; 10 \
             for behaviour; at most 10 for a community's collection. In words: verified from 90, high from 70, \
             moderate from 40, low from 20, otherwise unverified. A claim older than 365 days counts one word lower, \
             except facts about the chain or a list.",
            "Sources that repeat one origin count as one. Each origin votes with the highest level that it gives an entity; the \
             votes are added up by entity. The largest sum wins. It is conflicted if it has less than 75 % of all votes, a \
             majority if others are named too, corroborated if two or more origins agree and nobody else is named. Claims that \
             name nobody, and placeholders such as unnamed, do not vote. Only claims of control (controlled_by, \
             coinbase_payout_of) of level 40 or more make a script a member of an entity.",
            "A claim that may extend, as most claims of control, also counts for the other scripts of the same \
             cluster: with six tenths of its level, at most 60, and only while the claim stands for its own script. A \
             listing or a contested claim never extends. The claims of at most 16 other scripts are read, those that \
             joined the cluster first. Nothing is inherited over a merge of two clusters of 10,000 transactions or \
             more each. These numbers are ours.",
            "For each list, the document that was retrieved last counts. If it is a complete list, a script that it no \
             longer has is delisted at that time and stays in the history. A listing is dated by the first snapshot \
             that has the script; the date of the party's own entry only says that it was not listed before.",
            "The assessment is the first state that applies: not_examined (no labels are loaded), contested, \
             conflicted, labeled (a direct claim of level 40 or more), inferred, observed_only, no_history (the chain \
             has never seen it), examined_no_match. Finding nothing proves nothing: no list is complete.",
        ],
    },
    Definition {
        id: ENTITIES,
        title: "Entities",
        text: &[
            "An entity is a party that labels name: an exchange, a pool, a service, an organization. Its name in paths \
             has small letters, digits, dots, hyphens and underscores. Any spelling of it is accepted, as are other \
             names that sources write. If two entities share such a name, the one with more addresses under it is \
             found. The name and the category in an answer are those that sources give to most of its addresses.",
            "A script is a member of the entity that wins the votes of its claims, if a claim of control \
             (controlled_by, coinbase_payout_of) of level 40 or more names the entity; see claims. A script whose \
             claims conflict has no entity. A script that is only listed, mentioned or reported under the name of an \
             entity is not a member and counts in no sum. Each script counts for at most one entity.",
            "Balance, received and sent are sums over the members, exact at the tip. Received and sent count every \
             coin, also those that members pay to each other. They cover known addresses only and do not estimate the \
             total of the entity.",
            "The inherited balance is separate: the balance of other scripts of a cluster that claims attribute to the \
             entity by extension (see claims), with a level of 50 or more, which needs a claim of 84 or more. A script \
             that a list names directly counts only by its own claims. If the votes of the claims conflict, the \
             cluster has no entity. A cluster in which two clusters of 10,000 transactions or more each were merged is \
             left out and counted apart (suspect_cluster_count), since such a merge may rest on a mistake. Inherited \
             scripts are on no page of members; received, sent and activity do not cover them. It is an inference from \
             the clusters, which are a heuristic.",
            "coverage_status describes the evidence, not the share of the addresses that is known. full: the entity's \
             own list, declared complete and retrieved at most 90 days ago. substantial: two or more independent \
             origins, and 100 or more members. partial: 10 or more members. seed_only: fewer. The numbers 10 and 100 \
             are ours.",
            "A claim with an end date never makes a member here; the trust card of the address judges it by its dates.",
            "Activity is every transaction that pays a member or spends from one, with the sums that all members \
             received and sent, and the difference. A transaction between members alone has the fee as its difference.",
            "Entities that are natural persons, or of whose addresses a tenth or more are said to be a natural person's, are \
             left out of lists, directory, categories and suggestions. They are found by their exact name alone.",
        ],
    },
    evidence_pack::EVIDENCE_PACK_PAGE,
    intelligence::ADDRESS_INTELLIGENCE_PAGE,
    intelligence::RISK_CHECK_PAGE,
    exposure::EXPOSURE_PAGE,
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
            "A block belongs to a pool if its coinbase pays a script that claims attribute to the pool: current claims \
             of control (coinbase_payout_of, controlled_by) of the category mining_pool, with one vote for each \
             origin. A script counts for nobody if no pool has three quarters of the votes. Of the 8 largest spendable \
             outputs, the first one with a pool decides.",
            "Otherwise it belongs to the pool whose tag is in the scriptSig of the coinbase, byte for byte. The \
             longest tag counts; among equally long ones, that of the list that was retrieved last, then the first by \
             the pool's name. Only the newest document of each list counts. Anyone can write any tag: the answer shows \
             which blocks have no better evidence. If a block pays one pool and has the tag of another, it belongs to \
             the pool that is paid, and the answer names both.",
            "Windows are numbers of newest blocks, at ten minutes per block: a day has 144. So they do not depend on \
             clocks. The genesis block does not count. Shares are millionths that add up to 1, including the share of \
             unidentified blocks: they are rounded down, and the rest goes to the largest remainders.",
            "The hash rate of a pool is its share of the blocks times the network's hash rate over the same window: \
             the expected work of its blocks, from their targets, divided by their monotone block time. With few \
             blocks it is uncertain: for n blocks, the random error is about 1 in the square root of n.",
        ],
    },
    risk_signals::RISK_SIGNALS_PAGE,
    risk_signals::COINJOIN_PARTICIPATION_PAGE,
    risk_signals::PEEL_CHAIN_PAGE,
    risk_signals::ADDRESS_REUSE_PAGE,
    risk_signals::RAPID_PASS_THROUGH_PAGE,
    risk_signals::FAN_IN_PAGE,
    risk_signals::FAN_OUT_PAGE,
    risk_signals::DUST_RECIPIENT_PAGE,
    risk_signals::MIXER_EXPOSURE_PAGE,
    risk_signals::SANCTIONED_DIRECT_PAGE,
    risk_signals::SANCTIONED_INDIRECT_PAGE,
];
