//! Entities: whom labels name, with what is known of their scripts together.

mod facts;
mod find;
mod members;
mod profiles;
mod recent;

pub(crate) use find::FoundEntity;
pub(crate) use profiles::KnownProfiles;

crate::area::area! {
    categories::Categories,
    directory::Directory,
    list::EntityList,
    lookup::Lookup,
    activity::Activity,
}
