//! Offloads of an interface, by the ethtool ioctl (the feature names are those `ethtool -k`
//! prints).

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::sys;

/// Makes an endpoint's interface send every packet as it would be on a wire: no frame that
/// holds several segments or datagrams. Checksums stay with the link, as with a network card,
/// and receiving aggregates, which also gives the interface its NAPI instance.
pub(crate) fn make_wire_true(interface: &str) -> io::Result<()> {
    set_features(interface, |name| match name {
        "rx-gro" => Some(true),
        "rx-gro-list" | "rx-udp-gro-forwarding" => Some(false),
        _ => segmentation(name),
    })
}

/// Lets an endpoint's interface send frames that hold several packets, as it would if nobody
/// had thought of it: to show that such a lab is found out.
pub(crate) fn leave_segmentation(interface: &str) -> io::Result<()> {
    set_features(interface, |name| segmentation(name).map(|_| true))
}

/// Takes segmentation from the link's own interface. It sends single packets in any case, but
/// a veth that could segment hands its packets to the peer's backlog instead of its NAPI, and
/// an endpoint's receiving would be charged to the link (`veth_skb_is_eligible_for_gro`).
pub(crate) fn make_sender_plain(interface: &str) -> io::Result<()> {
    set_features(interface, segmentation)
}

/// Off, but for that in software before the interface, behind which all is wire-size.
fn segmentation(name: &str) -> Option<bool> {
    match name {
        "tx-generic-segmentation" => None,
        "tx-gso-list" | "tx-gso-partial" => Some(false),
        _ => (name.starts_with("tx-") && name.ends_with("-segmentation")).then_some(false),
    }
}

/// Offloads that join received packets, switched off on an interface until this is dropped.
pub(crate) struct GroDisabled {
    interface: String,
    /// What was on.
    was_on: Vec<String>,
}

impl GroDisabled {
    /// Has an interface hand up every packet by itself.
    pub(crate) fn switch(interface: &str) -> io::Result<GroDisabled> {
        let was_on = active_features(interface)?
            .into_iter()
            .filter(|name| JOINING.contains(&name.as_str()))
            .collect();
        set_features(interface, |name| JOINING.contains(&name).then_some(false))?;
        Ok(GroDisabled {
            interface: interface.to_owned(),
            was_on,
        })
    }
}

impl Drop for GroDisabled {
    fn drop(&mut self) {
        let was_on = |name: &str| self.was_on.iter().any(|on| on == name).then_some(true);
        // An interface that was pulled out needs nothing back.
        let _restored = set_features(&self.interface, was_on);
    }
}

const JOINING: [&str; 5] = [
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-lro",
    "rx-udp-gro-forwarding",
];

/// Names of the features that are on.
fn active_features(interface: &str) -> io::Result<Vec<String>> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let names = feature_names(&socket, interface)?;
    let mut got = GotFeatures {
        cmd: GFEATURES,
        size: names.len().div_ceil(32) as u32,
        blocks: [GotBlock::default(); MAX_FEATURES / 32],
    };
    sys::device_request(socket.as_fd(), libc::SIOCETHTOOL as _, interface, &mut got)?;
    let is_on = |i: usize| got.blocks[i / 32].active >> (i % 32) & 1 == 1;
    let on = names.into_iter().enumerate().filter(|(i, _)| is_on(*i));
    Ok(on.map(|(_, name)| name).collect())
}

/// Sets the features for which `wanted` has a word, as far as the interface allows.
fn set_features(interface: &str, wanted: impl Fn(&str) -> Option<bool>) -> io::Result<()> {
    // Any socket of the namespace carries the ioctl.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let names = feature_names(&socket, interface)?;
    let mut features = Features {
        cmd: SFEATURES,
        size: names.len().div_ceil(32) as u32,
        blocks: [Block {
            valid: 0,
            requested: 0,
        }; MAX_FEATURES / 32],
    };
    for (i, name) in names.iter().enumerate() {
        if let Some(on) = wanted(name) {
            features.blocks[i / 32].valid |= 1 << (i % 32);
            features.blocks[i / 32].requested |= u32::from(on) << (i % 32);
        }
    }
    sys::device_request(
        socket.as_fd(),
        libc::SIOCETHTOOL as _,
        interface,
        &mut features,
    )
}

/// Every feature this kernel knows, in the order of their bits.
fn feature_names(socket: &UdpSocket, interface: &str) -> io::Result<Vec<String>> {
    let mut info = SetInfo {
        cmd: GSSET_INFO,
        reserved: 0,
        mask: 1 << SS_FEATURES,
        count: 0,
    };
    sys::device_request(socket.as_fd(), libc::SIOCETHTOOL as _, interface, &mut info)?;
    let count = info.count as usize;
    if count > MAX_FEATURES {
        return Err(io::Error::other(format!(
            "{interface} has {count} features, too many"
        )));
    }

    let mut names = Strings {
        cmd: GSTRINGS,
        set: SS_FEATURES,
        len: info.count,
        text: [[0; STRING_LEN]; MAX_FEATURES],
    };
    sys::device_request(
        socket.as_fd(),
        libc::SIOCETHTOOL as _,
        interface,
        &mut names,
    )?;

    let text = |name: &[u8; STRING_LEN]| {
        let end = name.iter().position(|&b| b == 0).unwrap_or(STRING_LEN);
        String::from_utf8_lossy(&name[..end]).into_owned()
    };
    Ok(names.text.iter().take(count).map(text).collect())
}

/// `struct ethtool_sset_info` asking for one set.
#[repr(C)]
struct SetInfo {
    cmd: u32,
    reserved: u32,
    mask: u64,
    count: u32,
}

/// `struct ethtool_gstrings`.
#[repr(C)]
struct Strings {
    cmd: u32,
    set: u32,
    len: u32,
    text: [[u8; STRING_LEN]; MAX_FEATURES],
}

/// `struct ethtool_sfeatures`.
#[repr(C)]
struct Features {
    cmd: u32,
    size: u32,
    blocks: [Block; MAX_FEATURES / 32],
}

/// `struct ethtool_set_features_block`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Block {
    valid: u32,
    requested: u32,
}

/// `struct ethtool_gfeatures`.
#[repr(C)]
struct GotFeatures {
    cmd: u32,
    size: u32,
    blocks: [GotBlock; MAX_FEATURES / 32],
}

/// `struct ethtool_get_features_block`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct GotBlock {
    available: u32,
    requested: u32,
    active: u32,
    never_changed: u32,
}

// linux/ethtool.h
const GFEATURES: u32 = 0x3a;
const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const SFEATURES: u32 = 0x3b;
const SS_FEATURES: u32 = 4;
const STRING_LEN: usize = 32;
/// Room for twice the features Linux 6.18 has (64).
const MAX_FEATURES: usize = 128;
