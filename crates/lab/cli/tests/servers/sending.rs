//! Figures that servers report of their sending.

use super::*;

/// Runs a download of 1 MB over TCP and QUIC from each server that there is. The down direction of the link has the
/// given settings. Returns the cells and whether there was a second server.
fn download_over(down: &str) -> (Vec<Cell>, bool) {
    let sandbox = sandbox();
    let go = add_go_server(&sandbox);
    let network = BASIC_NETWORK.replace("[up]", &format!("{down}\n[up]"));
    sandbox.write("troubled.toml", &network);
    let of = |server: &str| {
        ["hyper\"\nprotocol = \"h2", "quinn\"\nprotocol = \"h3"]
            .map(|arm| format!("[[arm]]\nstack = \"{arm}\"\n{server}\n"))
            .concat()
    };
    let mut study = STUDY.replace("basic.toml", "troubled.toml") + &of("");
    study = study.replace("hyper h1", "hyper h2");
    if go {
        study += &of("server = \"go\"");
    }
    study += "[[step]]\nget = \"file\"\nbytes = 1000000\n";
    sandbox.write("senders.toml", &study);
    let output = sandbox
        .run(&["run", "senders.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    let cells: Vec<Cell> = counted_cells(&data).into_iter().cloned().collect();
    for cell in &cells {
        assert!(
            cell.is_measured(),
            "{}: {:?}: {output}",
            cell.arm,
            cell.outcome
        );
        assert_eq!(cell.connections.len(), 1, "{}: {output}", cell.arm);
    }
    (cells, go)
}

/// Returns the packets with data that the link dropped of what the server sent.
fn dropped_data(connection: &ConnectionSettings) -> u64 {
    let data = |series: &&PacketSeries| series.full_size && !series.up;
    let dropped = |series: &PacketSeries| (series.lost.len() + series.dropped.len()) as u64;
    connection.packets.iter().filter(data).map(dropped).sum()
}

#[test]
fn servers_count_the_packets_that_the_link_lost() {
    let (cells, go) = download_over("loss_percent = 2");
    for cell in cells {
        let connection = &cell.connections[0];
        let sender = connection.sender.as_ref().unwrap();
        let (lost, dropped) = (sender.lost_packets.unwrap(), dropped_data(connection));
        let shown = format!("{}: {dropped} dropped, {sender:?}", cell.arm);
        // 2 % of some 700.
        assert!(dropped >= 5, "{shown}");
        // A lost probe of the path's MTU is no loss to QUIC, nor what was lost as the connection ended.
        assert!(lost + 2 >= dropped, "{shown}");
        assert!(sender.sent_packets.unwrap() > 650, "{shown}");
        assert!(sender.min_rtt_ns.unwrap() >= 20_000_000, "{shown}");
        if connection.transport == "quic" {
            // Without reordering, no packet is declared lost that arrives.
            assert!(
                connection.spurious_packets().unwrap() <= dropped / 5,
                "{shown}"
            );
            assert!(sender.congestion_events > Some(0), "{shown}");
        }
    }
    if !go {
        testing::skip("stacks/go is not installed");
    }
}

#[test]
fn servers_tell_what_reordering_did_to_them() {
    // Some 14 packets, each overtaken by those of 15 ms, i.e. by about twelve.
    let (cells, go) = download_over("[down.reorder]\npercent = 2\nextra_ms = 15");
    for cell in cells {
        let connection = &cell.connections[0];
        let sender = connection.sender.as_ref().unwrap();
        let shown = format!("{}: {sender:?}", cell.arm);
        match connection.transport.as_str() {
            "quic" => assert!(connection.spurious_packets() > Some(0), "{shown}"),
            // Linux tells the original from its retransmission, or learns of it by a DSACK.
            _ => assert!(
                sender.reorderings > Some(0) || sender.spurious_packets > Some(0),
                "{shown}"
            ),
        }
    }
    if !go {
        testing::skip("stacks/go is not installed");
    }
}
