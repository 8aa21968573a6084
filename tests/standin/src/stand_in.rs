//! The handle that a test holds.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitcoin::Network;
use parking_lot::MutexGuard;
use rand::Rng;
use tempfile::TempDir;

use crate::Error;
use crate::dispatch::Dispatch;
use crate::http::{Hook, HttpRule, Match, Server, When};
use crate::options::{Auth, StandInOptions, Topic, ZmqOptions};
use crate::state::{Session, Shared};
use crate::world::World;
use crate::zmq::{Publisher, ZmqRule};

const POLL: Duration = Duration::from_millis(10);

/// Changes of the node's state between a stop and the next start.
#[derive(Clone, Debug)]
pub struct Restart {
    /// Whether the mempool is loaded again from disk (else it was lost, as also where the network changes). Its
    /// sequence numbers begin again either way.
    pub keep_mempool: bool,
    /// Whether the mempool stays empty and `loaded` false after the start, until
    /// [`World::load_pool`](crate::World::load_pool).
    pub slow_load: bool,
    /// How long the node is down.
    pub down: Duration,
    /// The network it is on afterwards; `None` leaves it.
    pub network: Option<Network>,
}

impl Default for Restart {
    fn default() -> Self {
        Self { keep_mempool: true, slow_load: false, down: Duration::ZERO, network: None }
    }
}

/// A stand-in node. It runs until it is dropped; all its ports are on 127.0.0.1 and stay the same through restarts.
#[derive(Debug)]
pub struct StandIn {
    shared: Arc<Shared>,
    auth: Auth,
    zmq: ZmqOptions,
    cookie_file: PathBuf,
    server: Option<Server>,
    publisher: Option<Publisher>,
    address: SocketAddr,
    addresses: BTreeMap<Topic, String>,
    // Deleted when the stand-in is dropped.
    _folder: TempDir,
}

impl StandIn {
    /// Builds the chain and starts the node.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Zmq`] if a socket or the cookie file cannot be made; [`Error::Chain`], [`Error::Block`]
    /// if the given source holds an invalid block.
    pub fn start(mut options: StandInOptions) -> Result<Self, Error> {
        let folder = TempDir::new()?;
        let cookie_file = options.cookie_file.clone().unwrap_or_else(|| folder.path().join(".cookie"));
        let world = World::new(&mut options)?;
        let mut stand_in = Self {
            shared: Arc::new(Shared::new(world, &options)),
            auth: options.auth,
            zmq: options.zmq,
            cookie_file,
            server: None,
            publisher: None,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            addresses: BTreeMap::new(),
            _folder: folder,
        };
        stand_in.open()?;
        Ok(stand_in)
    }

    /// Opens sockets, makes the cookie.
    fn open(&mut self) -> Result<(), Error> {
        let credentials = match &self.auth {
            Auth::UserPassword { user, password } => format!("{user}:{password}"),
            Auth::Cookie => {
                let secret: [u8; 32] = rand::rng().random();
                let cookie = format!("__cookie__:{}", hex::encode(secret));
                // As Core does it: whoever reads the file sees all of it or the old one.
                let partial = self.cookie_file.with_extension("tmp");
                std::fs::write(&partial, &cookie)?;
                std::fs::rename(&partial, &self.cookie_file)?;
                cookie
            }
        };
        if !self.zmq.topics.is_empty() {
            let publisher = Publisher::start(&self.zmq, self.addresses.clone())?;
            self.addresses.clone_from(publisher.addresses());
            self.shared.world().attach(Some(publisher.commands()));
            self.publisher = Some(publisher);
        }
        self.shared.set_session(Session {
            authorization: format!("Basic {}", base64(credentials.as_bytes())),
            started: Instant::now(),
            addresses: self.addresses.clone(),
        });
        let server = Server::start(self.address.port(), Arc::new(Dispatch(Arc::clone(&self.shared))))?;
        self.address = server.address();
        self.server = Some(server);
        Ok(())
    }

    /// Stops the node: connections and sockets are closed, the cookie file is gone. The chain stays, and can go on
    /// changing (unannounced) while the node is down.
    pub fn stop(&mut self) {
        self.server = None;
        self.shared.world().attach(None);
        self.publisher = None;
        if self.auth == Auth::Cookie {
            // It may have been deleted by the test already.
            let _ = std::fs::remove_file(&self.cookie_file);
        }
    }

    /// Starts the stopped node again: a new cookie, the same ports, message numbers from 0.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Zmq`] if a port is taken meanwhile.
    pub fn start_again(&mut self, restart: &Restart) -> Result<(), Error> {
        {
            let mut world = self.shared.world();
            let same = restart.network.is_none_or(|network| network == world.node.network);
            world.unload_pool(restart.keep_mempool && same);
            if let Some(network) = restart.network {
                world.set_network(network);
            }
        }
        self.open()?;
        if !restart.slow_load {
            self.shared.world().load_pool();
        }
        Ok(())
    }

    /// Stops the node and starts it again.
    ///
    /// # Errors
    /// As [`StandIn::start_again`].
    pub fn restart(&mut self, restart: &Restart) -> Result<(), Error> {
        self.stop();
        std::thread::sleep(restart.down);
        self.start_again(restart)
    }

    /// Whether the node runs.
    pub fn is_running(&self) -> bool {
        self.server.is_some()
    }

    /// The chain and the mempool, and what can be done with them. Requests wait while this guard is held.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    /// Where HTTP is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:<port>`: JSON-RPC at `/`, REST below `/rest/`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The cookie file; it exists while the node runs with [`Auth::Cookie`].
    pub fn cookie_file(&self) -> &Path {
        &self.cookie_file
    }

    /// The value of the Authorization header that is accepted now.
    pub fn authorization(&self) -> String {
        self.shared.authorization()
    }

    /// The address of a ZMQ topic; none if it is not published.
    pub fn zmq_address(&self, topic: Topic) -> Option<&str> {
        self.addresses.get(&topic).map(String::as_str)
    }

    /// The addresses of ZMQ, each once.
    pub fn zmq_addresses(&self) -> Vec<String> {
        let mut all: Vec<String> = self.addresses.values().cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    fn publisher(&self) -> Result<&Publisher, Error> {
        self.publisher.as_ref().ok_or(Error::Stopped)
    }

    /// Sets the rules for ZMQ messages from now on; the seed decides those that are left to chance. An empty list ends
    /// all faults; messages still held back go out with [`StandIn::flush`].
    ///
    /// # Errors
    /// [`Error::Stopped`] while the node is down or without ZMQ.
    pub fn zmq_faults(&self, seed: u64, rules: Vec<ZmqRule>) -> Result<(), Error> {
        self.publisher()?.set_faults(seed, rules);
        Ok(())
    }

    /// Closes the ZMQ sockets while the node goes on: what is announced meanwhile is numbered and lost.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn close_zmq(&self) -> Result<(), Error> {
        self.publisher()?.close()
    }

    /// Opens the ZMQ sockets again, at the same addresses.
    ///
    /// # Errors
    /// [`Error::Stopped`]; [`Error::Zmq`] if an address is taken.
    pub fn open_zmq(&self) -> Result<(), Error> {
        self.publisher()?.open()
    }

    /// Waits until everything announced so far was given to the sockets; messages that faults hold back go out, too.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn flush(&self) -> Result<(), Error> {
        self.publisher()?.flush(true)
    }

    /// Waits until everything announced so far was given to the sockets, except for what faults hold back.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn settle(&self) -> Result<(), Error> {
        self.publisher()?.flush(false)
    }

    /// Waits until `count` subscriptions came in since the sockets were opened last (a subscriber to everything is one
    /// for each of its addresses). False if they do not come in time. Earlier announcements can still arrive:
    /// [`StandIn::settle`] before subscribing avoids that.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn await_subscriptions(&self, count: usize, within: Duration) -> Result<bool, Error> {
        let until = Instant::now() + within;
        while self.publisher()?.subscriptions()? < count {
            if Instant::now() >= until {
                return Ok(false);
            }
            std::thread::sleep(POLL);
        }
        Ok(true)
    }

    /// Sets the rules for HTTP requests from now on; the seed decides those that are left to chance. An empty list ends
    /// all faults.
    pub fn http_faults(&self, seed: u64, rules: Vec<HttpRule>) {
        let mut faults = self.shared.faults();
        faults.reseed(seed);
        faults.rules = rules;
    }

    /// Does something to the world in the middle of a request: at the next matching call after `skip` ones, once.
    pub fn at_request(&self, on: Match, when: When, skip: u32, action: impl FnOnce(&mut World) + Send + 'static) {
        self.shared.faults().hooks.push(Hook { on, when, skip, action: Box::new(action) });
    }

    /// How many actions of [`StandIn::at_request`] still wait for their request.
    pub fn waiting_actions(&self) -> usize {
        self.shared.faults().hooks.len()
    }

    /// Requests that came in since the first start, faulty ones included.
    pub fn requests(&self) -> u64 {
        self.shared.faults().requests
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Base64 with padding, of the standard alphabet.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut three = [0u8; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_as_in_rfc_4648() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
