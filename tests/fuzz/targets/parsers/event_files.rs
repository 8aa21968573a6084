//! Files of events: what is read is written again as it was.

use cairn_events::{
    Document,
    file::{FileError, FileWriter, read},
};

use super::bounds::within_bounds;

/// A whole file.
pub fn run(bytes: &[u8]) {
    let mut documents: Vec<Document> = Vec::new();
    let count = within_bounds(bytes, |bytes| {
        read::<FileError>(bytes, |document| {
            documents.push(document);
            Ok(())
        })
    });
    for document in &documents {
        assert_eq!(document.check(), Ok(()));
    }
    match count {
        Err(error) => assert!(error.to_string().len() < 1_000),
        Ok(count) => {
            assert_eq!(count, documents.len());
            let mut file = FileWriter::begin(Vec::new()).unwrap_or_else(|error| panic!("{error}"));
            documents.iter().for_each(|document| file.add(document).unwrap_or_else(|error| panic!("{error}")));
            let (again, _) = file.finish().unwrap_or_else(|error| panic!("{error}"));
            assert!(again == bytes, "each file has one form");
        }
    }
}
