//! `cairn init`.

use std::{
    fs::{self, OpenOptions},
    io::{self, BufRead, IsTerminal, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use cairn_model::ChainParams;
use cairn_node::{NodeAuth, NodeConfig};
use cairn_setup::{Candidate, Candidates, Credentials, FirstSettings, Machine, SetUp, examine, usual_dirs};

use super::doctor::shown;
use crate::{
    cli::Init,
    config::SERVING_MEMORY,
    exit::{Exit, Failure},
    out::print,
};

/// Longest answer to a question in bytes.
const MAX_ANSWER: u64 = 4096;
/// Ports that are tried one after the other.
const PORTS: std::ops::Range<u16> = 8080..8100;

/// Writes a `cairn.toml` for the node, and names what is missing.
pub(crate) fn init(args: &Init) -> Result<Exit, Failure> {
    if !args.force && !args.print && args.out.exists() {
        return Err(Failure::usage(format!("{} exists already", args.out.display()))
            .hint("give --force to replace it, --out to write another file, or --print to only show the settings"));
    }
    if args.node.node.as_ref().is_some_and(|url| url.contains('@')) {
        return Err(Failure::usage("the URL of the node has a user or a password, which would be written and shown")
            .hint(
                "give the URL without them, and --node-user; the password in the environment as CAIRN_NODE_PASSWORD",
            ));
    }
    let settings = if args.node.node.is_some() && args.bitcoin_dir.is_none() {
        (settings_of_url(args)?, None)
    } else {
        let candidate = choose(args)?;
        (settings_of_folder(args, &candidate)?, Some(candidate))
    };
    let (settings, candidate) = settings;
    let text = settings.text();
    if args.print {
        return print(&text).map(|()| Exit::Done);
    }
    write_file(&args.out, &text, args.force)?;
    print(&format!("{} is written:\n\n{text}\n", args.out.display()))?;
    let node = match &settings.node {
        Some((url, credentials)) => auth_of(args, credentials).map(|auth| NodeConfig::new(url.clone(), auth)),
        None => None,
    };
    let found = examine(&SetUp {
        chain: settings.chain,
        blocks_dir: settings.blocks_dir.as_deref(),
        datadir: Some(&settings.datadir),
        node: node.as_ref(),
        folder: candidate.as_ref().map(|candidate| &candidate.folder),
        listeners: &[("listen", settings.listen)],
        memory_bytes: settings.memory_bytes() + SERVING_MEMORY,
        silent_payments: false,
    });
    let exit = shown(&found, false)?;
    if settings.node.is_some() && node.is_none() {
        print(
            "\nThe node was not asked, because its password is not given: set CAIRN_NODE_PASSWORD, then `cairn doctor`.\n",
        )?;
    }
    if exit == Exit::Done {
        print("\nNext: `cairn plan` estimates disk, memory and time; `cairn run` indexes and serves.\n")?;
    }
    Ok(exit)
}

/// The credentials for this examination; `None` if the password is not given.
fn auth_of(args: &Init, credentials: &Credentials) -> Option<NodeAuth> {
    Some(match credentials {
        Credentials::Cookie(cookie) => NodeAuth::Cookie(cookie.clone()),
        Credentials::User(user) => {
            NodeAuth::UserPassword { user: user.clone(), password: args.node.node_password.clone()? }
        }
    })
}

/// Finds the node. Several ones are a question on a terminal, and an error elsewhere.
fn choose(args: &Init) -> Result<Candidate, Failure> {
    let network = args.chain.given()?.map(ChainParams::network);
    let dirs = match &args.bitcoin_dir {
        Some(dir) => vec![dir.clone()],
        None => usual_dirs(home().as_deref()),
    };
    let mut candidates = Candidates::in_dirs(&dirs, network);
    let list: Vec<String> = candidates.found.iter().map(Candidate::described).collect();
    match list.len() {
        0 => Err(match candidates.unreadable.first() {
            Some(error) => Failure::new(Exit::Source, format!("the configuration of the node cannot be read: {error}"))
                .hint("correct the file, or name another folder with --bitcoin-dir"),
            None => {
                let looked: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
                let of = network.map(|network| format!(" of {network}")).unwrap_or_default();
                Failure::new(Exit::Source, format!("no data folder of a node{of} in {}", looked.join(", "))).hint(
                    "name the folder that has bitcoin.conf or blocks with --bitcoin-dir, or a node elsewhere with --node",
                )
            }
        }),
        1 => Ok(candidates.found.remove(0)),
        _ if asks() => {
            let mut question = String::from("There are several nodes:\n");
            for (at, line) in list.iter().enumerate() {
                question += &format!("  {}  {line}\n", at + 1);
            }
            let answer = ask(&format!("{question}Number of the one to index? [1] "), "1")?;
            let at = answer.parse::<usize>().ok().filter(|at| (1..=list.len()).contains(at));
            let at =
                at.ok_or_else(|| Failure::usage(format!("{answer:?} is not a number from 1 to {}", list.len())))?;
            Ok(candidates.found.remove(at - 1))
        }
        _ => Err(Failure::usage(format!("there are several nodes: {}", list.join("; ")))
            .hint("choose one with --network, --bitcoin-dir, or both")),
    }
}

/// The settings for a node of this machine, by its configuration. Flags come before it.
fn settings_of_folder(args: &Init, candidate: &Candidate) -> Result<FirstSettings, Failure> {
    let (folder, network) = (&candidate.folder, candidate.network);
    let chain = match args.chain.given()? {
        Some(chain) if chain.custom_challenge().is_some() => chain,
        _ => candidate.chain().ok_or_else(|| {
            Failure::new(Exit::Source, "signetchallenge in the node's bitcoin.conf is not a challenge")
                .hint("give it with --network signet --signet-challenge")
        })?,
    };
    let found = folder.has_blocks(network).then(|| folder.blocks_dir(network));
    let credentials = match (&args.node.node_cookie, &args.node.node_user) {
        (None, None) => candidate.credentials(),
        _ => given_credentials(args)?,
    };
    Ok(FirstSettings {
        chain,
        datadir: datadir_of(args)?,
        blocks_dir: args.blocks.blocks_dir.clone().or(found).map(|dir| absolute(&dir)).transpose()?,
        node: Some((args.node.node.clone().unwrap_or_else(|| folder.url(network)), whole(credentials)?)),
        zmq: args.node.zmq.clone(),
        listen: free_address(),
        machine: Machine::here(),
    })
}

/// The settings for a node that is named by its URL alone.
fn settings_of_url(args: &Init) -> Result<FirstSettings, Failure> {
    let url = args.node.node.clone().unwrap_or_default();
    Ok(FirstSettings {
        chain: args.chain.params()?,
        datadir: datadir_of(args)?,
        blocks_dir: args.blocks.blocks_dir.as_deref().map(absolute).transpose()?,
        node: Some((url, whole(given_credentials(args)?)?)),
        zmq: args.node.zmq.clone(),
        listen: free_address(),
        machine: Machine::here(),
    })
}

fn given_credentials(args: &Init) -> Result<Credentials, Failure> {
    match (&args.node.node_cookie, &args.node.node_user) {
        (Some(cookie), _) => Ok(Credentials::Cookie(cookie.clone())),
        (None, Some(user)) => Ok(Credentials::User(user.clone())),
        (None, None) => Err(Failure::usage("the node needs credentials")
            .hint("give its cookie file with --node-cookie, or its user with --node-user")),
    }
}

/// The same with an absolute path: the file is read from other folders, too.
fn whole(credentials: Credentials) -> Result<Credentials, Failure> {
    Ok(match credentials {
        Credentials::Cookie(cookie) => Credentials::Cookie(absolute(&cookie)?),
        user @ Credentials::User(_) => user,
    })
}

fn datadir_of(args: &Init) -> Result<PathBuf, Failure> {
    if args.index.is_set() {
        return absolute(args.index.datadir()?);
    }
    let default = home().unwrap_or_else(|| PathBuf::from("/var/lib")).join("cairn");
    if !asks() {
        return absolute(&default);
    }
    let shown = default.display().to_string();
    absolute(Path::new(&ask(&format!("Data folder of Cairn? [{shown}] "), &shown)?))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(Failure::io(path))
}

/// The first address of a few that can be listened on; the default one if none can.
fn free_address() -> SocketAddr {
    let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    PORTS.map(address).find(|address| TcpListener::bind(address).is_ok()).unwrap_or_else(|| address(PORTS.start))
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// True if somebody can answer.
fn asks() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on the terminal; an empty line is the default.
fn ask(question: &str, default: &str) -> Result<String, Failure> {
    let mut terminal = io::stderr();
    write!(terminal, "{question}")?;
    terminal.flush()?;
    let mut line = String::new();
    io::Read::take(io::stdin().lock(), MAX_ANSWER).read_line(&mut line)?;
    Ok(Some(line.trim()).filter(|answer| !answer.is_empty()).unwrap_or(default).to_owned())
}

/// Writes the file so that it appears whole, and so that one that appeared meanwhile stays unless `replaces`.
fn write_file(path: &Path, text: &str, replaces: bool) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    // A link fails if the name is taken; a rename replaces it.
    let placed = written.and_then(|()| if replaces { fs::rename(&draft, path) } else { fs::hard_link(&draft, path) });
    if !replaces || placed.is_err() {
        // It is gone if it was never made.
        let _ = fs::remove_file(&draft);
    }
    placed.map_err(Failure::io(path))
}
