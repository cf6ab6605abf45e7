//! Scripts from a seed, with what a correct client makes of them.

use crate::malformed::malformed;
use crate::message::Message;
use crate::rng::Rng;
use crate::script::{Field, Script, Split, Step};
use crate::{Protocol, truncated};

/// What a script amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truth {
    /// The response is whole.
    Complete,
    /// The response breaks off, before its head or in its body.
    Truncated,
    /// The response breaks a rule of HTTP.
    Malformed,
}

/// A request, the answers to it, and what a correct client makes of them.
#[derive(Clone, Debug)]
pub struct Case {
    /// The version of HTTP.
    pub protocol: Protocol,
    /// The seed.
    pub seed: u64,
    /// The method: GET, POST or HEAD.
    pub method: &'static str,
    /// The body of the request.
    pub request: Vec<u8>,
    /// What it is about.
    pub what: String,
    /// What the last answer is.
    pub truth: Truth,
    /// How many answers before the last one say that the server did nothing.
    pub refusals: usize,
    /// The status of the response.
    pub status: u16,
    /// The body of the response, or as much of it as may reach the app.
    pub body: Vec<u8>,
    /// The trailers of the response.
    pub trailers: Vec<Field>,
    /// Whether the connection ends or breaks with it, so that no other request may use it at the same time.
    pub is_alone: bool,
    answer: Script,
    refusal: Script,
}

impl Case {
    /// Makes a case for this version of HTTP. The same seed makes the same case.
    pub fn new(protocol: Protocol, seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let method = rng.pick(&["GET", "GET", "POST", "HEAD"]);
        let request = match method {
            "POST" => rng.pick(&[0, 1, 100, 30_000]),
            _ => 0,
        };
        let message = Message::new(protocol, method, rng);
        let mut case = Self {
            protocol,
            seed,
            method,
            request: rng.bytes(request),
            what: message.what.to_owned(),
            truth: Truth::Complete,
            refusals: 0,
            status: message.status,
            body: message.body.clone(),
            trailers: message.trailers.clone(),
            is_alone: message.until_close,
            answer: Script::default(),
            refusal: Script::default(),
        };
        let steps = match rng.below(10) {
            0..4 => message.steps,
            4 | 5 if protocol != Protocol::H1 => {
                case.refuse(rng);
                message.steps
            }
            4..6 => message.steps,
            6 | 7 => {
                let (steps, is_alone) = truncated::cut(protocol, &message, rng);
                (case.truth, case.is_alone) = (Truth::Truncated, is_alone);
                case.what = format!("{}, cut off", message.what);
                steps
            }
            _ => {
                let malformed = malformed(protocol, method, rng);
                (case.truth, case.is_alone) = (Truth::Malformed, malformed.is_alone);
                (case.what, case.body) = (malformed.what, malformed.body);
                malformed.steps
            }
        };
        let split = rng.pick(&[Split::Whole, Split::Steps, Split::Bytes(seed)]);
        case.answer = Script { steps, split };
        case
    }

    /// Returns the script for the request that comes as the `nth`, from 0.
    pub fn script(&self, nth: usize) -> Script {
        match nth < self.refusals {
            true => self.refusal.clone(),
            false => self.answer.clone(),
        }
    }

    /// Returns the fewest and the most times that a client may send the request.
    pub fn arrivals(&self) -> (usize, usize) {
        let least = self.refusals + 1;
        match self.truth {
            // A request without effects may be sent again twice if nothing of the response has been used.
            Truth::Truncated if self.method != "POST" => (least, least + 2),
            _ => (least, least),
        }
    }

    fn refuse(&mut self, rng: &mut Rng) {
        self.refusals = 1 + rng.below(2);
        let code = match self.protocol {
            // H3_REQUEST_REJECTED.
            Protocol::H3 => 0x10b,
            // REFUSED_STREAM.
            _ => 7,
        };
        let mut steps = vec![Step::Reset(code)];
        self.what.insert_str(0, "refused, then ");
        if rng.chance(30) {
            self.is_alone = true;
            self.what.insert_str(0, "GOAWAY: ");
            let (refuses, code) = (true, 0);
            steps.insert(0, Step::GoAway { refuses, code });
            if self.protocol == Protocol::H2 {
                // GOAWAY says it all.
                steps.truncate(1);
            }
        }
        self.refusal = Script::new(steps);
    }
}
