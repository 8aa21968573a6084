//! Announcer and listener over a real socket.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use cairn_link::{Announcer, Event, Listener, Message};
use cairn_model::BlockHash;

const SOON: Duration = Duration::from_secs(10);

fn tip(height: u32) -> Message {
    Message::Tip { height, hash: BlockHash([height as u8; 32]) }
}

fn listen(path: &Path) -> (Listener, Receiver<Event>) {
    let (sender, events) = channel();
    (Listener::start(path, move |event| drop(sender.send(event))).unwrap(), events)
}

fn expect(events: &Receiver<Event>, wanted: &Event) {
    let until = Instant::now() + SOON;
    while Instant::now() < until {
        if events.recv_timeout(SOON).unwrap() == *wanted {
            return;
        }
    }
    panic!("never heard {wanted:?}");
}

#[test]
fn a_late_reader_gets_the_present_and_then_the_news() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("link.sock");
    let present = Arc::new(Mutex::new(vec![tip(5), Message::Best(Some(7))]));
    let state = Arc::clone(&present);
    let announcer = Announcer::bind(&path, Box::new(move || state.lock().unwrap().clone())).unwrap();
    // Nobody listens: nothing waits.
    announcer.announce(&tip(4));
    let (_listener, events) = listen(&path);
    assert_eq!(events.recv_timeout(SOON).unwrap(), Event::Found);
    assert_eq!(events.recv_timeout(SOON).unwrap(), Event::Said(tip(5)));
    assert_eq!(events.recv_timeout(SOON).unwrap(), Event::Said(Message::Best(Some(7))));
    for height in 6..500 {
        announcer.announce(&tip(height));
    }
    for height in 6..500 {
        assert_eq!(events.recv_timeout(SOON).unwrap(), Event::Said(tip(height)));
    }
    assert_eq!(announcer.readers(), 1);
}

#[test]
fn writers_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("link.sock");
    let (_listener, events) = listen(&path);
    for round in 0..3u32 {
        let announcer = Announcer::bind(&path, Box::new(move || vec![tip(round)])).unwrap();
        expect(&events, &Event::Said(tip(round)));
        drop(announcer);
        assert!(!path.exists());
        assert!(matches!(events.recv_timeout(SOON).unwrap(), Event::Lost(_)));
    }
    // A killed writer leaves its socket behind; the next one takes its place.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let _announcer = Announcer::bind(&path, Box::new(|| vec![tip(9)])).unwrap();
    expect(&events, &Event::Said(tip(9)));
}

#[test]
fn a_reader_that_does_not_read_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("link.sock");
    let announcer = Announcer::bind(&path, Box::new(Vec::new)).unwrap();
    let _deaf = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let until = Instant::now() + SOON;
    while announcer.readers() == 0 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut said = 0u32;
    while announcer.readers() > 0 {
        announcer.announce(&tip(said));
        said += 1;
        assert!(said < 1_000_000, "memory without bound");
    }
}

#[test]
fn another_version_is_not_listened_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("link.sock");
    let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let (_listener, events) = listen(&path);
    let (mut stream, _) = socket.accept().unwrap();
    Message::Hello { version: 99 }.write(&mut stream).unwrap();
    assert!(matches!(events.recv_timeout(SOON).unwrap(), Event::Lost(why) if why.contains("version")));
}
