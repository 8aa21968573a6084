//! Requests for a page of a list of transactions, and the end of its answer.

use cairn_http::{Format, Formatted, TableRow};

use crate::{
    operation::prelude::*,
    vocabulary::cursor::{CursorParam, Cursors},
    window::{Page, PagePosition, Window},
};

/// The last parameters of a list: where its page begins, and its format.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PageParams {
    /// `next_cursor` of the previous page.
    pub(crate) cursor: Option<CursorParam>,
    /// `json`, `csv` or `markdown`.
    #[serde(default)]
    pub(crate) format: Format,
}

/// The end of a page, as answers show it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageEnd {
    /// Cursor of the next page; null at the end.
    pub(crate) next_cursor: Option<String>,
    /// Lowest block height that this page covers.
    pub(crate) covered_from_height: Height,
    /// True if the scan limit ended the page early; continue with `next_cursor`.
    pub(crate) truncated: bool,
}

pub(crate) struct PageRequest<'a> {
    pub(crate) view: &'a View<'a>,
    /// The part of the chain that the list covers.
    pub(crate) window: Window,
    /// Where the page begins; `None` at the head of the list.
    pub(crate) from: Option<PagePosition>,
    /// Maximum number of rows.
    pub(crate) limit: u32,
    format: Format,
    cursors: Cursors<'a>,
}

impl<'a> PageRequest<'a> {
    /// A page of the list that the request asks for.
    ///
    /// # Errors
    /// The cursor is of another list, or has expired.
    pub(crate) fn new(ctx: &Ctx<'a>, window: Window, limit: u32, params: PageParams) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let cursors = Cursors::new(view, &ctx.fingerprint());
        let from = params.cursor.map(|token| PagePosition::read(&token, &cursors)).transpose()?;
        Ok(PageRequest { view, window, from, limit, format: params.format, cursors })
    }

    /// The window without the transactions of previous pages.
    pub(crate) fn rest(&self) -> Window {
        let end = self.from.map_or(self.window.end, |from| from.tx_num.min(self.window.end));
        Window { end, ..self.window }
    }

    /// Answers with a page, and warns if a table leaves rows out; `noun` names the rows.
    pub(crate) fn answer<R: TableRow, T>(
        &self,
        ctx: &Ctx<'_>,
        noun: &str,
        page: Page<R>,
        object: impl FnOnce(Vec<R>, PageEnd) -> T,
    ) -> Result<Formatted<T>, ApiError> {
        let next_cursor = page.next.map(|next| next.token(self.view, &self.cursors)).transpose()?;
        let part = format_args!("{noun} follow: this is a part of {}", self.limit);
        ctx.warn_if_more(self.format, next_cursor.is_some(), part);
        let end = PageEnd { next_cursor, covered_from_height: page.covered_from, truncated: page.is_cut };
        Ok(self.format.rows(page.rows, |rows| object(rows, end)))
    }
}
