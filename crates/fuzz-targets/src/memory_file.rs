use route::{
    Config, Event, MAX_MEMORY_BYTES, MonotonicTime, Origin, RecallOutcome, Router, WallSeconds,
};
use sha2::{Digest, Sha256};

const WALL: WallSeconds = WallSeconds(1_800_000_000);

/// Reads the client's memory file: the data are its contents, behind a right head and checksum, which random bytes would
/// never have. What was read whole must be written so that it is read whole again.
pub fn memory_file(data: &[u8]) {
    let mut file = b"CMTR\0\x01".to_vec();
    file.extend((data.len() as u32).to_be_bytes());
    file.extend(data);
    file.extend(&Sha256::digest(data)[..8]);
    let mut router = Router::new(Config::default());
    let recalled = router.recall(&file, WALL);
    let origin = Origin::new("a.example", 443);
    router.handle(
        Event::Hint {
            origin: &origin,
            port: 443,
        },
        MonotonicTime::from_ns(1),
    );
    router.explain(&origin);
    if recalled == RecallOutcome::Whole {
        let again = router.memory(WALL);
        assert!(again.len() <= MAX_MEMORY_BYTES);
        assert_eq!(
            Router::new(Config::default()).recall(&again, WALL),
            RecallOutcome::Whole
        );
    }
}
