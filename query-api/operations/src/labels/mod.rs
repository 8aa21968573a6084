//! Labels of many scripts.

mod words;

pub(crate) use words::CategoryWord;

crate::area::area! {
    search::LabelsSearch,
}
