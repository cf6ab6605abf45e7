//! Offloads of an interface, by the ethtool ioctl. The feature names are those of `ethtool -k`.
//!
//! Written by hand because the `ethtool` crate (0.3) can read features but not set them, and is
//! async only.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::sys;

const COALESCING: [&str; 5] = [
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-lro",
    "rx-udp-gro-forwarding",
];
// linux/ethtool.h
const GFEATURES: u32 = 0x3a;
const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const SFEATURES: u32 = 0x3b;
const SS_FEATURES: u32 = 4;
const STRING_LEN: usize = 32;
/// Room for twice the features Linux 6.18 has (64).
const MAX_FEATURES: usize = 128;

/// Makes an endpoint's interface send packets as they would be on a wire: no frame with several
/// segments or datagrams. Checksums are left to the link, as to a network card. GRO is on for
/// receiving, which also gives the interface its NAPI instance.
pub(crate) fn configure_endpoint(interface: &str) -> io::Result<()> {
    set_features(interface, |name| match name {
        "rx-gro" => Some(true),
        "rx-gro-list" | "rx-udp-gro-forwarding" => Some(false),
        _ => segmentation(name),
    })
}

/// Lets an endpoint's interface send frames with several packets, as by default: a deliberate fault
/// that the audit must detect.
pub(crate) fn enable_segmentation(interface: &str) -> io::Result<()> {
    set_features(interface, |name| segmentation(name).map(|_| true))
}

/// Disables segmentation on one of the link's interfaces. The link sends single packets in any
/// case. But a veth that could segment hands them to its peer's backlog instead of the peer's NAPI.
/// The CPU time of receiving them would then be charged to the link
/// (`veth_skb_is_eligible_for_gro`).
pub(crate) fn disable_segmentation(interface: &str) -> io::Result<()> {
    set_features(interface, segmentation)
}

/// Returns `Some(false)` for every segmentation feature but that in software, which runs before the
/// interface and hands it single packets.
fn segmentation(name: &str) -> Option<bool> {
    match name {
        "tx-generic-segmentation" => None,
        "tx-gso-list" | "tx-gso-partial" => Some(false),
        _ => (name.starts_with("tx-") && name.ends_with("-segmentation")).then_some(false),
    }
}

/// Disables the offloads that coalesce received packets (GRO, LRO) on an interface until dropped.
pub(crate) struct GroDisabled {
    interface: String,
    /// The features to enable again.
    were_on: Vec<String>,
}

impl GroDisabled {
    pub(crate) fn new(interface: &str) -> io::Result<GroDisabled> {
        let were_on = active_features(interface)?
            .into_iter()
            .filter(|name| COALESCING.contains(&name.as_str()))
            .collect();
        set_features(interface, |name| {
            COALESCING.contains(&name).then_some(false)
        })?;
        Ok(GroDisabled {
            interface: interface.to_owned(),
            were_on,
        })
    }
}

impl Drop for GroDisabled {
    fn drop(&mut self) {
        let was_on = |name: &str| self.were_on.iter().any(|on| on == name).then_some(true);
        // Fails if the interface was unplugged: nothing is left to restore.
        let _restored = set_features(&self.interface, was_on);
    }
}

/// Returns the names of the features that are on.
fn active_features(interface: &str) -> io::Result<Vec<String>> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let names = feature_names(&socket, interface)?;
    let mut current = GetFeatures {
        cmd: GFEATURES,
        size: names.len().div_ceil(32) as u32,
        blocks: [GetBlock::default(); MAX_FEATURES / 32],
    };
    sys::device_request(
        socket.as_fd(),
        libc::SIOCETHTOOL as _,
        interface,
        &mut current,
    )?;
    let is_on = |i: usize| current.blocks[i / 32].active >> (i % 32) & 1 == 1;
    let on = names.into_iter().enumerate().filter(|(i, _)| is_on(*i));
    Ok(on.map(|(_, name)| name).collect())
}

/// Sets the features for which `wanted` returns a value, as far as the interface allows.
fn set_features(interface: &str, wanted: impl Fn(&str) -> Option<bool>) -> io::Result<()> {
    // The ioctl works on any socket of the namespace.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let names = feature_names(&socket, interface)?;
    let mut features = SetFeatures {
        cmd: SFEATURES,
        size: names.len().div_ceil(32) as u32,
        blocks: [SetBlock {
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

/// Returns every feature that this kernel knows, in bit order.
fn feature_names(socket: &UdpSocket, interface: &str) -> io::Result<Vec<String>> {
    let mut info = StringSetInfo {
        cmd: GSSET_INFO,
        reserved: 0,
        mask: 1 << SS_FEATURES,
        count: 0,
    };
    sys::device_request(socket.as_fd(), libc::SIOCETHTOOL as _, interface, &mut info)?;
    let count = info.count as usize;
    if count > MAX_FEATURES {
        return Err(io::Error::other(format!(
            "{interface} has {count} offload features, more than the {MAX_FEATURES} supported"
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

/// `struct ethtool_sset_info` for one set.
#[repr(C)]
struct StringSetInfo {
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
struct SetFeatures {
    cmd: u32,
    size: u32,
    blocks: [SetBlock; MAX_FEATURES / 32],
}

/// `struct ethtool_set_features_block`.
#[repr(C)]
#[derive(Clone, Copy)]
struct SetBlock {
    valid: u32,
    requested: u32,
}

/// `struct ethtool_gfeatures`.
#[repr(C)]
struct GetFeatures {
    cmd: u32,
    size: u32,
    blocks: [GetBlock; MAX_FEATURES / 32],
}

/// `struct ethtool_get_features_block`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct GetBlock {
    available: u32,
    requested: u32,
    active: u32,
    never_changed: u32,
}
