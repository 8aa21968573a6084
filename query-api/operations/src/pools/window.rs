//! Windows of newest blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Window of newest blocks, at ten minutes per block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "PoolWindowLength")]
pub(crate) enum Window {
    #[serde(rename = "24h")]
    Day,
    #[serde(rename = "3d")]
    ThreeDays,
    #[serde(rename = "1w")]
    Week,
    #[serde(rename = "1m")]
    Month,
    #[serde(rename = "3m")]
    Quarter,
    #[serde(rename = "6m")]
    HalfYear,
    #[serde(rename = "1y")]
    Year,
}

impl Window {
    /// All, the shortest first.
    pub(crate) const ALL: [Window; 7] =
        [Window::Day, Window::ThreeDays, Window::Week, Window::Month, Window::Quarter, Window::HalfYear, Window::Year];

    pub(crate) const fn blocks(self) -> u32 {
        144 * match self {
            Window::Day => 1,
            Window::ThreeDays => 3,
            Window::Week => 7,
            Window::Month => 30,
            Window::Quarter => 90,
            Window::HalfYear => 180,
            Window::Year => 365,
        }
    }
}
