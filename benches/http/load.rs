//! A generator of load for HTTP/1.1: one thread, connections that are kept, requests that are ready made.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime,
    sync::Notify,
    task::LocalSet,
};

/// Where the load goes.
pub(crate) struct Target<'t> {
    /// Address of the server.
    pub(crate) address: &'t str,
    /// Whole requests; each next one is taken from here, round and round.
    pub(crate) requests: &'t [Vec<u8>],
    /// Connections.
    pub(crate) connections: usize,
}

/// Answers, and the time that they took.
#[derive(Default)]
pub(crate) struct Answers {
    /// Time of each answer with status 200: in a closed loop since it was sent, in an open one since it was due.
    pub(crate) times: Vec<Duration>,
    /// Answers with status 503.
    pub(crate) shed: u64,
    /// Sum of the rows that they say they read.
    pub(crate) rows: u64,
    /// Sum of the bytes of their bodies.
    pub(crate) bytes: u64,
    /// From the first request to the last answer.
    pub(crate) took: Duration,
}

impl Answers {
    /// Answers with status 200 a second.
    pub(crate) fn rate(&self) -> f64 {
        self.times.len() as f64 / self.took.as_secs_f64()
    }

    /// Milliseconds within which this share of the answers came.
    pub(crate) fn percentile(&mut self, share: f64) -> f64 {
        self.times.sort_unstable();
        let at = ((self.times.len() as f64 * share).ceil() as usize).clamp(1, self.times.len()) - 1;
        self.times[at].as_secs_f64() * 1e3
    }
}

/// Every connection asks again as soon as it has its answer, for this long.
pub(crate) fn closed(target: &Target<'_>, time: Duration) -> Answers {
    run(target, |answers: Shared, mut connection: Connection, next: Next, started: Instant| async move {
        while started.elapsed() < time {
            let sent = Instant::now();
            connection.ask(&next(), &answers, sent).await;
        }
    })
}

/// Requests come due at this rate, whatever the answers do, for this long; whichever connection is free takes the next.
pub(crate) fn open(target: &Target<'_>, rate: f64, time: Duration) -> Answers {
    let queue = Rc::new(Queue::default());
    let clock = Rc::clone(&queue);
    let due = move |started: Instant| async move {
        let mut told = 0u64;
        // The timer of the runtime has steps of a millisecond: requests that come due within one are queued together.
        while started.elapsed() < time {
            let now = (started.elapsed().as_secs_f64() * rate) as u64;
            for at in told..now {
                clock.due.borrow_mut().push_back(started + Duration::from_secs_f64(at as f64 / rate));
                clock.some.notify_one();
            }
            told = now;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        clock.ended.set(true);
        clock.some.notify_waiters();
    };
    let work = |answers: Shared, mut connection: Connection, next: Next, _: Instant| {
        let queue = Rc::clone(&queue);
        async move {
            loop {
                let waiting = queue.some.notified();
                let first = queue.due.borrow_mut().pop_front();
                match first {
                    Some(due) => connection.ask(&next(), &answers, due).await,
                    None if queue.ended.get() => return,
                    None => waiting.await,
                }
            }
        }
    };
    run_beside(target, work, due)
}

/// Requests that are due in an open loop.
#[derive(Default)]
struct Queue {
    due: RefCell<VecDeque<Instant>>,
    some: Notify,
    ended: Cell<bool>,
}

type Next = Rc<dyn Fn() -> Rc<[u8]>>;
type Shared = Rc<RefCell<Answers>>;

fn run<F: Future<Output = ()> + 'static>(
    target: &Target<'_>,
    work: impl Fn(Shared, Connection, Next, Instant) -> F,
) -> Answers {
    run_beside(target, work, |_| async {})
}

/// Runs the work of every connection, and something beside it, to their end.
fn run_beside<F: Future<Output = ()> + 'static, B: Future<Output = ()> + 'static>(
    target: &Target<'_>,
    work: impl Fn(Shared, Connection, Next, Instant) -> F,
    beside: impl FnOnce(Instant) -> B,
) -> Answers {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let requests: Vec<Rc<[u8]>> = target.requests.iter().map(|request| request.as_slice().into()).collect();
    let at = Cell::new(0);
    let next: Next = Rc::new(move || {
        at.set((at.get() + 1) % requests.len());
        Rc::clone(&requests[at.get()])
    });
    let answers = Shared::default();
    LocalSet::new().block_on(&runtime, async {
        let mut connections = Vec::new();
        for _ in 0..target.connections {
            connections.push(Connection::open(target.address).await);
        }
        let started = Instant::now();
        let beside = tokio::task::spawn_local(beside(started));
        let all = connections.into_iter().map(|connection| {
            tokio::task::spawn_local(work(Rc::clone(&answers), connection, Rc::clone(&next), started))
        });
        for task in all.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        beside.await.unwrap();
        answers.borrow_mut().took = started.elapsed();
    });
    answers.take()
}

/// A connection that is kept.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Connection { stream, buffer: Vec::with_capacity(64 << 10) }
    }

    /// Asks, and waits for the whole answer; its time counts from `since`.
    async fn ask(&mut self, request: &[u8], answers: &RefCell<Answers>, since: Instant) {
        self.stream.write_all(request).await.unwrap();
        self.buffer.clear();
        let head = loop {
            assert!(self.stream.read_buf(&mut self.buffer).await.unwrap() > 0, "the server closed a connection");
            if let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = std::str::from_utf8(&self.buffer[..head]).unwrap().to_owned();
        let length = number(&text, "content-length").expect("an answer without its length") as usize;
        while self.buffer.len() < head + length {
            assert!(self.stream.read_buf(&mut self.buffer).await.unwrap() > 0, "the server closed a connection");
        }
        let mut answers = answers.borrow_mut();
        match &text[9..12] {
            "200" => answers.times.push(since.elapsed()),
            "503" => answers.shed += 1,
            _ => panic!("{text}{}", String::from_utf8_lossy(&self.buffer[head..])),
        }
        answers.rows += number(&text, "x-rows-read").unwrap_or(0);
        answers.bytes += length as u64;
    }
}

/// The number in a header.
fn number(head: &str, name: &str) -> Option<u64> {
    let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
    line.trim().parse().ok()
}
