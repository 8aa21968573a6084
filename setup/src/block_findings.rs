//! Faults of a folder of block files.

use std::{io, path::Path};

use cairn_sources::{FolderSizes, SourceError};

use crate::finding::{Finding, Severity};

/// The findings of a folder that cannot be used. `conf` names the node's configuration file.
pub(crate) fn unusable(error: &SourceError, conf: &str) -> Vec<Finding> {
    let fault = |kind, remedy: &str| Finding::new(Severity::Fault, kind, error.to_string(), remedy);
    vec![match error {
        SourceError::FolderMissing { .. } | SourceError::FolderEmpty { .. } => fault(
            "blocks_missing",
            "name the folder with blk00000.dat, `blocks` in the node's data folder; test networks have a subfolder of their own",
        ),
        SourceError::Io { path, source } if source.kind() == io::ErrorKind::PermissionDenied => unreadable(path, error),
        SourceError::WrongNetwork { found, .. } => {
            fault("wrong_network", "use the network of these files, with a data folder of its own, in cairn.toml:")
                .with_lines([format!("network = \"{found}\"")])
        }
        SourceError::OtherSignet { .. } => fault(
            "wrong_signet",
            "use the signetchallenge of the node that wrote the files, in cairn.toml:",
        )
        .with_lines(["network = \"signet\"", "signet_challenge = \"CHALLENGE_IN_HEX\""]),
        SourceError::WrongXorKey { path, .. } | SourceError::BadXorKey { path, .. } => {
            let folder = path.parent().unwrap_or(path).display();
            fault(
                "xor_key",
                "the files are obfuscated, and their key is xor.dat in the folder that they were copied from: copy it, too:",
            )
            .with_lines([format!("cp NODE_DATA_FOLDER/blocks/xor.dat {folder}/")])
        }
        SourceError::UnknownMagic { .. } => fault(
            "not_block_files",
            "these are not block files, or xor.dat belongs to other ones: copy the whole folder from the node again",
        ),
        SourceError::Pruned { .. } => fault(
            "pruned",
            &format!(
                "Cairn needs every block once: write in {conf}, and start the node with -reindex, which downloads all blocks \
                 again; or give a full copy of the blocks folder:"
            ),
        )
        .with_lines(["prune=0"]),
        SourceError::FirstFileUnusable { .. } => {
            fault("first_file", "put the file there, or copy the folder from the node again")
        }
        _ => fault("blocks_unusable", "let the node repair its files (bitcoind -reindex), or copy the folder again"),
    }]
}

fn unreadable(path: &Path, error: &SourceError) -> Finding {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let remedy =
        "give the user who runs Cairn read access, as root, with its name for CAIRN_USER; the folders above need x:";
    Finding::new(Severity::Fault, "blocks_unreadable", error.to_string(), remedy).with_lines([
        format!("setfacl -R -m u:CAIRN_USER:rX,d:u:CAIRN_USER:rX {}", folder.display()),
        format!("setfacl -m u:CAIRN_USER:x {}", folder.parent().unwrap_or(folder).display()),
    ])
}

/// The findings of a folder that can be used.
pub(crate) fn usable(folder: &Path, sizes: &FolderSizes, xor_key: [u8; 8]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if xor_key != [0; 8] {
        let text =
            format!("the block files in {} are obfuscated; xor.dat has the key, and Cairn reads it", folder.display());
        findings.push(Finding::new(Severity::Note, "obfuscated", text, ""));
    }
    if sizes.undo_files == 0 && sizes.block_files > 1 {
        let text = format!("{} has no undo files (rev*.dat): indexing takes one more pass", folder.display());
        let remedy = "copy them from the folder that the block files came from:";
        let line = format!("cp NODE_DATA_FOLDER/blocks/rev*.dat {}/", folder.display());
        findings.push(Finding::new(Severity::Advice, "undo_missing", text, remedy).with_lines([line]));
    }
    findings
}
