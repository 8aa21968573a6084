//! Listeners for connections.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use crate::exit::{Exit, Failure};

/// Connections that wait to be accepted; the kernel may allow fewer (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Binds the address of a flag.
pub(crate) fn listen(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        // The standard library asks for 128: a burst of clients would have to try again.
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(listener)
    });
    bound.map_err(|error| {
        let failure = Failure::new(Exit::Listen, format!("cannot listen on {address}: {error}"));
        failure.hint(format!("use another address for {flag}; port 0 picks a free port"))
    })
}

/// Returns an address at which this machine reaches the listener.
pub(crate) fn reachable(local: SocketAddr) -> SocketAddr {
    let mut address = local;
    if local.ip().is_unspecified() {
        address.set_ip(if local.is_ipv4() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { IpAddr::V6(Ipv6Addr::LOCALHOST) });
    }
    address
}
