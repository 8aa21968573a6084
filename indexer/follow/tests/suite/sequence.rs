//! The loop and the sequence of sources, with sources that say what was asked of them.

use std::{
    io,
    sync::{Arc, Mutex},
};

use cairn_follow::{ActiveSource, FollowError, Follower, OpenIndex, Outcome, Reached, Source, Until};
use cairn_model::{CancelToken, Height, Part};
use cairn_testkit::temp_dir;

use crate::support::{Scene, files, generator, write};

/// The calls, in order.
type Asked = Arc<Mutex<Vec<String>>>;

/// The action of a source instead of the requested one.
#[derive(Clone, Copy)]
enum Deed {
    /// It is not at the tip yet.
    Further,
    /// It is at the tip.
    Tip,
    Cancel,
    Fail,
}

/// A source that notes what is asked of it, and then does it with block files, or as its script says.
struct Spy {
    name: &'static str,
    asked: Asked,
    cancel: CancelToken,
    begins: Option<Box<dyn Source>>,
    active: Option<Box<dyn ActiveSource>>,
    /// Results of `advance`, one after the other; then the files decide, or it is at the tip.
    advance: Vec<Deed>,
    wait: Deed,
    end: Deed,
    check: Deed,
}

impl Spy {
    fn note(&self, what: &str) {
        self.asked.lock().unwrap().push(format!("{} {what}", self.name));
    }

    fn does(&self, deed: Deed, what: &str) -> Result<Reached, FollowError> {
        self.note(what);
        match deed {
            Deed::Further => Ok(Reached::Further),
            Deed::Tip => Ok(Reached::Tip),
            Deed::Cancel => {
                self.cancel.cancel();
                Ok(Reached::Further)
            }
            Deed::Fail => Err(FollowError::Thread(io::Error::other(format!("{} {what}", self.name)))),
        }
    }
}

impl Source for Spy {
    fn begin(mut self: Box<Self>, index: &mut OpenIndex, until: Until) -> Result<Box<dyn ActiveSource>, FollowError> {
        self.note(&format!("begin {until:?}"));
        if let Some(files) = self.begins.take() {
            self.active = Some(files.begin(index, until)?);
        }
        Ok(self)
    }
}

impl ActiveSource for Spy {
    fn advance(&mut self, index: &mut OpenIndex, to: Option<Height>) -> Result<Reached, FollowError> {
        if self.advance.is_empty() {
            return match &mut self.active {
                Some(files) => {
                    self.asked.lock().unwrap().push(format!("{} advance {to:?}", self.name));
                    files.advance(index, to)
                }
                None => self.does(Deed::Tip, "advance"),
            };
        }
        let deed = self.advance.remove(0);
        self.does(deed, "advance")
    }

    fn wait(&mut self, _: &mut OpenIndex) -> Result<(), FollowError> {
        self.does(self.wait, "wait").map(drop)
    }

    fn check_complete(&self, _: &OpenIndex, _: Option<Height>) -> Result<(), FollowError> {
        self.does(self.check, "check").map(drop)
    }

    fn part(&self) -> Part {
        Part::Node
    }

    fn recover(&mut self, _: &mut OpenIndex, _: &FollowError) -> Result<(), FollowError> {
        self.note("recover");
        Ok(())
    }

    fn end(self: Box<Self>, _: &mut OpenIndex) -> Result<(), FollowError> {
        self.does(self.end, "end").map(drop)
    }
}

/// A scene and its spies.
struct Plot {
    scene: Scene,
    asked: Asked,
    spies: Vec<Box<dyn Source>>,
}

impl Plot {
    fn new() -> Self {
        Plot { scene: Scene::new(), asked: Asked::default(), spies: Vec::new() }
    }

    fn spy(&self, name: &'static str) -> Spy {
        Spy {
            name,
            asked: Arc::clone(&self.asked),
            cancel: self.scene.cancel.clone(),
            begins: None,
            active: None,
            advance: Vec::new(),
            wait: Deed::Further,
            end: Deed::Further,
            check: Deed::Further,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Spy), name: &'static str) -> Self {
        let mut spy = self.spy(name);
        change(&mut spy);
        self.spies.push(Box::new(spy));
        self
    }

    fn follow(&mut self, until: Until) -> Result<Outcome, FollowError> {
        Follower::new(self.scene.open(), std::mem::take(&mut self.spies)).follow(until)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn assert_failed(&mut self, until: Until, with: &str) {
        match self.follow(until) {
            Err(FollowError::Thread(error)) => assert_eq!(error.to_string(), with),
            other => panic!("{other:?}"),
        }
    }
}

/// Two folders: the first 30 blocks, and all 50.
fn two_folders() -> (tempfile::TempDir, tempfile::TempDir) {
    let (low, high, mut made) = (temp_dir(), temp_dir(), generator(30));
    write(low.path(), made.chain());
    made.grow(20).unwrap();
    write(high.path(), made.chain());
    (low, high)
}

#[test]
fn the_next_source_goes_on_where_the_last_ended() {
    let (low, high) = two_folders();
    let mut plot = Plot::new()
        .with(|spy| spy.begins = Some(Box::new(files(low.path()))), "low")
        .with(|spy| spy.begins = Some(Box::new(files(high.path()))), "high");
    assert_eq!(plot.follow(Until::Tip { to: None }).unwrap(), Outcome::Done);
    assert_eq!(
        plot.asked(),
        [
            "low begin Tip { to: None }",
            "low advance None",
            "low end",
            "high begin Tip { to: None }",
            "high advance None",
            "high check",
            "high end",
        ]
    );
    assert_eq!(plot.scene.height(), 50);
}

#[test]
fn a_height_ends_whichever_source_reaches_it() {
    for (to, expected) in [(40, 40), (20, 20)] {
        let (low, high) = two_folders();
        let mut plot = Plot::new()
            .with(|spy| spy.begins = Some(Box::new(files(low.path()))), "low")
            .with(|spy| spy.begins = Some(Box::new(files(high.path()))), "high");
        assert_eq!(plot.follow(Until::Height(to)).unwrap(), Outcome::Done);
        assert_eq!(
            plot.asked(),
            [
                // All but the last are used up and not waited for.
                format!("low begin Tip {{ to: Some({to}) }}").as_str(),
                format!("low advance Some({to})").as_str(),
                "low end",
                format!("high begin Height({to})").as_str(),
                format!("high advance Some({to})").as_str(),
                "high end",
            ]
        );
        assert_eq!(plot.scene.height(), expected);
    }
}

#[test]
fn only_the_tip_is_waited_at() {
    let script = vec![Deed::Further, Deed::Further, Deed::Tip, Deed::Further, Deed::Tip, Deed::Cancel];
    let mut plot = Plot::new().with(|spy| spy.advance = script, "one");
    assert_eq!(plot.follow(Until::Cancelled).unwrap(), Outcome::Cancelled);
    assert_eq!(
        plot.asked(),
        [
            "one begin Cancelled",
            "one advance",
            "one advance",
            "one advance",
            "one wait",
            "one advance",
            "one advance",
            "one wait",
            "one advance",
            "one end",
        ]
    );
}

#[test]
fn a_height_that_is_not_there_is_waited_for() {
    let mut plot = Plot::new().with(|spy| spy.wait = Deed::Cancel, "one");
    assert_eq!(plot.follow(Until::Height(7)).unwrap(), Outcome::Cancelled);
    assert_eq!(plot.asked(), ["one begin Height(7)", "one advance", "one wait", "one end"]);
}

#[test]
fn nothing_begins_after_a_cancellation() {
    let mut plot = Plot::new().with(|spy| spy.advance = vec![Deed::Cancel], "one").with(|_| {}, "two");
    assert_eq!(plot.follow(Until::Tip { to: None }).unwrap(), Outcome::Cancelled);
    assert_eq!(plot.asked(), ["one begin Tip { to: None }", "one advance", "one end"]);
}

#[test]
fn a_tip_that_is_reached_counts_although_it_was_cancelled() {
    let mut plot = Plot::new().with(|_| {}, "one");
    plot.scene.cancel.cancel();
    assert_eq!(plot.follow(Until::Tip { to: None }).unwrap(), Outcome::Done);
}

#[test]
fn a_source_that_fails_ends_and_what_failed_first_is_said() {
    let tip = Until::Tip { to: None };
    let mut plot = Plot::new().with(|spy| spy.advance = vec![Deed::Fail], "one").with(|_| {}, "two");
    plot.assert_failed(tip, "one advance");
    assert_eq!(plot.asked(), ["one begin Tip { to: None }", "one advance", "one end"]);
    let failing = |spy: &mut Spy| (spy.check, spy.end) = (Deed::Fail, Deed::Fail);
    Plot::new().with(failing, "one").assert_failed(tip, "one check");
    // Of all but the last nobody asks whether they are complete.
    let incomplete = |spy: &mut Spy| spy.check = Deed::Fail;
    Plot::new().with(incomplete, "one").with(|spy| spy.end = Deed::Fail, "two").assert_failed(tip, "two end");
    let waits = |spy: &mut Spy| (spy.wait, spy.end) = (Deed::Fail, Deed::Fail);
    Plot::new().with(waits, "one").assert_failed(Until::Height(7), "one wait");
}

#[test]
fn without_an_end_what_fails_is_tried_again() {
    let script = vec![Deed::Fail, Deed::Further, Deed::Fail, Deed::Cancel];
    let mut plot = Plot::new().with(|spy| spy.advance = script, "one");
    assert_eq!(plot.follow(Until::Cancelled).unwrap(), Outcome::Cancelled);
    let (advance, recover) = ("one advance", "one recover");
    assert_eq!(plot.asked(), ["one begin Cancelled", advance, recover, advance, advance, recover, advance, "one end"]);
}

#[test]
fn without_a_source_there_is_nothing_to_follow() {
    assert!(matches!(Plot::new().follow(Until::Cancelled), Err(FollowError::NoSource)));
}
