"""The step engine with a fake library, in virtual time. Run in the folder above:
python3 -m unittest discover -s tests"""

import asyncio
import json
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from commute_driver import Failed, Unsupported, polling, seeded, tasks
from commute_driver.conversation import Conversation
from commute_driver.schedule import Schedule

MS = 1_000_000


def step(number, kind="call", start=None, group=1, **fields):
    return {"id": number, "step": kind, "group": group, **({"start": start} if start else {}), **fields}


def after(number):
    return {"after": number}


class Schedules(unittest.TestCase):
    def order(self, *steps):
        """Returns the ids in the order of their starts, where each step ends before the next starts."""
        schedule = Schedule(list(steps))
        ready, order = [index for _, index in schedule.first], []
        while ready:
            index = ready.pop(0)
            order.append(steps[index]["id"])
            ready += schedule.ended(index, 0)
        return order

    def test_steps_without_a_start_rule_are_sequential(self):
        self.assertEqual(self.order(step(1), step(2), step(5)), [1, 2, 5])

    def test_followers_start_before_the_next_sequential_step(self):
        steps = step(1), step(2), step(3, start=after(1)), step(4, start=after(1))
        self.assertEqual(self.order(*steps), [1, 3, 4, 2])

    def test_a_sequential_step_waits_for_every_earlier_step(self):
        schedule = Schedule([step(1), step(2, start=after(0)), step(3)])
        self.assertEqual(schedule.first, [(0, 0), (0, 1)])
        self.assertEqual(schedule.ended(1, 0), [])
        self.assertEqual(schedule.ended(0, 0), [2])

    def test_delays_count_from_the_start_of_the_run(self):
        schedule = Schedule([step(1), step(2, start={"at_ns": 50 * MS})])
        self.assertEqual(schedule.first, [(0, 0), (50 * MS, 1)])

    def test_ids_must_grow(self):
        for steps in ([step(0)], [step(2), step(2)]):
            with self.assertRaisesRegex(Failed, "ids start at 1 and grow"):
                Schedule(steps)

    def test_a_step_may_wait_only_for_an_earlier_one(self):
        with self.assertRaisesRegex(Failed, "step 1 waits for step 2, which is not an earlier step"):
            Schedule([step(1, start=after(2)), step(2)])

    def test_a_step_is_late_only_after_its_limit(self):
        schedule = Schedule([step(1, until={"after": 0, "ns": 5}), step(2, until={"after": 1, "ns": 7}), step(3)])
        schedule.begin(100)
        self.assertEqual([schedule.is_late(0, now_ns) for now_ns in (105, 106)], [False, True])
        self.assertFalse(schedule.is_late(1, 1000), "the limit does not count before step 1 has ended")
        schedule.ended(0, 200)
        self.assertEqual([schedule.is_late(1, now_ns) for now_ns in (207, 208)], [False, True])
        self.assertFalse(schedule.is_late(2, 1000))
        with self.assertRaisesRegex(Failed, "step 1 has a limit after step 1, which is not an earlier step"):
            Schedule([step(1, until={"after": 1, "ns": 0})])

    def test_an_unknown_start_rule_is_unsupported(self):
        with self.assertRaises(Unsupported) as raised:
            Schedule([step(1, start={"at_dawn": 6})])
        self.assertEqual(raised.exception.what, "start at_dawn")


class Clock:
    """Virtual time, which passes only where the session waits."""

    now_ns = 0

    def monotonic_ns(self):
        return self.now_ns


class Call(polling.Call):
    """A call that takes the step's `ns`, unless it is given up."""

    def __init__(self, session, step):
        self.session, self.step, self.error = session, step, None

    def start(self):
        self.start_ns = self.session.clock.now_ns
        self.end_ns = self.start_ns + self.step["ns"]
        self.session.events.append(f"start {self.step['id']}")
        return self.start_ns

    def give_up(self, kind):
        self.error = {"kind": kind}
        self.end_ns = self.session.clock.now_ns
        return self.session.gives_up_at_once

    def row(self):
        return {"id": self.step["id"], "start_ns": self.start_ns, "end_ns": self.end_ns, "error": self.error}

    def free(self):
        self.session.events.append(f"free {self.step['id']}")


class Session(polling.Session):
    gives_up_at_once = False
    reconnect_ns = 0

    def __init__(self, clock):
        self.clock, self.events, self.closed = clock, [], False

    def prepare(self, steps):
        return [Call(self, step) if step["step"] == "call" else None for step in steps]

    def wait(self, calls, timeout_ns):
        until_ns = min([self.clock.now_ns + timeout_ns, *(call.end_ns for call in calls)])
        self.clock.now_ns = max(self.clock.now_ns, until_ns)
        return [call for call in calls if call.end_ns <= self.clock.now_ns]

    def reconnect(self, index, mode):
        self.events.append(f"reconnect {mode}")
        return self.reconnect_ns

    def settle(self, calls):
        if calls:
            self.events.append("settle " + " ".join(str(call.step["id"]) for call in calls))

    def close(self):
        self.closed = True


class PolledRuns(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.session = Session(self.clock)
        patched = mock.patch.object(polling.time, "monotonic_ns", self.clock.monotonic_ns)
        patched.start()
        self.addCleanup(patched.stop)

    def run_steps(self, *steps):
        """Returns the ids of the rows in the order sent; keeps the rows by id."""
        sent = []
        self.session.run(list(steps), sent.append)
        self.assertEqual(sent.pop(), {"type": "done"})
        self.rows = {row["id"]: row for row in sent}
        return [row["id"] for row in sent]

    def test_rows_are_sent_after_the_last_call_of_their_group(self):
        sent = self.run_steps(step(1, ns=MS), step(2, ns=MS, group=2), step(3, ns=MS))
        self.assertEqual(sent, [2, 1, 3])
        self.assertEqual(self.session.events, [
            "start 1", "settle 1", "start 2", "settle 2", "free 2",
            "start 3", "settle 3", "free 1", "free 3"])

    def test_a_row_can_say_that_the_stack_does_not_report_whether_it_resumed(self):
        row = Call.row
        with mock.patch.object(Call, "row", lambda call: {**row(call), "resumed": None}):
            self.run_steps(step(1, ns=MS))
        self.assertEqual(self.rows[1]["resumed"], None)
        self.assertIn("resumed", self.rows[1])
        self.assertNotIn("error", self.rows[1])

    def test_no_row_is_sent_while_anything_is_in_flight(self):
        self.run_steps(step(1, ns=5 * MS, start=after(0)), step(2, ns=MS, start=after(0), group=2),
                       step(3, "pause", ns=20 * MS, start=after(0)), step(4, ns=MS, start={"at_ns": 10 * MS}))
        self.assertEqual(self.session.events[-4:], ["settle 4", "free 1", "free 4", "free 2"])
        self.assertEqual(self.rows[4]["start_ns"], 10 * MS)

    def test_a_pause_delays_the_next_step(self):
        self.run_steps(step(1, ns=MS), step(2, "pause", ns=30 * MS), step(3, ns=MS))
        self.assertEqual(self.rows[3]["start_ns"], 31 * MS)

    def test_a_step_that_is_too_late_ends_at_once_without_a_row(self):
        late = {"after": 0, "ns": 2 * MS}
        sent = self.run_steps(step(1, ns=3 * MS), step(2, ns=MS, until=late), step(3, "pause", ns=MS, until=late),
                              step(4, ns=MS, group=2, until={"after": 3, "ns": 0}), step(5, ns=MS, group=2, until=late))
        self.assertEqual(sent, [1, 4])
        self.assertEqual(self.rows[4]["start_ns"], 3 * MS)

    def test_a_reconnect_may_take_time(self):
        self.session.reconnect_ns = 2 * MS
        self.run_steps(step(1, ns=MS), step(2, "reconnect", mode="cold"), step(3, ns=MS))
        self.assertEqual(self.rows[3]["start_ns"], 3 * MS)
        self.assertEqual(self.session.events[:4], ["start 1", "settle 1", "reconnect cold", "start 3"])

    def test_calls_are_cancelled_and_time_out(self):
        self.session.timeout_ns = 7 * MS
        for at_once in (False, True):
            self.session.gives_up_at_once = at_once
            begin_ns = self.clock.now_ns
            self.run_steps(step(1, ns=100 * MS, cancel_after_ns=3 * MS), step(2, ns=100 * MS), step(3, ns=MS))
            ends = [self.rows[number]["end_ns"] - begin_ns for number in (1, 2, 3)]
            self.assertEqual(ends, [3 * MS, 10 * MS, 11 * MS])
            self.assertEqual([self.rows[number].get("error") for number in (1, 2, 3)],
                             [{"kind": "cancelled"}, {"kind": "timeout"}, None])

    def test_a_run_does_not_wait_for_the_limits_of_ended_calls(self):
        self.session.timeout_ns = 1000 * MS
        self.run_steps(step(1, ns=MS, cancel_after_ns=500 * MS))
        self.assertEqual(self.clock.now_ns, MS)


class TaskCall:
    def __init__(self, step, events):
        self.step, self.events = step, events

    async def make(self):
        self.events.append(f"start {self.step['id']}")
        await asyncio.sleep(self.step["ns"] / 1e9)
        self.events.append(f"end {self.step['id']}")

    def row(self):
        self.events.append(f"row {self.step['id']}")
        return {"id": self.step["id"], "status": None}

    def free(self):
        pass


class TaskSession:
    def __init__(self):
        self.events = []

    def prepare(self, steps):
        return [TaskCall(step, self.events) if step["step"] == "call" else None for step in steps]

    def make(self, call):
        return call.make()

    async def reconnect(self):
        self.events.append("reconnect")


class TaskRuns(unittest.TestCase):
    @unittest.skipIf(sys.version_info < (3, 11), "asyncio.TaskGroup came with Python 3.11")
    def test_steps_and_rows_follow_the_same_rules(self):
        session, sent = TaskSession(), []
        steps = [step(1, ns=20 * MS, start=after(0)), step(2, ns=0, start=after(0)), step(3, "reconnect"),
                 step(4, ns=0, group=2), step(5, "pause", ns=0)]
        asyncio.run(tasks.Run(session, steps).follow(sent.append))
        self.assertEqual(session.events, [
            "start 1", "start 2", "end 2", "end 1", "row 2", "row 1", "reconnect", "start 4", "end 4", "row 4"])
        self.assertEqual(sent, [*({"type": "row", "id": number} for number in (2, 1, 4)), {"type": "done"}])


    @unittest.skipIf(sys.version_info < (3, 11), "asyncio.TaskGroup came with Python 3.11")
    def test_a_step_that_is_too_late_ends_at_once_without_a_row(self):
        session, sent = TaskSession(), []
        steps = [step(1, "pause", ns=2 * MS), step(2, ns=0, until={"after": 0, "ns": MS}), step(3, ns=0)]
        asyncio.run(tasks.Run(session, steps).follow(sent.append))
        self.assertEqual(session.events, ["start 3", "end 3", "row 3"])


class Driver:
    def __init__(self):
        self.session, self.closed = None, False

    def hello(self):
        return {"stack": "virtual", "capabilities": ["mtls"]}

    def open(self, setup):
        if setup["protocol"] != "h1":
            raise Unsupported(f"protocol {setup['protocol']}", "only h1 here")
        self.session = Session(Clock())
        return self.session

    def close(self):
        self.closed = True


class Conversations(unittest.TestCase):
    def setUp(self):
        self.driver = Driver()

    def answers(self, *requests):
        sent = []
        lines = [request if isinstance(request, bytes) else json.dumps(request) for request in requests]
        Conversation(self.driver, sent.append).follow(lines)
        return sent

    def test_unknown_words_are_unsupported(self):
        sing, quic, hello = self.answers({"type": "sing"}, {"type": "setup", "protocol": "h9"}, {"type": "hello"})
        self.assertEqual(sing, {"type": "unsupported", "what": "request sing",
                                "reason": "this driver does not know it"})
        self.assertEqual(quic, {"type": "unsupported", "what": "protocol h9", "reason": "only h1 here"})
        self.assertEqual(hello, {"type": "hello", "version": 2, "stack": "virtual",
                                 "capabilities": ["mtls", "until"]})

    def test_malformed_requests_fail(self):
        requests = b"not json", {"type": 7}, {}, {"type": "setup"}
        for answer in self.answers(*requests):
            self.assertEqual(answer["type"], "failed")
            self.assertRegex(answer["reason"], "^not a request: ")

    def test_a_run_needs_a_setup(self):
        run = {"type": "run", "steps": []}
        self.assertEqual(self.answers(run), [{"type": "failed", "reason": "run came before setup"}])
        self.assertEqual(self.answers({"type": "setup", "protocol": "h1"}, run),
                         [{"type": "ready"}, {"type": "done"}])

    def test_close_and_the_end_of_the_lines_close_everything(self):
        for last in ([{"type": "close"}, {"type": "hello"}], []):
            answers = self.answers({"type": "setup", "protocol": "h1"}, *last)
            self.assertEqual(answers, [{"type": "ready"}])
            self.assertTrue(self.driver.session.closed and self.driver.closed)

    def test_a_second_setup_closes_the_first_session(self):
        setup = {"type": "setup", "protocol": "h1"}
        conversation = Conversation(self.driver, lambda reply: None)
        conversation.answer(setup)
        first = self.driver.session
        conversation.answer(setup)
        self.assertTrue(first.closed)
        self.assertFalse(self.driver.session.closed)


class SeededBytes(unittest.TestCase):
    def test_they_are_splitmix64_from_seed_0(self):
        # The generator's first two outputs, little endian.
        words = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4)
        expected = b"".join(word.to_bytes(8, "little") for word in words)
        self.assertEqual(seeded(16), expected)
        self.assertEqual(seeded(11), expected[:11])
        self.assertEqual(seeded(0), b"")


if __name__ == "__main__":
    unittest.main()
