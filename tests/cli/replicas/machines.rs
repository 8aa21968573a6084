//! The machines of these tests: a writer, replicas that share a database with it, and that database.

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use cairn_chaingen::Everything;
use cairn_reader::{REPLICA, Reader, freeze, mark_replica};
use cairn_state::{State, StateUrl};
use cairn_support::{Running, World, get, grown, wait_until};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::CAIRN;

/// Names the PostgreSQL server for tests.
const POSTGRES: &str = "CAIRN_TEST_POSTGRES_URL";

/// A database that several machines share.
pub(super) struct Shared {
    pub(super) url: String,
    /// The server and the schema on it.
    pub(super) schema: Option<(String, String)>,
}

impl Shared {
    pub(super) fn sqlite(world: &World) -> Self {
        Shared { url: format!("sqlite:{}", world.path("shared.sqlite").display()), schema: None }
    }

    /// A schema of its own on the server; `None` where no server is named.
    pub(super) fn postgres() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var(POSTGRES).ok().filter(|url| !url.is_empty())?;
        let name = format!("cairn_replicas_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let separator = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{separator}options=-csearch_path%3D{name}");
        let shared = Shared { url, schema: Some((server, name)) };
        shared.administer("CREATE SCHEMA");
        Some(shared)
    }

    fn administer(&self, what: &str) {
        let Some((server, name)) = &self.schema else { return };
        let more = if what.starts_with("DROP") { " CASCADE" } else { "" };
        let done = Command::new("psql").args(["-q", "-c", &format!("{what} {name}{more}"), server]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.administer("DROP SCHEMA");
    }
}

/// A writer, and copies of its index in other folders.
pub(super) struct Machines {
    pub(super) world: World,
    pub(super) shared: Shared,
    pub(super) generator: Everything,
}

impl Machines {
    pub(super) fn new(blocks: u32, shared: impl FnOnce(&World) -> Shared) -> Self {
        let generator = grown(blocks);
        let world = World::with(CAIRN, generator.chain());
        let shared = shared(&world);
        Machines { world, shared, generator }
    }

    /// The writer, with an API.
    pub(super) fn run(&self) -> Running {
        let line =
            "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0 --rate-limit 0 --state-url";
        self.world.start(&format!("{line} {}", self.shared.url))
    }

    /// A copy of the writer's index takes the place of a replica's, when all blocks are on its disk.
    pub(super) fn restore(&self, replica: &str) {
        let hash = self.generator.chain().tip().hash().to_string();
        let on_disk = || {
            let reader = Reader::open(&self.world.path("data/index")).unwrap();
            reader.view().unwrap().tip().hash.to_string() == hash
        };
        wait_until("the tip on disk", on_disk);
        let folder = self.world.path(replica);
        fs::create_dir_all(&folder).unwrap();
        let (index, next) = (folder.join("index"), folder.join("index.restoring"));
        freeze(&self.world.path("data/index"), &next).unwrap();
        if folder.join(REPLICA).exists() {
            renameat_with(CWD, &index, CWD, &next, RenameFlags::EXCHANGE).unwrap();
            fs::remove_dir_all(&next).unwrap();
        } else {
            fs::rename(&next, &index).unwrap();
            mark_replica(&folder, "s3://bucket/cairn").unwrap();
        }
    }

    /// A server on a replica: it, its address, and that of its admin listener.
    pub(super) fn serve(&self, datadir: &str) -> (Running, String, String) {
        let line = "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --max-lag-blocks 3 --rate-limit 0 --datadir";
        let mut running = self.world.start(&format!("{line} {datadir} --state-url {}", self.shared.url));
        let address = running.address();
        running.wait_for("serving operators address=");
        let said = running.said();
        let admin = said.split("serving operators address=").nth(1).unwrap().split_whitespace().next().unwrap();
        (running, address, admin.to_owned())
    }

    /// Blocks come to the writer.
    pub(super) fn grow(&mut self, blocks: u32, writer: &str) {
        self.generator.grow(blocks).unwrap();
        self.world.append(self.generator.chain());
        let height = self.generator.chain().tip().height;
        wait_until("blocks at the writer", || get(writer, &format!("/v1/blocks/{height}")).0 == 200);
    }

    /// A file of daily prices, one for each source, handed in on a folder.
    pub(super) fn import(&self, datadir: &str, source: &str) -> String {
        let price = source.bytes().fold(0u32, |sum, byte| sum * 31 % 9_973 + u32::from(byte));
        let rows: String = (1..=28).map(|day| format!("2015-01-{day:02},{}.50\n", price + day)).collect();
        fs::write(self.world.path(&format!("{source}.csv")), format!("date,close\n{rows}")).unwrap();
        let line = "prices import --licence cc0-1.0 --pair BTC/USD";
        self.world.stdout(&format!(
            "{line} --datadir {datadir} --state-url {} --source {source} {source}.csv",
            self.shared.url
        ))
    }

    /// Does something at the database past the commands.
    pub(super) fn at_database<T>(&self, work: impl AsyncFnOnce(&State) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let state = State::open(&self.shared.url.parse::<StateUrl>().unwrap()).await.unwrap();
            let result = work(&state).await;
            state.close().await;
            result
        })
    }

    pub(super) fn waiting(&self) -> String {
        self.world.stdout(&format!("events waiting --state-url {}", self.shared.url))
    }
}
