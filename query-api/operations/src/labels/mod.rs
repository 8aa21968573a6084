//! Labels of many scripts.

mod words;

crate::area::area! {
    search::LabelsSearch,
}
