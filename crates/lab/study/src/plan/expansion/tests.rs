use super::*;
use crate::count::StepCount;
use crate::plan::encoded_message;
use crate::{Arm, Origins, Placement};

pub(super) fn call(times: u32) -> Step {
    Step::Call {
        group: "echo".into(),
        body: "{}".into(),
        times,
    }
}

#[test]
fn repetitions_expand_to_a_flat_list() {
    let get = Step::Get {
        group: "image".into(),
        bytes: 1000,
        times: 1,
    };
    let steps = [
        Step::Repeat {
            times: 2,
            steps: vec![Step::Reconnect(Reconnect::Cold), call(2)],
        },
        Step::Parallel(vec![get.clone(), get]),
    ];
    let w = Workload::expand(&steps);
    assert_eq!(
        w.steps.iter().map(|s| s.id).collect::<Vec<_>>(),
        (1..=8).collect::<Vec<_>>()
    );
    assert_eq!(w.call_ids().collect::<Vec<_>>(), [2, 3, 5, 6, 7, 8]);
    assert_eq!(w.group_name(2), Some("echo"));
    assert_eq!(w.group_name(1), None);
    assert_eq!(w.group_name(8), Some("image"));
    assert_eq!(w.group_name(0), None);
    assert_eq!(w.steps[6].start, Some(Start::After(6)));
    assert_eq!(w.steps[7].start, Some(Start::After(6)));
    let count = StepCount::of(&steps);
    assert_eq!(
        (count.steps, count.calls),
        (w.steps.len(), w.call_ids().count())
    );
}

fn of_arms(behaviours: &[Behaviour], steps: &[Step]) -> Vec<Workload> {
    let arms: Vec<Arm> = (behaviours.iter())
        .map(|behaviour| Arm {
            behaviour: *behaviour,
            ..Arm::plain("hyper", driver::protocol::Protocol::H2)
        })
        .collect();
    let slots = Slots::of(&arms);
    (arms.iter())
        .map(|arm| Workload::of_arm(steps, &arm.behaviour, &Form::default(), slots, 0))
        .collect()
}

/// Records compare calls by id, so an arm that reconnects must not number them otherwise.
#[test]
fn calls_have_the_same_ids_in_every_arm() {
    let behaviours = [
        Behaviour::default(),
        Behaviour {
            connections: Connections::PerRequest,
            ..Behaviour::default()
        },
        Behaviour {
            access: Access::Paused { ns: 7 },
            ..Behaviour::default()
        },
    ];
    let arms = of_arms(&behaviours, &[call(2)]);
    for workload in &arms {
        assert_eq!(workload.call_ids().collect::<Vec<_>>(), [3, 6]);
    }
    let actions = |arm: usize| arms[arm].steps.iter().map(|s| s.action.clone());
    let reconnect = Action::Reconnect {
        mode: Reconnect::Cold,
    };
    assert_eq!(actions(1).filter(|a| *a == reconnect).count(), 2);
    let pauses = actions(2).filter(|a| *a == Action::Pause { ns: 7 });
    assert_eq!(pauses.count(), 1);
    assert!(actions(0).all(|a| a == NOTHING || a.is_call()));
}

#[test]
fn access_patterns_decide_when_requests_start() {
    let starts = |access| {
        let behaviour = Behaviour {
            access,
            ..Behaviour::default()
        };
        let arms = of_arms(&[behaviour], &[call(1), call(3)]);
        arms[0].steps.iter().map(|s| s.start).collect::<Vec<_>>()
    };
    let after = |id| Some(Start::After(id));
    assert_eq!(starts(Access::Sequential), [None; 4]);
    assert_eq!(
        starts(Access::Parallel),
        [after(0), after(1), after(1), after(1)]
    );
    assert_eq!(starts(Access::FirstAlone), [None, None, after(2), after(2)]);
}

#[test]
fn a_repeat_inside_parallel_goes_on_beside_the_others() {
    let small = Step::Repeat {
        times: 2,
        steps: vec![Step::Pause { ns: 5 }, call(1)],
    };
    let file = Step::Get {
        group: "file".into(),
        bytes: 9,
        times: 2,
    };
    let w = Workload::expand(&[call(1), Step::Parallel(vec![file, small]), call(1)]);
    let after = |id| Some(Start::After(id));
    let starts: Vec<_> = w.steps.iter().map(|step| step.start).collect();
    assert_eq!(
        starts,
        [
            None,
            after(1),
            after(1),
            after(1),
            after(4),
            after(5),
            after(6),
            None
        ]
    );
    assert_eq!(w.call_ids().collect::<Vec<_>>(), [1, 2, 3, 5, 7, 8]);
}

#[test]
fn resumption_keeps_the_tickets_of_a_reconnect() {
    for (resumption, early_data, mode) in [
        (false, false, Reconnect::Cold),
        (true, false, Reconnect::Resume),
        (false, true, Reconnect::EarlyData),
        (true, true, Reconnect::EarlyData),
    ] {
        let behaviour = Behaviour {
            resumption,
            early_data,
            ..Behaviour::default()
        };
        let arms = of_arms(&[behaviour], &[Step::Reconnect(Reconnect::Cold), call(1)]);
        assert_eq!(arms[0].steps[0].action, Action::Reconnect { mode });
    }
}

#[test]
fn requests_go_to_the_origins_that_the_arm_has() {
    let at_files = Step::At {
        origin: "files".into(),
        step: Box::new(call(2)),
    };
    let slots = Slots {
        reconnect: true,
        pause: false,
    };
    let workload = Workload::of_arm(
        &[call(1), at_files, call(1)],
        &Behaviour::default(),
        &Form::default(),
        slots,
        0,
    );
    let origins = |workload: &Workload| -> Vec<bool> {
        let calls = workload.steps.iter().filter(|step| step.action.is_call());
        calls
            .map(|step| step.origin.as_deref() == Some("files"))
            .collect()
    };
    assert_eq!(origins(&workload), [false, true, true, false]);
    let others = workload.steps.iter().filter(|s| !s.action.is_call());
    assert!(others.clone().all(|step| step.origin.is_none()));
    let two = Origins::from([("files".to_owned(), Placement::SameServer)]);
    assert_eq!(workload.clone().at_origins(&two), workload);
    let one = workload.at_origins(&Origins::new());
    assert_eq!(origins(&one), [false; 4]);
}

#[test]
fn each_process_has_the_steps_from_its_restart_on() {
    let at_once = Step::Parallel(vec![call(2)]);
    let w = Workload::expand(&[call(2), Step::Restart, at_once, Step::Restart, call(1)]);
    let ids = |steps: &[DriverStep]| steps.iter().map(|step| step.id).collect::<Vec<_>>();
    let processes: Vec<_> = w.by_process().map(ids).collect();
    assert_eq!(processes, [vec![1, 2], vec![3, 4, 5], vec![6, 7]]);
    let numbers = [1, 2, 3, 5, 6, 7].map(|id| w.process_of(id));
    assert_eq!(numbers, [0, 0, 1, 1, 2, 2]);
    // Each step waits for one of its own process.
    assert_eq!(w.steps[3].start, Some(Start::After(3)));
    assert!(w.steps[2].action == NOTHING && w.steps[5].action == NOTHING);
}

#[test]
fn messages_are_sent_in_turn() {
    let names = |text: &str| text.split(' ').map(|n| n.parse().unwrap()).collect();
    let exchange = |messages, times| Step::Exchange {
        group: "page".into(),
        messages,
        times,
    };
    let w = Workload::expand(&[exchange(names("big-0 big-1 big-2"), 5)]);
    let sent = w.steps.iter().filter_map(encoded_message);
    let expected = ["big-0", "big-1", "big-2", "big-0", "big-1"];
    assert_eq!(sent.collect::<Vec<_>>(), expected);
    assert_eq!(w.groups[0].about, "exchange big-0..2");
    let one = Workload::expand(&[exchange(names("api-2kB"), 1)]);
    assert_eq!(one.groups[0].about, "exchange api-2kB");
    let get = |bytes| Step::Get {
        group: "files".into(),
        bytes,
        times: 1,
    };
    let files = Workload::expand(&[get(7), get(8), get(7)]);
    assert_eq!(files.groups[0].about, "GET 7 B, GET 8 B");
}

#[test]
fn a_wait_is_for_a_time_and_for_every_earlier_step() {
    let get = |times| Step::Get {
        group: "file".into(),
        bytes: 1,
        times,
    };
    let parallel = Step::Parallel(vec![get(2)]);
    let workload = Workload::expand(&[get(1), Step::WaitUntil { ns: 7 }, parallel]);
    let starts: Vec<_> = workload.steps.iter().map(|step| step.start).collect();
    let [after_wait, at] = [Start::After(3), Start::AtNs(7)].map(Some);
    assert_eq!(starts, [None, at, None, after_wait, after_wait]);
    let batches = crate::plan::planned_calls(&workload);
    let batches: Vec<u32> = batches.iter().map(|call| call.batch).collect();
    assert_eq!(batches, [1, 2, 2]);
}
