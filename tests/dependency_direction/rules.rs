//! The rules: which crates never reach which, and why.

/// A set of crates.
#[derive(Clone, Copy)]
pub(crate) enum Who {
    /// The one crate of that name, ours or not.
    Crate(&'static str),
    /// Every crate of the workspace under that folder.
    Under(&'static str),
}
use Who::{Crate, Under};

/// `who` never reaches any of `never`.
pub(crate) struct Rule {
    pub(crate) who: Who,
    pub(crate) never: &'static [Who],
    pub(crate) why: &'static str,
}

/// Folders that do not exist yet are named already: their crates are bound from the first day.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        who: Under("schema"),
        never: &[
            Under("indexer"),
            Under("query-api"),
            Under("snapshots"),
            Under("demo"),
            Under("tests"),
            Crate("cairn"),
        ],
        why: "the schema is below everything",
    },
    Rule {
        who: Crate("cairn-model"),
        never: &[
            Crate("cairn-clock"),
            Crate("cairn-tables"),
            Crate("cairn-reader"),
            Crate("cairn-writer"),
            Crate("rocksdb"),
            Crate("tokio"),
            Crate("axum"),
        ],
        why: "the model is types without I/O",
    },
    Rule {
        who: Crate("cairn-tables"),
        never: &[Crate("cairn-reader"), Crate("cairn-writer"), Crate("cairn-clock")],
        why: "tables are codecs; reader and writer stand on them",
    },
    Rule { who: Crate("cairn-reader"), never: &[Crate("cairn-writer")], why: "read-only is a type" },
    Rule {
        who: Under("indexer"),
        never: &[Under("query-api"), Under("snapshots"), Under("demo"), Under("tests"), Crate("cairn"), Crate("axum")],
        why: "the indexer and the query API never depend on each other",
    },
    Rule {
        who: Crate("cairn-stages"),
        never: &[Crate("cairn-clock"), Crate("cairn-writer"), Crate("cairn-pipeline"), Crate("cairn-sources")],
        why: "stages emit, drivers apply",
    },
    Rule {
        who: Crate("cairn-sources"),
        never: &[Crate("cairn-tables"), Crate("cairn-stages"), Crate("cairn-pipeline"), Crate("rocksdb")],
        why: "a source only brings blocks",
    },
    Rule {
        who: Crate("cairn-inputs"),
        never: &[Crate("cairn-clock"), Crate("cairn-tables"), Crate("rocksdb"), Crate("tokio")],
        why: "files of inputs are read into plain data",
    },
    Rule {
        who: Crate("cairn-fetch"),
        never: &[
            Crate("cairn-tables"),
            Crate("cairn-reader"),
            Crate("cairn-writer"),
            Crate("cairn-pipeline"),
            Crate("cairn-link"),
            Crate("cairn-follow"),
            Crate("rocksdb"),
            Crate("tokio"),
        ],
        why: "fetchers bring documents; the ledger comes through a trait",
    },
    Rule {
        who: Crate("cairn-mempool"),
        never: &[
            Crate("cairn-tables"),
            Crate("cairn-reader"),
            Crate("cairn-writer"),
            Crate("cairn-stages"),
            Crate("cairn-pipeline"),
            Crate("rocksdb"),
            Crate("tokio"),
        ],
        why: "the mempool is watched over the node's interfaces; our coins come through a trait",
    },
    Rule {
        who: Crate("cairn-link"),
        never: &[Crate("cairn-writer"), Crate("tokio"), Crate("axum")],
        why: "the link is what readers and whoever writes share",
    },
    Rule {
        who: Crate("cairn-node"),
        never: &[
            Crate("cairn-reader"),
            Crate("cairn-writer"),
            Crate("cairn-pipeline"),
            Crate("cairn-link"),
            Crate("rocksdb"),
            Crate("tokio"),
        ],
        why: "a source only brings blocks",
    },
    Rule {
        who: Crate("cairn-pipeline"),
        never: &[
            Crate("cairn-node"),
            Crate("cairn-mempool"),
            Crate("cairn-link"),
            Crate("cairn-follow"),
            Crate("tokio"),
        ],
        why: "the pipeline indexes what it is given; the follower decides what and when, and tells readers",
    },
    Rule {
        who: Crate("cairn-follow"),
        never: &[Crate("tokio"), Crate("clap"), Crate("indicatif")],
        why: "the follower runs on threads, and the command line is above it",
    },
    Rule {
        who: Under("query-api"),
        never: &[
            Under("indexer"),
            Under("anchoring"),
            Under("demo"),
            Under("tests"),
            Crate("cairn"),
            Crate("cairn-writer"),
        ],
        why: "the query API is read-only",
    },
    Rule {
        who: Crate("cairn-domain"),
        never: &[
            Crate("cairn-clock"),
            Crate("axum"),
            Crate("hyper"),
            Crate("tokio"),
            Crate("rocksdb"),
            Crate("librocksdb-sys"),
            Crate("cairn-tables"),
            Crate("cairn-reader"),
            Crate("cairn-http"),
            Crate("cairn-mcp"),
        ],
        why: "the domain is pure",
    },
    Rule {
        who: Crate("cairn-http"),
        // Of the schema only `cairn-work`, what a request may use, and `cairn-json`: neither knows of a chain.
        never: &[
            Crate("cairn-model"),
            Crate("cairn-clock"),
            Crate("cairn-operations"),
            Crate("cairn-mcp"),
            Crate("rmcp"),
            Crate("bitcoin"),
            Crate("rocksdb"),
        ],
        why: "the framework knows nothing of chains",
    },
    Rule {
        who: Crate("cairn-operations"),
        never: &[Crate("cairn-mcp"), Crate("cairn-web"), Crate("rmcp"), Crate("cairn-access")],
        why: "MCP tools derive from the operations, which do not know how they are paid",
    },
    Rule {
        who: Crate("cairn-mcp"),
        never: &[Crate("cairn-operations"), Crate("cairn-reader"), Crate("rocksdb")],
        why: "MCP calls operations through the framework",
    },
    Rule {
        who: Crate("cairn-web"),
        never: &[
            Under("schema/reader"),
            Under("schema/domain"),
            Crate("cairn-operations"),
            Crate("cairn-mcp"),
            Crate("bitcoin"),
            Crate("rocksdb"),
        ],
        why: "pages show what operations answer, and have no other way to the index",
    },
    Rule {
        who: Crate("cairn-state"),
        never: &[Under("schema"), Crate("cairn-domain"), Crate("cairn-http"), Crate("axum"), Crate("rocksdb")],
        why: "service state is below HTTP and knows nothing of the index",
    },
    Rule {
        who: Crate("cairn-keys"),
        never: &[Under("schema"), Under("indexer"), Crate("cairn-http"), Crate("cairn-operations"), Crate("tracing")],
        why: "what reads descriptors neither stores nor logs nor writes them",
    },
    Rule {
        who: Crate("cairn-access"),
        never: &[
            Under("indexer"),
            Crate("cairn-operations"),
            Crate("cairn-reader"),
            Crate("cairn-mcp"),
            Crate("rocksdb"),
        ],
        why: "a till knows the request and its payment, not the answer",
    },
    Rule {
        who: Crate("cairn-l402"),
        never: &[Under("schema"), Crate("cairn-state"), Crate("cairn-http"), Crate("tokio"), Crate("tracing")],
        why: "credentials are bytes: no clock, no network, no storage, no log",
    },
    Rule {
        who: Crate("cairn-x402"),
        never: &[Under("schema"), Crate("cairn-state"), Crate("cairn-http"), Crate("tokio"), Crate("tracing")],
        why: "payments are checked without a clock and storage of their own",
    },
    Rule {
        who: Crate("cairn-lightning"),
        never: &[Crate("cairn-state"), Crate("cairn-http"), Crate("cairn-operations"), Crate("tokio")],
        why: "invoices know nothing of who asks for them",
    },
    Rule { who: Crate("cairn-payments"), never: &[Crate("cairn-http")], why: "payments know nothing of who asks" },
    Rule { who: Crate("cairn-timestamps"), never: &[Under("schema"), Crate("tokio")], why: "proofs are bytes" },
    Rule {
        who: Under("anchoring"),
        never: &[
            Under("snapshots"),
            Under("demo"),
            Under("tests"),
            Crate("cairn"),
            Crate("cairn-reader"),
            Crate("cairn-http"),
            Crate("rocksdb"),
            Crate("axum"),
        ],
        why: "the anchorer gets the chain through a trait",
    },
    Rule {
        who: Under("snapshots"),
        never: &[Under("indexer"), Under("query-api"), Under("anchoring")],
        why: "snapshots read",
    },
    Rule {
        who: Under("setup"),
        never: &[
            Under("query-api"),
            Under("snapshots"),
            Under("demo"),
            Under("tests"),
            Crate("cairn"),
            Crate("cairn-tables"),
            Crate("cairn-reader"),
            Crate("cairn-writer"),
            Crate("cairn-pipeline"),
            Crate("rocksdb"),
            Crate("tokio"),
            Crate("clap"),
        ],
        why: "the first run looks at a machine before an index exists",
    },
    Rule {
        who: Under("demo"),
        never: &[
            Under("schema"),
            Under("indexer"),
            Under("query-api"),
            Under("snapshots"),
            Under("tests"),
            Crate("cairn"),
        ],
        why: "the demo's chain is made by code that shares nothing with what reads it",
    },
    Rule {
        who: Under("tests"),
        never: &[Under("indexer"), Under("query-api"), Crate("cairn")],
        why: "generator and oracle share no code with what they test",
    },
    Rule { who: Crate("cairn"), never: &[Under("tests")], why: "what is shipped holds no code of the tests" },
];
