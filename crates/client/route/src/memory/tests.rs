use super::*;
use crate::event::{Event, Origin};
use crate::router::Config;

fn taught() -> Router {
    let mut router = Router::new(Config {
        salt: [7; 16],
        ..Config::default()
    });
    let origin = Origin::new("a.example", 443);
    router.handle(Event::Time, MonotonicTime::from_ns(1));
    let now = router.now;
    let digest = router.knowledge.digest(&origin);
    let day = Duration::from_secs(86_400);
    router.knowledge.set_offer(digest, 443, day, now);
    let entry = router.knowledge.origin(NetworkId([1; 16]), digest, now);
    entry.h3.fail(1, now);
    for x in [0.4, 0.5, 0.6, 0.5, 0.4] {
        entry
            .estimates(ComparisonClass::Small)
            .observe(Transport::Quic, Some(x), now);
        entry
            .estimates(ComparisonClass::Small)
            .observe(Transport::Tcp, Some(x - 0.5), now);
    }
    for _ in 0..3 {
        router
            .knowledge
            .network(NetworkId([1; 16]), now)
            .udp
            .unanswered(now);
    }
    router
}

fn recalled(file: &[u8], wall: u64) -> (Router, RecallOutcome) {
    let mut router = Router::new(Config::default());
    let recalled = router.recall(file, WallSeconds(wall));
    (router, recalled)
}

const WALL: u64 = 1_800_000_000;

#[test]
fn what_was_learnt_is_recalled_with_its_verdict() {
    let before = taught();
    let (after, how) = recalled(&before.memory(WallSeconds(WALL)), WALL);
    assert_eq!(how, RecallOutcome::Whole);
    let origin = after.knowledge.digest(&Origin::new("a.example", 443));
    assert_eq!(after.knowledge.offers[&origin].port, 443);
    let entry = &after.knowledge.origins[&(NetworkId([1; 16]), origin)];
    assert_eq!(entry.h3.times(), 1);
    let small = &entry.estimates[ComparisonClass::Small as usize];
    let verdict = small.verdict(ComparisonClass::Small, Some(1.0), after.now);
    assert!(
        matches!(verdict, Verdict::Faster(Transport::Tcp, ..)),
        "{verdict:?}"
    );
    assert!((small.of(Transport::Tcp).mean()).abs() < 1e-6);
    assert!(
        after.knowledge.networks[&NetworkId([1; 16])]
            .udp
            .is_blocked(after.now)
    );
}

#[test]
fn each_standing_and_rtt_is_recalled() {
    let mut before = Router::new(Config::default());
    before.handle(Event::Time, MonotonicTime::from_ns(1));
    let (now, network) = (before.now, NetworkId([1; 16]));
    let mut broken = H3Status::Untried;
    broken.fail(1, now);
    let origins = [
        (OriginDigest([1; 16]), H3Status::Untried, None),
        (
            OriginDigest([2; 16]),
            H3Status::Works,
            Some(Duration::from_micros(1)),
        ),
        (
            OriginDigest([3; 16]),
            broken,
            Some(Duration::from_millis(40)),
        ),
    ];
    for (origin, h3, rtt) in origins {
        let entry = before.knowledge.origin(network, origin, now);
        (entry.h3, entry.rtt) = (h3, rtt);
    }
    let (after, how) = recalled(&before.memory(WallSeconds(WALL)), WALL);
    assert_eq!(how, RecallOutcome::Whole);
    for (origin, h3, rtt) in origins {
        let entry = &after.knowledge.origins[&(network, origin)];
        let same = std::mem::discriminant(&entry.h3) == std::mem::discriminant(&h3);
        assert!(same, "{h3:?} became {:?}", entry.h3);
        assert_eq!(entry.rtt, rtt);
    }
}

#[test]
fn what_is_not_used_for_thirty_days_is_forgotten_however_often_it_is_recalled() {
    let mut file = taught().memory(WallSeconds(WALL));
    let (day, mut wall) = (86_400, WALL);
    for days in 1..=40 {
        wall += day;
        let (router, how) = recalled(&file, wall);
        assert_eq!(how, RecallOutcome::Whole);
        assert_eq!(router.knowledge.origins.is_empty(), days > 30, "day {days}");
        assert_eq!(
            router.knowledge.networks.is_empty(),
            days > 30,
            "day {days}"
        );
        file = router.memory(WallSeconds(wall));
    }
}

#[test]
fn what_was_used_longest_ago_makes_room_first_after_a_restart_too() {
    let mut router = taught();
    let hour = |hour: u64| MonotonicTime::from_ns(hour * HOUR_S * 1_000_000_000);
    for i in 0..u64::try_from(MAX_NETWORKS).unwrap() - 1 {
        router
            .knowledge
            .network(NetworkId([100 + i as u8; 16]), hour(i + 1));
    }
    router.handle(Event::Time, hour(100));
    let (mut router, _) = recalled(&router.memory(WallSeconds(WALL)), WALL);
    assert_eq!(router.knowledge.networks.len(), MAX_NETWORKS);
    let now = router.now;
    router.knowledge.network(NetworkId([99; 16]), now);
    assert!(!router.knowledge.networks.contains_key(&NetworkId([1; 16])));
    assert!(
        router
            .knowledge
            .networks
            .contains_key(&NetworkId([100; 16]))
    );
}

#[test]
fn a_hint_is_not_kept() {
    let mut router = Router::new(Config::default());
    let origin = &Origin::new("a.example", 443);
    router.handle(Event::Hint { origin, port: 443 }, MonotonicTime::from_ns(1));
    assert_eq!(router.knowledge.offers.len(), 1);
    let file = router.memory(WallSeconds(WALL));
    assert!(recalled(&file, WALL).0.knowledge.offers.is_empty());
}

#[test]
fn a_wall_clock_that_jumps_prolongs_nothing() {
    let file = taught().memory(WallSeconds(WALL));
    let ten_years = 10 * 365 * 86_400;
    for wall in [WALL - ten_years, 0, WALL + ten_years, u64::MAX] {
        let (after, how) = recalled(&file, wall);
        assert_eq!(how, RecallOutcome::Whole);
        for entry in after.knowledge.origins.values() {
            let end = after.now + MAX_BACKOFF;
            assert!(!entry.h3.is_broken(end));
        }
        for offer in after.knowledge.offers.values() {
            assert!(offer.until.since(after.now) <= crate::alt_svc::LONGEST_MAX_AGE);
        }
    }
    assert!(
        recalled(&file, WALL + ten_years)
            .0
            .knowledge
            .origins
            .is_empty()
    );
}

#[test]
fn damage_at_any_byte_is_noticed_and_nothing_is_taken_over() {
    let file = taught().memory(WallSeconds(WALL));
    for length in 1..file.len() {
        let (after, how) = recalled(&file[..length], WALL);
        assert!(matches!(how, RecallOutcome::Damaged(_)), "{length}");
        assert!(after.knowledge.origins.is_empty());
    }
    for byte in 0..file.len() {
        let mut damaged = file.clone();
        damaged[byte] ^= 1;
        assert!(
            matches!(recalled(&damaged, WALL).1, RecallOutcome::Damaged(_)),
            "{byte}"
        );
    }
    assert_eq!(recalled(&[], WALL).1, RecallOutcome::Fresh);
    let huge = vec![0; MAX_MEMORY_BYTES + 1];
    assert_eq!(
        recalled(&huge, WALL).1,
        RecallOutcome::Damaged("it is larger than 64 KiB")
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
            let entry = router.knowledge.origin(
                network,
                OriginDigest(id),
                MonotonicTime::from_ns(u64::from(i)),
            );
            for class in ComparisonClass::ALL {
                for over in Transport::ALL {
                    entry
                        .estimates(class)
                        .observe(over, Some(0.123), MonotonicTime::from_ns(1));
                }
            }
            router
                .knowledge
                .network(network, MonotonicTime::from_ns(u64::from(i)));
            router.knowledge.set_offer(
                OriginDigest(id),
                443,
                MAX_BACKOFF,
                MonotonicTime::from_ns(1),
            );
        }
    }
    let file = router.memory(WallSeconds(u64::MAX / 2));
    assert!(file.len() <= MAX_MEMORY_BYTES, "{}", file.len());
    assert_eq!(recalled(&file, u64::MAX / 2).1, RecallOutcome::Whole);
}
