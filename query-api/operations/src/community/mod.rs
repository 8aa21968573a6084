//! Community reports: what clients say about addresses, published once a small payment is confirmed.

mod category;
mod judged;
mod purge;
pub(crate) mod reply;
mod texts;

crate::area::area! {
    create::SubmitReport,
    status::ReportStatus,
    vote::VoteReport,
    list::AddressReports,
}
