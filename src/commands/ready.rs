//! `cairn ready`: asks a running server whether it can answer requests.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use cairn_fetch::{Client, Fetched, Limits, Url, UrlError, Validators};

use crate::{
    config::AdminListener,
    exit::{Exit, Failure},
    out,
    signals::Signals,
};

/// An answer is a few lines; a server whose disk hangs says so within 5 seconds.
const LIMITS: Limits = Limits { received: 64 << 10, unpacked: 64 << 10, time: Duration::from_secs(10) };

pub(crate) fn ready(args: &AdminListener) -> Result<Exit, Failure> {
    let Some(mut address) = args.admin_listen else {
        let failure = Failure::usage("--admin-listen is missing: the server is asked at its admin listener");
        return Err(failure.hint("give the address of the running server, for example --admin-listen 127.0.0.1:9090"));
    };
    // A server that listens everywhere is asked on this machine.
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    let url = format!("http://{address}/readyz");
    let url: Url = url.parse().map_err(|error: UrlError| Failure::usage(error.to_string()))?;
    let signals = Signals::take_over()?;
    match Client::new(signals.cancel_token(), true).fetch(&url, LIMITS, &Validators::default()) {
        Ok(Fetched::Document(answer)) => {
            out::print(&String::from_utf8_lossy(&answer.body.content()?))?;
            Ok(Exit::Done)
        }
        Ok(Fetched::Unchanged) => Ok(Exit::Done),
        Err(error) => Err(Failure::new(Exit::Other, error.to_string())),
    }
}
