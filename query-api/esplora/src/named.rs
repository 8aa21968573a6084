//! Scripts as paths name them.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use cairn_chain::{Pinned, Script};
use cairn_http::{Cost, Work};

use crate::{
    answer::{Answer, Refusal},
    params::ScriptName,
    state::Esplora,
};

/// A script as a path names it: `/address/…` or `/scripthash/…`.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: ScriptName,
    pub(crate) text: String,
    /// The last part of the path, if its route has a parameter there.
    pub(crate) last: Option<String>,
}

impl FromRequestParts<Esplora> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, esplora: &Esplora) -> Result<Self, Refusal> {
        let by_hash = parts.uri.path().starts_with(&format!("/{}/", ScriptName::Hash.word()));
        let name = if by_hash { ScriptName::Hash } else { ScriptName::Address };
        let params = Path::<Vec<(String, String)>>::from_request_parts(parts, esplora).await;
        let Path(params) = params.map_err(|error| Refusal::bad(error.body_text()))?;
        let mut values = params.into_iter().map(|(_, value)| value);
        Ok(Named { name, text: values.next().unwrap_or_default(), last: values.next() })
    }
}

/// Answers about a script.
pub(crate) async fn about(
    esplora: Esplora,
    cost: Cost,
    named: Named,
    from: &Parts,
    answer: impl Fn(&Pinned<'_>, &Work, &Script) -> Result<Answer, Refusal> + Send + 'static,
) -> Result<Answer, Refusal> {
    let read = move |at: &Pinned<'_>, work: &Work| {
        let hash = named.name.parse(&named.text, at.view.network())?;
        answer(at, work, &at.script(hash)?)
    };
    esplora.read(cost, from, read).await
}
