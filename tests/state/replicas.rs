//! Data that replicas and the writer share: documents that wait, and how far the writer is.

use cairn_state::{MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_ENTRY, NewEntry, StateError, WriterTip};

use crate::database::TestDatabase;

on_both!(
    documents_wait_in_their_order_and_as_they_are,
    the_queue_is_bounded,
    entries_of_one_import_come_together_or_not_at_all,
    damaged_entries_are_errors,
    the_newest_tip_of_the_writer_is_told,
);

fn entry(payload: &[u8]) -> NewEntry {
    NewEntry { documents: 1, payload: payload.to_vec() }
}

async fn documents_wait_in_their_order_and_as_they_are(database: &TestDatabase) {
    let (replica, writer) = (database.open().await, database.open().await);
    assert_eq!(writer.oldest_waiting("main").await.unwrap(), None);
    let bytes: Vec<u8> = (0..70_000u32).map(|n| (n % 251) as u8).collect();
    let two = [NewEntry { documents: 7, payload: bytes.clone() }, entry(b"")];
    replica.queue_documents("main", "a\nfile", &two, 2_000_500).await.unwrap();
    replica.queue_documents("main", &"é".repeat(200), &[entry(b"\0'; DROP")], 2_000_500).await.unwrap();
    replica.queue_documents("regtest", "API", &[entry(b"other")], 1_000_000).await.unwrap();
    let listed = writer.waiting(9).await.unwrap();
    let column = |of: fn(&cairn_state::WaitingEntry) -> u64| listed.iter().map(of).collect::<Vec<_>>();
    assert_eq!(column(|of| of.documents), [7, 1, 1, 1]);
    assert_eq!(column(|of| of.bytes), [70_000, 0, 8, 5]);
    assert_eq!(column(|of| of.queued_at), [2_000, 2_000, 2_000, 1_000]);
    assert_eq!(listed[0].origin, "afile");
    assert_eq!((listed[2].origin.chars().count(), listed[3].network.as_str()), (100, "regtest"));
    assert_eq!(writer.waiting(1).await.unwrap(), listed[..1]);
    assert_eq!(cairn_state::check(&database.state_url()).await.unwrap().waiting, 4);
    for (at, payload) in [bytes.as_slice(), b"", b"\0'; DROP"].into_iter().enumerate() {
        // Until it is removed, it comes again.
        for _ in 0..2 {
            let (id, found) = writer.oldest_waiting("main").await.unwrap().unwrap();
            assert_eq!((id.as_str(), found.as_slice()), (listed[at].id.as_str(), payload));
        }
        assert!(writer.remove_waiting(&listed[at].id).await.unwrap());
        assert!(!writer.remove_waiting(&listed[at].id).await.unwrap(), "it is gone");
    }
    assert_eq!(writer.oldest_waiting("main").await.unwrap(), None);
    assert_eq!(writer.oldest_waiting("regtest").await.unwrap().unwrap().1, b"other");
}

async fn the_queue_is_bounded(database: &TestDatabase) {
    let state = database.open().await;
    let large = entry(&vec![1; MAX_WAITING_ENTRY as usize + 1]);
    let error = state.queue_documents("main", "a", &[large], 1).await.unwrap_err();
    assert!(matches!(error, StateError::EntryTooLarge { .. }) && error.to_string().contains("split the file"));
    let one = [entry(b"one")];
    state.queue_documents("main", "a", &one, 1_000).await.unwrap();
    // As many rows as there may be.
    database
        .execute(&format!(
            "INSERT INTO waiting_documents (id, network, queued_at, origin, documents, bytes, payload) \
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) \
             SELECT 'f' || i, 'regtest', 1, 'x', 1, 0, (SELECT substr(payload, 1, 0) FROM waiting_documents) FROM n",
            MAX_WAITING - 2
        ))
        .await;
    state.queue_documents("main", "a", &one, 1_000).await.unwrap();
    let full = async || {
        let error = state.queue_documents("main", "a", &one, 1_000).await.unwrap_err();
        assert!(matches!(error, StateError::QueueFull), "{error:?}");
        let said = error.to_string();
        assert!(said.contains("at most 1000 entries of 128 MiB in all"), "{said}");
    };
    full().await;
    database.execute("DELETE FROM waiting_documents WHERE network = 'regtest'").await;
    state.queue_documents("main", "a", &one, 1_000).await.unwrap();
    // Fewer, but long ones.
    database.execute("DELETE FROM waiting_documents").await;
    let part = vec![7; 32 << 20];
    for _ in 0..MAX_WAITING_BYTES / (32 << 20) {
        state.queue_documents("main", "a", &[entry(&part)], 1_000).await.unwrap();
    }
    full().await;
}

async fn entries_of_one_import_come_together_or_not_at_all(database: &TestDatabase) {
    let state = database.open().await;
    let many: Vec<NewEntry> = (0..=MAX_WAITING).map(|n| entry(&n.to_be_bytes())).collect();
    let error = state.queue_documents("main", "a", &many, 1_000).await.unwrap_err();
    assert!(matches!(error, StateError::QueueFull), "{error:?}");
    assert_eq!(state.waiting(9).await.unwrap(), []);
    state.queue_documents("main", "a", &many[1..], 1_000).await.unwrap();
    let mut expected = 1u32;
    while let Some((id, payload)) = state.oldest_waiting("main").await.unwrap() {
        assert_eq!(payload, expected.to_be_bytes());
        assert!(state.remove_waiting(&id).await.unwrap());
        expected += 1;
    }
    assert_eq!(expected, MAX_WAITING + 1);
}

async fn damaged_entries_are_errors(database: &TestDatabase) {
    let state = database.open().await;
    state.queue_documents("main", "a", &[entry(b"one")], 1_000).await.unwrap();
    // It becomes the name of a file.
    database.execute("UPDATE waiting_documents SET id = '../../x'").await;
    assert!(matches!(state.oldest_waiting("main").await.unwrap_err(), StateError::Row(_)));
    database.execute("UPDATE waiting_documents SET documents = -1").await;
    assert!(matches!(state.waiting(1).await.unwrap_err(), StateError::Row(_)));
    database.execute("DROP TABLE waiting_documents").await;
    assert!(matches!(state.oldest_waiting("main").await.unwrap_err(), StateError::Database { .. }));
}

async fn the_newest_tip_of_the_writer_is_told(database: &TestDatabase) {
    let (writer, replica) = (database.open().await, database.open().await);
    assert_eq!(replica.writer_tip("main").await.unwrap(), None);
    let tip = |height, best_height| WriterTip {
        height,
        hash: format!("{height:064x}"),
        event_seq: 9,
        best_height,
        published_at: 1_700_000_000,
    };
    // Also lower ones: a reorganization, or an index that is made again.
    for published in [tip(900_000, None), tip(900_001, Some(900_007)), tip(7, Some(8))] {
        writer.publish_writer_tip("main", &published).await.unwrap();
        assert_eq!(replica.writer_tip("main").await.unwrap(), Some(published));
    }
    assert_eq!(replica.writer_tip("regtest").await.unwrap(), None);
    assert_eq!(cairn_state::check(&database.state_url()).await.unwrap().writers, 1);
    let strange = WriterTip { event_seq: u64::MAX, ..tip(1, None) };
    assert!(matches!(writer.publish_writer_tip("main", &strange).await.unwrap_err(), StateError::Time));
    database.execute("UPDATE writers SET height = -1").await;
    assert!(matches!(replica.writer_tip("main").await.unwrap_err(), StateError::Row(_)));
}
