use record::server_log::ServerEvent;

/// Parses a line of the server's log.
pub fn server_log(data: &[u8]) {
    serde_json::from_slice::<ServerEvent>(data).ok();
}
