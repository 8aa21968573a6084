//! The definition of community reports.

use cairn_http::Definition;

pub(crate) const COMMUNITY_REPORTS: &str = "community-reports";

pub(super) const COMMUNITY_REPORTS_PAGE: Definition = Definition {
    id: COMMUNITY_REPORTS,
    title: "Community reports",
    text: &[
        "A report is a statement of an unknown client about an address. Nobody has verified it. A small payment to an \
         address of the operator deters spam: the report is published by the block that brings the confirmed payments to \
         its amount. All payments to the address add up, and a payment after the expiry counts as well. If a \
         reorganization removes the payment, the report is pending again until a block confirms it again; its votes are \
         kept.",
        "A client (an IPv4 address, or a /64 of IPv6) has one vote in 24 hours, over all reports unless the operator has \
         set it for each report. The score is the votes for a report less those against it: it shows how many clients \
         agreed, not who is right. Reports are listed by score, then by the time at which they were received.",
        "The level of confidence of a report is 10 of 100, and its evidence tier is `community`. Reports change neither \
         labels nor assessments nor risk signals. The operator can hide reports; a record keeps each such \
         act with its reason.",
        "The holder of the address's key can answer a published report by a signed message (`POST /v1/feedback` with \
         `report_id`). The report then has `contested: true` and the answer as `reply`; its score and level stay. The \
         operator erases the texts of a report on request: `text_removed` is then `erased_on_request`. Reports that are \
         not paid in full are deleted 90 days after their expiry.",
    ],
};
