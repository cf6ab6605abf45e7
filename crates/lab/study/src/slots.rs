//! The steps that an arm makes before each call.

use super::{Access, Arm, Behaviour, Connections};

/// Which steps precede every call, in each arm of a study: where some arms reconnect or pause there,
/// the others do nothing, so that a call has the same id in all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) reconnect: bool,
    pub(crate) pause: bool,
}

impl Slots {
    /// Returns what the arms of a study need.
    pub(crate) fn of(arms: &[Arm]) -> Slots {
        let any = |needs: fn(&Behaviour) -> bool| arms.iter().any(|arm| needs(&arm.behaviour));
        Slots {
            reconnect: any(|b| b.connections == Connections::PerRequest),
            pause: any(|b| matches!(b.access, Access::Paused { .. })),
        }
    }

    /// Returns how many steps precede a call.
    pub(crate) fn count(self) -> usize {
        usize::from(self.reconnect) + usize::from(self.pause)
    }
}
