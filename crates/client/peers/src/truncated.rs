//! Responses that break off.

use crate::message::Message;
use crate::rng::Rng;
use crate::script::{Close, Step};
use crate::{Protocol, h1};

/// Cuts a response off; returns whether its connection ends with it.
pub(crate) fn cut(protocol: Protocol, message: &Message, rng: &mut Rng) -> (Vec<Step>, bool) {
    if protocol == Protocol::H1 {
        return (cut_text(message, rng), true);
    }
    let lasting = |step: &Step| match step {
        Step::End | Step::Trailers(_) => false,
        Step::Head(_) | Step::Data(_) | Step::Frame { .. } | Step::Pause(_) => true,
        _ => false,
    };
    let whole = message
        .steps
        .iter()
        .take_while(|step| lasting(step))
        .count();
    let mut steps = message.steps[..rng.below(whole + 1)].to_vec();
    for step in &mut steps {
        match step {
            Step::Head(head) => head.ends = false,
            Step::Data(data) => data.ends = false,
            _ => {}
        }
    }
    let is_alone = rng.chance(30);
    if is_alone {
        if rng.chance(40) {
            let (refuses, code) = (false, 0);
            steps.push(Step::GoAway { refuses, code });
        }
        let how = rng.pick(&[Close::Notify, Close::Abrupt, Close::Reset]);
        steps.push(Step::Close(how));
    } else {
        steps.push(Step::Reset(match protocol {
            // NO_ERROR, INTERNAL_ERROR, CANCEL, ENHANCE_YOUR_CALM, and one that is not defined.
            Protocol::H2 => rng.pick(&[0, 0, 2, 8, 11, 99]),
            // H3_NO_ERROR, H3_INTERNAL_ERROR, H3_REQUEST_CANCELLED, and one that is not defined.
            _ => rng.pick(&[0x100, 0x100, 0x102, 0x10c, 0x9999]),
        }));
    }
    (steps, is_alone)
}

fn cut_text(message: &Message, rng: &mut Rng) -> Vec<Step> {
    let (mut bytes, mut chunked) = (Vec::new(), false);
    let mut head_end = 0;
    for step in &message.steps {
        bytes.extend(h1::encode(step, &mut chunked).unwrap_or_default());
        if matches!(step, Step::Head(_)) {
            head_end = bytes.len();
        }
    }
    // Without `close_notify`, a body that ends with its connection is cut off even if nothing is missing (RFC 9112
    // section 9.8).
    let how = match message.until_close {
        true => rng.pick(&[Close::Abrupt, Close::Reset]),
        false => rng.pick(&[Close::Notify, Close::Abrupt, Close::Reset]),
    };
    let most = if message.until_close {
        bytes.len() + 1
    } else {
        bytes.len()
    };
    // Half of the cuts fall into the body, if there is one.
    let kept = match rng.chance(50) && head_end < most {
        true => head_end + rng.below(most - head_end),
        false => rng.below(most),
    };
    bytes.truncate(kept);
    vec![Step::Raw(bytes), Step::Close(how)]
}
