//! The thread that owns the sockets.

use std::collections::{BTreeMap, VecDeque};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};

use super::ZmqFault;
use super::faults::{Faults, ZmqRule};
use super::wire::{Body, bodies};
use crate::notice::Notice;
use crate::{Error, Topic, ZmqOptions};

/// How often the sockets are asked for new subscriptions.
const TICK: Duration = Duration::from_millis(20);
/// A day is as good as for ever.
const LONGEST: Duration = Duration::from_secs(86_400);
/// How long to try for an address that the closed socket may still hold.
const REBIND: Duration = Duration::from_secs(10);

pub(crate) enum Command {
    Notices(Vec<Notice>),
    Faults(Box<Faults>),
    /// Closes the sockets, as an outage of the network would.
    Close(Sender<()>),
    /// Opens them at their former addresses.
    Open(Sender<Result<(), Error>>),
    /// Answers when everything before it was sent, held messages included if `held`.
    Flush {
        held: bool,
        done: Sender<()>,
    },
    /// Count of subscriptions since the sockets were opened.
    Subscriptions(Sender<usize>),
    Stop,
}

/// The handle of the publishing thread.
#[derive(Debug)]
pub(crate) struct Publisher {
    commands: Sender<Command>,
    thread: Option<JoinHandle<()>>,
    addresses: BTreeMap<Topic, String>,
}

impl Publisher {
    /// Binds the sockets, at `addresses` if there are any yet, and starts the thread.
    pub(crate) fn start(options: &ZmqOptions, addresses: BTreeMap<Topic, String>) -> Result<Self, Error> {
        let (commands, queue) = unbounded();
        let mut outlet = Outlet::new(options, addresses);
        outlet.open()?;
        let addresses = outlet.addresses.clone();
        let thread = std::thread::Builder::new().name("standin-zmq".to_owned()).spawn(move || outlet.run(&queue))?;
        Ok(Self { commands, thread: Some(thread), addresses })
    }

    pub(crate) fn addresses(&self) -> &BTreeMap<Topic, String> {
        &self.addresses
    }

    pub(crate) fn commands(&self) -> Sender<Command> {
        self.commands.clone()
    }

    fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> Result<T, Error> {
        let (reply, answer) = bounded(1);
        self.commands.send(command(reply)).map_err(|_| Error::Stopped)?;
        answer.recv().map_err(|_| Error::Stopped)
    }

    pub(crate) fn set_faults(&self, seed: u64, rules: Vec<ZmqRule>) {
        // A thread that is gone publishes nothing, faulty or not.
        let _ = self.commands.send(Command::Faults(Box::new(Faults::new(seed, rules))));
    }

    pub(crate) fn close(&self) -> Result<(), Error> {
        self.ask(Command::Close)
    }

    pub(crate) fn open(&self) -> Result<(), Error> {
        self.ask(Command::Open)?
    }

    pub(crate) fn flush(&self, held: bool) -> Result<(), Error> {
        self.ask(|done| Command::Flush { held, done })
    }

    pub(crate) fn subscriptions(&self) -> Result<usize, Error> {
        self.ask(Command::Subscriptions)
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A message with its sequence number.
#[derive(Clone)]
struct Message {
    body: Body,
    number: u32,
}

struct Outlet {
    topics: Vec<Topic>,
    shared: bool,
    high_water_mark: i32,
    context: ::zmq::Context,
    /// By address.
    sockets: BTreeMap<String, ::zmq::Socket>,
    addresses: BTreeMap<Topic, String>,
    numbers: BTreeMap<Topic, u32>,
    faults: Faults,
    /// Reordered messages, with the count of messages that still go before.
    held: Vec<(u32, Message)>,
    /// Topics that lag, with what waits.
    late: BTreeMap<Topic, VecDeque<(Instant, Message)>>,
    subscriptions: usize,
}

impl Outlet {
    fn new(options: &ZmqOptions, addresses: BTreeMap<Topic, String>) -> Self {
        Self {
            topics: options.topics.clone(),
            shared: options.shared,
            high_water_mark: options.high_water_mark,
            context: ::zmq::Context::new(),
            sockets: BTreeMap::new(),
            addresses,
            numbers: BTreeMap::new(),
            faults: Faults::new(0, Vec::new()),
            held: Vec::new(),
            late: BTreeMap::new(),
            subscriptions: 0,
        }
    }

    /// An XPUB socket: on the wire a PUB socket, but it reports subscriptions.
    fn bind(&self, address: &str) -> Result<::zmq::Socket, Error> {
        let socket = self.context.socket(::zmq::XPUB)?;
        socket.set_sndhwm(self.high_water_mark)?;
        socket.set_linger(0)?;
        socket.set_xpub_verbose(true)?;
        let until = Instant::now() + REBIND;
        loop {
            match socket.bind(address) {
                Ok(()) => return Ok(socket),
                // The former socket is closed by a thread of ZMQ's own, a little later.
                Err(::zmq::Error::EADDRINUSE) if Instant::now() < until => std::thread::sleep(TICK),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        self.subscriptions = 0;
        for topic in self.topics.clone() {
            let address = match (self.addresses.get(&topic), self.shared) {
                (Some(address), _) => address.clone(),
                (None, true) if !self.sockets.is_empty() => {
                    let first = self.sockets.keys().next().cloned().unwrap_or_default();
                    self.addresses.insert(topic, first);
                    continue;
                }
                (None, _) => "tcp://127.0.0.1:*".to_owned(),
            };
            if self.sockets.contains_key(&address) {
                continue;
            }
            let socket = self.bind(&address)?;
            let bound = socket.get_last_endpoint()?.map_err(|_| Error::Parameters("endpoint is not text"))?;
            self.addresses.insert(topic, bound.clone());
            self.sockets.insert(bound, socket);
        }
        Ok(())
    }

    fn run(mut self, queue: &Receiver<Command>) {
        loop {
            match queue.recv_timeout(TICK) {
                Ok(Command::Notices(notices)) => {
                    for notice in &notices {
                        self.publish(notice);
                    }
                }
                Ok(Command::Faults(faults)) => self.faults = *faults,
                Ok(Command::Close(done)) => {
                    self.sockets.clear();
                    let _ = done.send(());
                }
                Ok(Command::Open(done)) => {
                    let _ = done.send(self.open());
                }
                Ok(Command::Flush { held, done }) => {
                    if held {
                        self.release_all();
                    }
                    let _ = done.send(());
                }
                Ok(Command::Subscriptions(reply)) => {
                    self.read_subscriptions();
                    let _ = reply.send(self.subscriptions);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.release_late();
            self.read_subscriptions();
        }
    }

    fn read_subscriptions(&mut self) {
        for socket in self.sockets.values() {
            while let Ok(message) = socket.recv_bytes(::zmq::DONTWAIT) {
                self.subscriptions += usize::from(message.first() == Some(&1));
            }
        }
    }

    fn publish(&mut self, notice: &Notice) {
        for body in bodies(notice, |topic| self.topics.contains(&topic)) {
            let number = self.numbers.entry(body.topic).or_default();
            let message = Message { body, number: *number };
            *number = number.wrapping_add(1);
            self.pass(message);
        }
    }

    fn pass(&mut self, message: Message) {
        let topic = message.body.topic;
        match self.faults.strike(topic) {
            None => self.send_in_turn(message),
            Some(ZmqFault::Drop) => {}
            Some(ZmqFault::Duplicate) => {
                self.send_in_turn(message.clone());
                self.send_in_turn(message);
            }
            Some(ZmqFault::Reorder(count)) => {
                self.held.push((count.max(1), message));
                return;
            }
            Some(ZmqFault::Delay(time)) => {
                self.late.entry(topic).or_default().push_back((Instant::now() + time.min(LONGEST), message));
            }
        }
        let mut due = Vec::new();
        self.held.retain_mut(|(count, message)| {
            *count -= 1;
            if *count == 0 {
                due.push(message.clone());
            }
            *count > 0
        });
        for message in due {
            self.send_in_turn(message);
        }
    }

    /// Sends now, or after what its topic is late with.
    fn send_in_turn(&mut self, message: Message) {
        match self.late.get_mut(&message.body.topic) {
            Some(queue) if !queue.is_empty() => {
                let due = queue.back().map_or_else(Instant::now, |(due, _)| *due);
                queue.push_back((due, message));
            }
            _ => self.send(&message),
        }
    }

    fn release_late(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        for queue in self.late.values_mut() {
            while queue.front().is_some_and(|(time, _)| *time <= now) {
                due.extend(queue.pop_front());
            }
        }
        for (_, message) in due {
            self.send(&message);
        }
    }

    fn release_all(&mut self) {
        let late = std::mem::take(&mut self.late).into_values().flatten().map(|(_, message)| message);
        let held = std::mem::take(&mut self.held).into_iter().map(|(_, message)| message);
        for message in late.chain(held).collect::<Vec<_>>() {
            self.send(&message);
        }
    }

    /// A message that no socket takes is lost, as with Core.
    fn send(&self, message: &Message) {
        let topic = message.body.topic;
        if let Some(socket) = self.addresses.get(&topic).and_then(|address| self.sockets.get(address)) {
            let parts: [&[u8]; 3] = [topic.name().as_bytes(), &message.body.bytes, &message.number.to_le_bytes()];
            let _ = socket.send_multipart(parts, ::zmq::DONTWAIT);
        }
    }
}
