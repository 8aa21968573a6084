//! An index in a folder of its own, and a reader that records what is published to it.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use cairn_chaingen::{
    Chain, Everything,
    corefiles::{FileOptions, Layout, WrittenFiles, write_chain},
};
use cairn_events::LiveQuote;
use cairn_follow::{FileSource, OpenIndex};
use cairn_link::{IndexSlot, Publish, Publishers};
use cairn_model::{BlockHash, CancelToken, Height, MempoolDelta, Network, SourceStatus, Trouble};
use cairn_pipeline::{Engine, Progress, ProgressStep};
use cairn_reader::{Facts, Reader};
use cairn_testkit::temp_dir;
use tempfile::TempDir;

/// How long anything may take.
pub const SOON: Duration = Duration::from_secs(60);

/// A generator that has made `blocks` blocks besides genesis.
pub fn generator(blocks: u32) -> Everything {
    let mut everything = Everything::new(5, 4, false);
    everything.grow(blocks).unwrap();
    everything
}

/// Writes a chain as block files.
pub fn write(folder: &Path, chain: &Chain) -> WrittenFiles {
    let files = FileOptions::new(Network::Regtest.to_bitcoin(), [7; 8]);
    write_chain(folder, chain, &Layout::tidy(files)).unwrap()
}

/// Appends to the files of a folder what a longer chain has more, undo data first.
pub fn append(folder: &Path, chain: &Chain) {
    let longer = temp_dir();
    write(longer.path(), chain);
    for name in ["rev00000.dat", "blk00000.dat"] {
        let (old, new) = (fs::read(folder.join(name)).unwrap(), fs::read(longer.path().join(name)).unwrap());
        assert!(new.starts_with(&old), "{name} is another");
        let mut file = OpenOptions::new().append(true).open(folder.join(name)).unwrap();
        file.write_all(&new[old.len()..]).unwrap();
    }
}

/// Block files as a source.
pub fn files(folder: &Path) -> FileSource {
    FileSource::open(folder, Network::Regtest, 64 << 20).unwrap()
}

/// A call to a reader.
#[derive(Clone, PartialEq, Debug)]
pub enum Told {
    Tip(Option<(Height, BlockHash)>),
    Best(Option<Height>),
    Source(SourceStatus),
    Connected(Vec<MempoolDelta>),
    Mempool(Vec<MempoolDelta>),
}

/// Records what is published to it.
#[derive(Default)]
pub struct Recorder(Mutex<Vec<Told>>);

impl Recorder {
    pub fn told(&self) -> Vec<Told> {
        self.0.lock().unwrap().clone()
    }

    fn write(&self, told: Told) {
        self.0.lock().unwrap().push(told);
    }
}

impl Publish for Recorder {
    fn publish_tip(&self, tip: Option<(Height, BlockHash)>) {
        self.write(Told::Tip(tip));
    }

    fn publish_events(&self, _: u64) {}

    fn publish_live_quotes(&self, _: &[LiveQuote]) {}

    fn publish_best_height(&self, best: Option<Height>) {
        self.write(Told::Best(best));
    }

    fn publish_source(&self, status: &SourceStatus) {
        self.write(Told::Source(status.clone()));
    }

    /// The slot beside it has them.
    fn publish_troubles(&self, _: &[Trouble]) {}

    fn publish_connected(&self, deltas: &[MempoolDelta]) {
        self.write(Told::Connected(deltas.to_vec()));
    }

    fn publish_mempool(&self, deltas: &[MempoolDelta]) {
        self.write(Told::Mempool(deltas.to_vec()));
    }
}

/// Shows nothing, and can be cancelled.
struct Silent(CancelToken);

impl Progress for Silent {
    fn step(&self, _: ProgressStep) {}

    fn cancel_token(&self) -> &CancelToken {
        &self.0
    }
}

/// A folder for an index, its readers, and the token that cancels work on it.
pub struct Scene {
    pub dir: TempDir,
    pub cancel: CancelToken,
    pub slot: Arc<IndexSlot>,
    pub recorder: Arc<Recorder>,
}

impl Scene {
    pub fn new() -> Self {
        Scene { dir: temp_dir(), cancel: CancelToken::new(), slot: Arc::default(), recorder: Arc::default() }
    }

    /// The index, opened for writing.
    pub fn open(&self) -> OpenIndex {
        let engine = Engine::open(self.dir.path(), &Facts::of(Network::Regtest)).unwrap();
        let readers =
            Publishers::new(vec![Arc::<IndexSlot>::clone(&self.slot), Arc::<Recorder>::clone(&self.recorder)]);
        OpenIndex::new(engine, self.dir.path(), readers, self.slot.pool(), Arc::new(Silent(self.cancel.clone())))
    }

    /// Height and hash of the tip on disk.
    pub fn tip(&self) -> (Height, BlockHash) {
        let reader = Reader::open(&self.dir.path().join("index")).unwrap();
        let tip = *reader.view().unwrap().tip();
        (tip.height, tip.hash)
    }

    /// Its height.
    pub fn height(&self) -> Height {
        self.tip().0
    }
}

/// Waits until it holds.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < until, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
