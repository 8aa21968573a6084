//! Announcements, and their retractions.

mod event;
mod kinds;
mod mark;

pub(crate) use self::{event::EVENT_ID, kinds::EVENT_TYPES, mark::FeedMark};

crate::area::area! {
    activity::ActivityFeed,
    events::Events,
}
