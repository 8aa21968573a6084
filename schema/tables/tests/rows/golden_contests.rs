//! As `golden`, for contests.

use cairn_events::{ClaimId, Contest, ContestAct, ContestParty, DocumentHash, SignedText, StatementHash};
use cairn_tables::{
    claims::{ListKey, ListVersion},
    contests::{ContestKey, ContestState, Contests},
};
use proptest::{prelude::*, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

/// Any contest of an operator or a holder.
pub(crate) fn contest() -> impl Strategy<Value = Contest> + Clone {
    let slug = || "[a-z0-9._-]{1,32}".prop_map(|text| text.parse().unwrap());
    let hashes = (any::<[u8; 32]>(), any::<[u8; 32]>());
    let acts = (any::<bool>(), proptest::option::of(("[a-z ]{0,20}", "[A-Za-z0-9+/=]{0,20}")));
    (any::<[u8; 32]>(), slug(), slug(), hashes, values::number(), acts, "[a-zß ]{0,20}").prop_map(
        |(script, source, list, (statement, document), row, (settles, signed), reason)| {
            let signed = signed.map(|(message, signature)| SignedText { message, signature });
            let is_holder = signed.is_some();
            Contest {
                script,
                source,
                list,
                statement: StatementHash(statement),
                claim: ClaimId { document: DocumentHash(document), row },
                act: if settles && !is_holder { ContestAct::Settles } else { ContestAct::Contests },
                by: if is_holder { ContestParty::Holder } else { ContestParty::Operator },
                reason,
                signed,
            }
        },
    )
}

/// The contest of the golden rows.
pub(crate) fn contested() -> Contest {
    Contest {
        script: [0xc1; 32],
        source: "abc".parse().unwrap(),
        list: "por".parse().unwrap(),
        statement: StatementHash([0xe1; 32]),
        claim: ClaimId { document: DocumentHash([0xd3; 32]), row: 3 },
        act: ContestAct::Contests,
        by: ContestParty::Holder,
        reason: "no".to_owned(),
        signed: Some(SignedText { message: "m".to_owned(), signature: "AA==".to_owned() }),
    }
}

impl Tested for Contests {
    fn keys() -> BoxedStrategy<ContestKey> {
        let slug = || "[a-c]{1,3}|[a-z0-9._-]{1,32}".prop_map(|text| text.parse().unwrap());
        let list = (slug(), slug()).prop_map(|(source, list)| ListKey { source, list });
        let version = (values::number(), any::<[u8; 8]>());
        (any::<[u8; 32]>(), list, any::<[u8; 32]>(), version)
            .prop_map(|(script, list, statement, (retrieved_at, document))| ContestKey {
                script,
                list,
                statement: StatementHash(statement),
                version: ListVersion { retrieved_at, document },
            })
            .boxed()
    }

    fn values() -> BoxedStrategy<ContestState> {
        let act = prop_oneof![Just(ContestAct::Contests), Just(ContestAct::Settles)];
        let by = prop_oneof![Just(ContestParty::Operator), Just(ContestParty::Holder)];
        (act, by).prop_map(|(act, by)| ContestState { act, by }).boxed()
    }

    fn golden() -> Golden<Self> {
        let list = ListKey { source: "abc".parse().unwrap(), list: "por".parse().unwrap() };
        let version = ListVersion { retrieved_at: 300, document: [0xd1; 8] };
        let statement = StatementHash([0xe1; 32]);
        vec![(
            ContestKey { script: [0xa1; 32], list, statement, version },
            ContestState { act: ContestAct::Contests, by: ContestParty::Holder },
            "78 a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 61626300 706f7200 \
             e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1 0000012c d1d1d1d1d1d1d1d1",
            "01 02",
        )]
    }
}
