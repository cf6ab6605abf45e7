use super::*;
use crate::event::{Event, Origin};
use crate::router::Config;

fn taught() -> Router {
    let mut router = Router::new(Config {
        salt: [7; 16],
        ..Config::default()
    });
    let origin = Origin::new("a.example", 443);
    router.handle(Event::Time, Moment::from_ns(1));
    let now = router.now;
    let digest = router.book.digest(&origin);
    let day = Duration::from_secs(86_400);
    router.book.set_offer(digest, 443, day, now);
    let row = router.book.row(NetworkId([1; 16]), digest, now);
    row.trial.fail(1, now);
    for x in [0.4, 0.5, 0.6, 0.5, 0.4] {
        row.learnt(Class::Small)
            .observe(Transport::Quic, Some(x), now);
        row.learnt(Class::Small)
            .observe(Transport::Tcp, Some(x - 0.5), now);
    }
    for _ in 0..3 {
        router
            .book
            .network(NetworkId([1; 16]), now)
            .udp
            .unanswered(now);
    }
    router
}

fn recalled(file: &[u8], wall: u64) -> (Router, Recalled) {
    let mut router = Router::new(Config::default());
    let recalled = router.recall(file, WallSeconds(wall));
    (router, recalled)
}

const WALL: u64 = 1_800_000_000;

#[test]
fn what_was_learnt_is_recalled_with_its_verdict() {
    let before = taught();
    let (after, how) = recalled(&before.memory(WallSeconds(WALL)), WALL);
    assert_eq!(how, Recalled::Whole);
    let origin = after.book.digest(&Origin::new("a.example", 443));
    assert_eq!(after.book.offers[&origin].port, 443);
    let row = &after.book.rows[&(NetworkId([1; 16]), origin)];
    assert_eq!(row.trial.times(), 1);
    let small = &row.learnt[Class::Small as usize];
    let verdict = small.verdict(Class::Small, Some(1.0), after.now);
    assert!(
        matches!(verdict, Verdict::Faster(Transport::Tcp, ..)),
        "{verdict:?}"
    );
    assert!((small.of(Transport::Tcp).mean()).abs() < 1e-6);
    assert!(
        after.book.networks[&NetworkId([1; 16])]
            .udp
            .is_silent(after.now)
    );
}

#[test]
fn each_standing_and_rtt_is_recalled() {
    let mut before = Router::new(Config::default());
    before.handle(Event::Time, Moment::from_ns(1));
    let (now, network) = (before.now, NetworkId([1; 16]));
    let mut broken = Trial::Untried;
    broken.fail(1, now);
    let rows = [
        (Digest([1; 16]), Trial::Untried, None),
        (
            Digest([2; 16]),
            Trial::Works,
            Some(Duration::from_micros(1)),
        ),
        (Digest([3; 16]), broken, Some(Duration::from_millis(40))),
    ];
    for (origin, trial, rtt) in rows {
        let row = before.book.row(network, origin, now);
        (row.trial, row.rtt) = (trial, rtt);
    }
    let (after, how) = recalled(&before.memory(WallSeconds(WALL)), WALL);
    assert_eq!(how, Recalled::Whole);
    for (origin, trial, rtt) in rows {
        let row = &after.book.rows[&(network, origin)];
        let same = std::mem::discriminant(&row.trial) == std::mem::discriminant(&trial);
        assert!(same, "{trial:?} became {:?}", row.trial);
        assert_eq!(row.rtt, rtt);
    }
}

#[test]
fn what_is_not_used_for_thirty_days_is_forgotten_however_often_it_is_recalled() {
    let mut file = taught().memory(WallSeconds(WALL));
    let (day, mut wall) = (86_400, WALL);
    for days in 1..=40 {
        wall += day;
        let (router, how) = recalled(&file, wall);
        assert_eq!(how, Recalled::Whole);
        assert_eq!(router.book.rows.is_empty(), days > 30, "day {days}");
        assert_eq!(router.book.networks.is_empty(), days > 30, "day {days}");
        file = router.memory(WallSeconds(wall));
    }
}

#[test]
fn what_was_used_longest_ago_makes_room_first_after_a_restart_too() {
    let mut router = taught();
    let hour = |hour: u64| Moment::from_ns(hour * HOUR_S * 1_000_000_000);
    for i in 0..u64::try_from(MAX_NETWORKS).unwrap() - 1 {
        router
            .book
            .network(NetworkId([100 + i as u8; 16]), hour(i + 1));
    }
    router.handle(Event::Time, hour(100));
    let (mut router, _) = recalled(&router.memory(WallSeconds(WALL)), WALL);
    assert_eq!(router.book.networks.len(), MAX_NETWORKS);
    let now = router.now;
    router.book.network(NetworkId([99; 16]), now);
    assert!(!router.book.networks.contains_key(&NetworkId([1; 16])));
    assert!(router.book.networks.contains_key(&NetworkId([100; 16])));
}

#[test]
fn a_hint_is_not_kept() {
    let mut router = Router::new(Config::default());
    let origin = &Origin::new("a.example", 443);
    router.handle(Event::Hint { origin, port: 443 }, Moment::from_ns(1));
    assert_eq!(router.book.offers.len(), 1);
    let file = router.memory(WallSeconds(WALL));
    assert!(recalled(&file, WALL).0.book.offers.is_empty());
}

#[test]
fn a_wall_clock_that_jumps_prolongs_nothing() {
    let file = taught().memory(WallSeconds(WALL));
    let ten_years = 10 * 365 * 86_400;
    for wall in [WALL - ten_years, 0, WALL + ten_years, u64::MAX] {
        let (after, how) = recalled(&file, wall);
        assert_eq!(how, Recalled::Whole);
        for row in after.book.rows.values() {
            let end = after.now + MAX_BACKOFF;
            assert!(!row.trial.is_broken(end));
        }
        for offer in after.book.offers.values() {
            assert!(offer.until.since(after.now) <= crate::alt_svc::LONGEST_MAX_AGE);
        }
    }
    assert!(recalled(&file, WALL + ten_years).0.book.rows.is_empty());
}

#[test]
fn damage_at_any_byte_is_noticed_and_nothing_is_taken_over() {
    let file = taught().memory(WallSeconds(WALL));
    for length in 1..file.len() {
        let (after, how) = recalled(&file[..length], WALL);
        assert!(matches!(how, Recalled::Damaged(_)), "{length}");
        assert!(after.book.rows.is_empty());
    }
    for byte in 0..file.len() {
        let mut damaged = file.clone();
        damaged[byte] ^= 1;
        assert!(
            matches!(recalled(&damaged, WALL).1, Recalled::Damaged(_)),
            "{byte}"
        );
    }
    assert_eq!(recalled(&[], WALL).1, Recalled::Fresh);
    let huge = vec![0; MAX_MEMORY_BYTES + 1];
    assert_eq!(
        recalled(&huge, WALL).1,
        Recalled::Damaged("it is larger than 64 KiB")
    );
}

#[test]
fn a_full_book_fits() {
    let mut router = taught();
    for i in 0..=u8::MAX {
        for j in 0..4 {
            let mut id = [i; 16];
            id[0] = j;
            let network = NetworkId([i % 32; 16]);
            let row = router
                .book
                .row(network, Digest(id), Moment::from_ns(u64::from(i)));
            for class in Class::ALL {
                for over in Transport::ALL {
                    row.learnt(class)
                        .observe(over, Some(0.123), Moment::from_ns(1));
                }
            }
            router.book.network(network, Moment::from_ns(u64::from(i)));
            router
                .book
                .set_offer(Digest(id), 443, MAX_BACKOFF, Moment::from_ns(1));
        }
    }
    let file = router.memory(WallSeconds(u64::MAX / 2));
    assert!(file.len() <= MAX_MEMORY_BYTES, "{}", file.len());
    assert_eq!(recalled(&file, u64::MAX / 2).1, Recalled::Whole);
}
