use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::thread;

use super::*;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

#[test]
fn bytes_cross_whole_and_in_order_both_ways_however_slow_the_other_end() {
    const BYTES: usize = 20 * CAPACITY + 7;
    let sent: Vec<u8> = (0..BYTES).map(|i| (i * 31 % 251) as u8).collect();
    let (app, engine) = pipe::<u8>();
    let expected = sent.clone();
    let echo = thread::spawn(move || {
        block_on(async move {
            let mut bytes = BytesMut::new();
            while engine.read(&mut bytes).await.is_ok() && bytes.len() < BYTES {}
            assert_eq!(bytes, expected);
            for piece in bytes.chunks(5_000) {
                engine.write(piece).await.unwrap();
            }
            engine.end(9);
        });
    });
    for piece in sent.chunks(8_192) {
        app.write(piece).unwrap();
    }
    let mut back = Vec::new();
    let end = loop {
        match app.read(3_000, None) {
            Ok(bytes) => back.extend_from_slice(&bytes),
            Err(end) => break end,
        }
    };
    assert_eq!((back, end), (sent, Stopped::Ended(9)));
    echo.join().unwrap();
}

#[test]
fn a_full_pipe_takes_nothing_more_until_it_is_read() {
    let (app, engine) = pipe::<u8>();
    block_on(engine.write(&[0; CAPACITY])).unwrap();
    let blocked = thread::spawn(move || block_on(engine.write(&[1])));
    let first = app.read(CAPACITY, None).unwrap();
    assert!(first.iter().all(|byte| *byte == 0) && first.len() == CAPACITY);
    assert_eq!(app.read(1, None).unwrap(), [1][..]);
    blocked.join().unwrap().unwrap();
}

#[test]
fn an_app_waits_at_a_full_pipe_until_the_engine_has_read_it() {
    let (app, engine) = pipe::<u8>();
    let app = Arc::new(app);
    app.write(&[0; CAPACITY]).unwrap();
    let blocked = thread::spawn({
        let app = Arc::clone(&app);
        move || app.write(&[1])
    });
    while app.0.lock().waiting == 0 {
        assert!(!blocked.is_finished(), "the write did not wait");
        thread::yield_now();
    }
    let mut read = BytesMut::new();
    block_on(engine.read(&mut read)).unwrap();
    assert_eq!(read, [0; CAPACITY][..]);
    blocked.join().unwrap().unwrap();
    block_on(engine.read(&mut read)).unwrap();
    assert_eq!(read[CAPACITY..], [1]);
}

#[test]
fn an_app_writes_nothing_between_a_refusal_and_the_next_accept() {
    let (app, engine) = pipe::<u8>();
    app.write(b"before").unwrap();
    let mut unread = BytesMut::new();
    engine.refuse(&mut unread);
    assert_eq!(unread, "before");
    assert_eq!(app.write(b"x"), Err(Stopped::Refused));
    engine.accept();
    app.write(b"after").unwrap();
}

#[test]
fn closing_wakes_whoever_waits_at_either_end() {
    let (app, engine) = pipe::<u8>();
    let app = Arc::new(app);
    let reader = thread::spawn({
        let app = Arc::clone(&app);
        move || app.read(1, None)
    });
    let task = thread::spawn(move || {
        block_on(async move {
            let read = engine.read(&mut BytesMut::new()).await;
            engine.closed().await;
            (read, engine.write(b"x").await)
        })
    });
    app.close();
    assert_eq!(reader.join().unwrap(), Err(Stopped::Closed));
    assert_eq!(task.join().unwrap(), (Err(Closed), Err(Closed)));
    assert_eq!(app.write(b"x"), Err(Stopped::Closed));
}

/// However busy the engine's thread is, a cancelled call returns at once.
#[test]
fn a_close_needs_nothing_of_the_engine() {
    let (app, engine) = pipe::<u8>();
    let app = Arc::new(app);
    let reader = thread::spawn({
        let app = Arc::clone(&app);
        move || app.read(1, None)
    });
    while app.0.lock().waiting == 0 {
        thread::yield_now();
    }
    app.close();
    assert_eq!(reader.join().unwrap(), Err(Stopped::Closed));
    assert_eq!(app.0.lock().waiting, 0);
    drop(engine);
}

/// A thread that wakes the engine may lose the processor to it.
#[test]
fn the_engine_is_woken_with_the_lock_free() {
    struct Woken(Arc<Shared<u8>>, AtomicUsize);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            assert!(self.0.state.try_lock().is_ok());
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (app, engine) = pipe::<u8>();
    let woken = Arc::new(Woken(Arc::clone(&app.0), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    block_on(engine.write(&[0; CAPACITY])).unwrap();
    assert!(pin!(engine.write(&[1])).poll(&mut context).is_pending());
    app.read(CAPACITY, None).unwrap();
    let mut unread = BytesMut::new();
    assert!(
        pin!(engine.read(&mut unread))
            .poll(&mut context)
            .is_pending()
    );
    app.write(b"x").unwrap();
    assert!(pin!(engine.closed()).poll(&mut context).is_pending());
    app.close();
    assert_eq!(woken.1.load(Ordering::Relaxed), 3);
}

#[test]
fn a_read_gives_up_in_time_and_a_dropped_engine_ends_the_pipe() {
    let (app, engine) = pipe::<u8>();
    let short = Some(Duration::from_millis(1));
    assert_eq!(app.read(1, short), Err(Stopped::TimedOut));
    block_on(engine.write(b"last")).unwrap();
    drop(engine);
    assert_eq!(app.read(9, short).unwrap(), b"last"[..]);
    assert_eq!(app.read(9, short), Err(Stopped::Ended(0)));
    assert_eq!(app.write(b"x"), Err(Stopped::Ended(0)));
}

#[test]
fn bytes_that_are_moved_follow_those_before_them() {
    let (app, engine) = pipe::<u8>();
    let mut moved = BytesMut::from(&b"ab"[..]);
    block_on(engine.move_after(&mut moved, || {})).unwrap();
    assert!(moved.is_empty());
    assert_eq!(app.read(1, None).unwrap(), b"a"[..]);
    moved.extend_from_slice(b"cd");
    let mut states = 0;
    block_on(engine.move_after(&mut moved, || states += 1)).unwrap();
    block_on(engine.write(b"e")).unwrap();
    assert!(moved.is_empty() && states == 1);
    assert_eq!(app.read(9, None).unwrap(), b"bcde"[..]);
    moved.extend_from_slice(b"f");
    block_on(engine.move_after(&mut moved, || {})).unwrap();
    assert_eq!(app.read(9, None).unwrap(), b"f"[..]);
}
