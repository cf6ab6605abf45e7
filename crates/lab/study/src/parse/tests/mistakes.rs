//! Each mistake with the words of its message.

use super::{refusal, with};

#[test]
fn mistakes_are_reported_with_their_line() {
    let cases = [
        ("blocks = 3", "blocks = 0", "no cells"),
        ("blocks = 3", "blocks = -3", "invalid value"),
        ("blocks = 3", "blcks = 3", "did you mean `blocks`?"),
        ("blocks = 3", "blocks = ", "must be quoted"),
        ("blocks = 3", "blocks = 3\ntimeout_s = 0", "timeout_s = 0"),
        (
            "blocks = 3",
            "blocks = 3\ntail_percent = 100",
            "above 50 and below 100",
        ),
        (
            "blocks = 3",
            "blocks = 3\ntail_percent = 95",
            "needs at least 20 warm requests of each group in a block; group `echo` has 1",
        ),
        (
            "blocks = 3",
            "blocks = 3\nmin_clean_percent = 150",
            "is out of range: 0 to 100",
        ),
        (
            "blocks = 3",
            "blocks = 3\nvary_percent = 51",
            "vary_percent = 51 is out of range: 0 to 50",
        ),
        (
            "networks = [\"lan\", \"true-metro\"]",
            "networks = []",
            "name at least one",
        ),
        (
            "networks = [\"lan\", \"true-metro\"]",
            "networks = [\"lan\", \"lan\"]",
            "names `lan` twice",
        ),
        (
            "blocks = 3",
            "blocks = 4294967295",
            "blocks is out of range: 1 to 100000",
        ),
        (
            "name = \"again\"",
            "name = \"\\u001b[31m\"",
            "none of them a control character",
        ),
        (
            "baseline = \"hyper h2\"",
            "baseline = \"hyper h3\"",
            "did you mean `hyper h2`?",
        ),
        ("name = \"small\"", "name = \"../x\"", "lower-case letters"),
        (
            "protocol = \"h3\"",
            "protocol = \"h3\"\nkey = \"rsa\"",
            "unknown variant `rsa`",
        ),
        (
            "protocol = \"h3\"",
            "protocol = \"h4\"",
            "unknown variant `h4`",
        ),
        (
            "protocol = \"h3\"",
            "protocol = \"h3\"\ncodec = \"protobuf\"",
            "no step is an exchange",
        ),
        (
            "protocol = \"h3\"",
            "protocol = \"h3\"\ncodec = \"asn1\"",
            "no codec is named `asn1`",
        ),
        (
            "call = \"echo\"",
            "exchange = \"page\"",
            "exchange needs `message`",
        ),
        (
            "call = \"echo\"",
            "exchange = \"page\"\nmessage = \"api-3kB\"",
            "no message is named `api-3kB`; known: small",
        ),
        (
            "call = \"echo\"",
            "exchange = \"page\"\nmessage = \"big-9..3\"",
            "from the smaller to the larger number",
        ),
        (
            "call = \"echo\"",
            "exchange = \"page\"\nmessage = \"big-1..10001\"",
            "no message is named `big-10001`",
        ),
        (
            "call = \"echo\"",
            "call = \"echo\"\nmessage = \"small\"",
            "`message` goes with exchange",
        ),
        (
            "protocol = \"h3\"",
            "protocol = \"grpc\"\ncodec = \"json\"",
            "gRPC always uses Protobuf",
        ),
        (
            "protocol = \"h3\"",
            "protocol = \"h3\"\ncongestion = \"vegas\"",
            "congestion: cubic, linux-cubic or bbr",
        ),
        (
            "protocol = \"h3\"",
            "protocol = \"h3\"\nserver = \"go\"\ncongestion = \"bbr\"",
            "the go server does not support `congestion` over HTTP/3",
        ),
        (
            "protocol = \"h3\"",
            "protocol = \"h3\"\npacket_threshold = 2",
            "packet_threshold: at least 3",
        ),
        (
            "name = \"again\"",
            "packet_threshold = 64",
            "`packet_threshold` and `time_threshold` are QUIC's",
        ),
        (
            "protocol = \"h3\"",
            "protocol = \"h3\"\ntime_threshold = 1.0",
            "time_threshold: above 1",
        ),
        (
            "name = \"again\"",
            "name = \"Hyper  H2\"",
            "another arm has this name",
        ),
        (
            "call = \"echo\"",
            "call = \"echo\"\nget = \"x\"",
            "call and get",
        ),
        ("call = \"echo\"", "body = \"{}\"", "this one has none"),
        (
            "call = \"echo\"",
            "call = \"echo\"\nbody = \"{\"",
            "body is not JSON",
        ),
        (
            "call = \"echo\"",
            "call = \"echo\"\nbytes = 3",
            "`bytes` goes with get or put",
        ),
        ("times = 2", "times = 0", "times = 0"),
        ("times = 2", "times = 4097", "times = 4097"),
        (
            "call = \"echo\"\ntimes = 2",
            "get = \"f\"",
            "get needs `bytes`",
        ),
        (
            "call = \"echo\"\ntimes = 2",
            "reconnect = \"cold\"",
            "makes a request",
        ),
        (
            "call = \"echo\"\ntimes = 2",
            "repeat = 2",
            "repeat needs `steps`",
        ),
        (
            "call = \"echo\"\ntimes = 2",
            "repeat = 4000\nsteps = [{ call = \"echo\", times = 4000 }]",
            "16000000 steps",
        ),
        (
            "call = \"echo\"\ntimes = 2",
            "parallel = true\nsteps = [{ pause_ms = 1 }]",
            "parallel takes call, get, put, exchange and submit only",
        ),
        (
            "call = \"echo\"\ntimes = 2",
            "parallel = true\nsteps = [{ repeat = 2, steps = [{ call = \"echo\", times = 2 }] }]",
            "and a repeat of these, each once, and of pause_ms",
        ),
        (
            "call = \"echo\"\ntimes = 2",
            "parallel = true\nsteps = [{ repeat = 2, steps = [{ reconnect = \"cold\" }] }]",
            "and a repeat of these, each once",
        ),
    ];
    for (line, instead, message) in cases {
        let (text, at) = with(line, instead);
        let got = refusal(&text);
        assert!(got.starts_with("s.toml:"), "{got}");
        let place: usize = got.split(':').nth(1).unwrap().parse().unwrap();
        assert!(place <= at + 3, "{got}: expected near line {at}");
        assert!(
            message.split('|').any(|m| got.contains(m)),
            "{instead:?} gives {got:?}, which should say {message:?}"
        );
    }
}
