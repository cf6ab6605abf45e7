//! The client's moves to other addresses.

use super::Bench;
use crate::error::BenchError;
use crate::facts::Families;
use crate::protocol::{Reply, Request};

impl Bench {
    /// Returns the number of packets that the client has sent since the window began.
    pub fn sent_by_client(&mut self) -> Result<u64, BenchError> {
        match self.connection.request(&Request::SentByClient, &[])? {
            (Reply::SentByClient(packets), _) => Ok(packets),
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    /// Gives the client other addresses of these families, from which every socket sends that is not bound to one. The
    /// former addresses stay until [`Bench::leave_addresses`], and so does the route of a family without another
    /// address. The first 1,500 sockets opened from now on get ports that none from before the move has. The first
    /// addresses come back with [`Bench::set_network`], even if this fails.
    pub fn move_client(&mut self, families: Families) -> Result<(), BenchError> {
        let request = Request::MoveClient { families };
        self.connection.request(&request, &[]).map(drop)
    }

    /// Takes all former addresses from the client. The link drops what comes from them and what is sent to them. TCP
    /// sockets stay open unless `abort_tcp` closes those that are bound to such an address.
    pub fn leave_addresses(&mut self, abort_tcp: bool) -> Result<(), BenchError> {
        let request = Request::LeaveAddresses { abort_tcp };
        self.connection.request(&request, &[]).map(drop)
    }
}
