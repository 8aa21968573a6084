//! Imports of lists meanwhile: addresses of an exchange, a mining pool.

use std::{
    fs,
    time::{Duration, Instant},
};

use cairn_support::Cast;

use crate::operations::SUBJECTS;

/// Between two documents.
const EVERY: Duration = Duration::from_secs(20);
/// Addresses in a document.
const ADDRESSES: usize = 200;

/// The lists.
pub struct Lists {
    next: Instant,
    documents: u64,
}

impl Lists {
    /// Imports the first documents: what the examples of the description ask for.
    pub fn new(cast: &Cast) -> Self {
        let mut lists = Lists { next: Instant::now(), documents: 0 };
        lists.go_on(cast);
        let address = SUBJECTS.lock().unwrap().addresses[0].clone();
        let pool = format!(
            "[{{\"id\":1,\"name\":\"Stone Pool\",\"addresses\":[\"{address}\"],\"tags\":[\"/Stone Pool/\"],\"link\":\"\"}}]"
        );
        fs::write(cast.world.path("pools.json"), pool).unwrap();
        cast.world.stdout("pools import --datadir data --licence mit --source soak-pools pools.json");
        lists
    }

    /// Imports a document, if it is time: it names the addresses of the newest blocks, so that labels come and go.
    pub fn go_on(&mut self, cast: &Cast) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + EVERY;
        self.documents += 1;
        let mut addresses = SUBJECTS.lock().unwrap().addresses.clone();
        addresses.retain(|address| !address.starts_with("scripthash:"));
        addresses.sort_unstable();
        addresses.dedup();
        addresses.truncate(ADDRESSES);
        let row = |address: &String| {
            format!(
                "{address},cairn-exchange,Cairn Exchange,exchange,,controlled_by,self_disclosed,s,https://example.org,,2024-05-06,MIT,\n"
            )
        };
        let head = "address,entity,entity_name,category,behaviour,claim_type,evidence_tier,source_id,source_url,origin_url,\
            asserted_at,licence,note\n";
        fs::write(cast.world.path("list.csv"), head.to_owned() + &addresses.iter().map(row).collect::<String>())
            .unwrap();
        cast.world.stdout("labels import --datadir data --licence mit --source soak --list por --complete list.csv");
    }
}
