//! `cairn verify`.

use cairn_pipeline::{PipelineError, verify::audit};

use crate::{
    commands::{Context, db},
    config::IndexDir,
    exit::{Exit, Failure},
    out::{print, table, thousands},
    progress::Reporter,
    stop::Stop,
};

/// Audits the index against itself.
pub(crate) fn verify(index: &IndexDir, context: &Context) -> Result<Exit, Failure> {
    let reader = db::open(index.datadir()?)?;
    let stop = Stop::on_signals()?;
    let reporter = Reporter::new(&context.screen, &stop, None);
    let audit = match audit(&reader.view()?, &reporter) {
        Ok(audit) => audit,
        Err(PipelineError::Stopped) => return Ok(stop.asked().unwrap_or(Exit::Interrupted)),
        Err(error) => return Err(error.into()),
    };
    drop(reporter);
    let rows: Vec<Vec<String>> = audit
        .checks
        .iter()
        .map(|c| vec![if c.ok { "ok" } else { "DIFFERS" }.to_owned(), c.name.to_string(), c.detail.to_string()])
        .collect();
    let mut text = table(&["", "check", "found"], &rows);
    text += &format!("\nnetwork  {}\n", reader.facts().network);
    text += &format!("height   {}\n", audit.height);
    text += &format!("hash     {}\n", audit.hash);
    text += &format!("coins    {}\n", thousands(audit.coins));
    text += &format!("supply   {}.{:08} BTC\n", audit.supply_sats / 100_000_000, audit.supply_sats % 100_000_000);
    text += &format!("muhash   {}\n", audit.muhash);
    print(&text)?;
    Ok(if audit.checks.iter().all(|c| c.ok) { Exit::Done } else { Exit::Difference })
}
