//! Copies and validates the caller's structs.

use std::net::IpAddr;
use std::time::Duration;

use client::{Builder, Engine, Identity, Network, NetworkId, NetworkKind, Policy, Trust};
use http::Method;

use crate::abi::{
    cm_bytes, cm_config, cm_field, cm_flags, cm_network, cm_network_kind, cm_policy, cm_request,
    cm_status, cm_trust,
};
use crate::drive::{RequestArgs, Upload};

const CHECK_CHAIN: Duration = Duration::from_secs(10);

/// The reason why an argument is refused.
type Refusal = String;

/// Returns the builder of the engine, without its trust in the app, and how long that may take.
///
/// # Safety
///
/// The pointers in `config` are null or point to as much as their lengths say.
pub(crate) unsafe fn config(config: &cm_config) -> Result<(Builder, Duration), Refusal> {
    // SAFETY: as the caller promises, here and below.
    let read = |bytes: &cm_bytes| unsafe { slice(bytes.ptr, bytes.len) }.map(<[u8]>::to_vec);
    let mut builder = Engine::builder().policy(policy(config.policy)?);
    let roots = read(&config.roots_pem)?;
    if config.trust == cm_trust::CM_TRUST_ROOTS as u32 {
        builder = builder.trust(Trust::Roots(roots));
    } else if config.trust > cm_trust::CM_TRUST_APP as u32 {
        return Err(format!("trust {} is no cm_trust", config.trust));
    } else if !roots.is_empty() {
        return Err("roots_pem needs CM_TRUST_ROOTS".to_owned());
    }
    let (chain_pem, key_pem) = (
        read(&config.identity_chain_pem)?,
        read(&config.identity_key_pem)?,
    );
    if chain_pem.is_empty() != key_pem.is_empty() {
        return Err("an identity needs both a chain and a key".to_owned());
    }
    if !chain_pem.is_empty() {
        builder = builder.identity(Identity { chain_pem, key_pem });
    }
    let folder = text(read(&config.memory_folder)?, "memory_folder")?;
    if !folder.is_empty() {
        builder = builder.memory(folder);
    }
    // SAFETY: as the caller promises.
    for hint in unsafe { slice(config.h3_hints, config.h3_hint_count) }? {
        builder = builder.hint_h3(&text(read(hint)?, "a hint")?);
    }
    let mut addresses: Vec<(String, Vec<IpAddr>)> = Vec::new();
    // SAFETY: as the caller promises.
    for field in unsafe { slice(config.addresses, config.address_count) }? {
        let name = text(read(&field.name)?, "a host")?;
        let address = text(read(&field.value)?, "an address")?;
        let address = address
            .parse()
            .map_err(|_| format!("{address:?} is no IP address"))?;
        match addresses.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.push(address),
            None => addresses.push((name, vec![address])),
        }
    }
    for (name, addresses) in addresses {
        builder = builder.resolve(&name, addresses);
    }
    let builder = match config.early_data {
        0 | 1 => builder.early_data(config.early_data == 1),
        other => return Err(format!("early_data is 0 or 1, not {other}")),
    };
    let patience = match config.check_chain_ms {
        0 => CHECK_CHAIN,
        ms => Duration::from_millis(ms.into()),
    };
    Ok((builder, patience))
}

/// Copies a request.
///
/// # Safety
///
/// The pointers in `request` are null or point to as much as their lengths say.
pub(crate) unsafe fn request(request: &cm_request) -> Result<RequestArgs, Refusal> {
    // SAFETY: as the caller promises, here and below.
    let read = |bytes: &cm_bytes| unsafe { slice(bytes.ptr, bytes.len) }.map(<[u8]>::to_vec);
    let method = Method::from_bytes(&read(&request.method)?).map_err(|error| error.to_string())?;
    // SAFETY: as the caller promises.
    let fields = unsafe { slice(request.headers, request.header_count) }?;
    let field = |field: &cm_field| Ok((read(&field.name)?, read(&field.value)?));
    let headers = fields.iter().map(field).collect::<Result<_, Refusal>>()?;
    let body = read(&request.body)?;
    let known = [
        cm_flags::CM_STREAMED,
        cm_flags::CM_REPLAYABLE,
        cm_flags::CM_URGENT,
        cm_flags::CM_EARLY_DATA,
        cm_flags::CM_NO_EARLY_DATA,
        cm_flags::CM_NO_RESENDS,
    ];
    if request.flags & !known.iter().fold(0, |all, flag| all | *flag as u32) != 0 {
        return Err(format!("flags {:#x} are unknown", request.flags));
    }
    let has = |flag: cm_flags| request.flags & flag as u32 != 0;
    let body = match (has(cm_flags::CM_STREAMED), request.streamed_bytes) {
        (false, _) => Upload::Whole(body),
        (true, _) if !body.is_empty() => {
            return Err("a streamed body is not given at once".to_owned());
        }
        (true, -1) => Upload::Streamed(None),
        (true, bytes) => Upload::Streamed(Some(
            u64::try_from(bytes).map_err(|_| format!("{bytes} is no length"))?,
        )),
    };
    let early_data = match (
        has(cm_flags::CM_EARLY_DATA),
        has(cm_flags::CM_NO_EARLY_DATA),
    ) {
        (true, true) => return Err("early data is either allowed or not".to_owned()),
        (false, false) => None,
        (allowed, _) => Some(allowed),
    };
    let label = text(read(&request.label)?, "the label")?;
    Ok(RequestArgs {
        method,
        url: text(read(&request.url)?, "the URL")?,
        headers,
        body,
        expect_bytes: request.expect_bytes,
        label: (!label.is_empty()).then_some(label),
        replayable: has(cm_flags::CM_REPLAYABLE),
        urgent: has(cm_flags::CM_URGENT),
        early_data,
        resends: !has(cm_flags::CM_NO_RESENDS),
        limit_ms: request.limit_ms,
        connect_ms: request.connect_ms,
        first_byte_ms: request.first_byte_ms,
        idle_ms: request.idle_ms,
    })
}

/// Reads a network.
pub(crate) fn network(network: &cm_network) -> Result<Network, Refusal> {
    const ALL: [(cm_network_kind, NetworkKind); 4] = [
        (cm_network_kind::CM_NETWORK_OTHER, NetworkKind::Other),
        (cm_network_kind::CM_NETWORK_WIFI, NetworkKind::Wifi),
        (cm_network_kind::CM_NETWORK_CELLULAR, NetworkKind::Cellular),
        (cm_network_kind::CM_NETWORK_ETHERNET, NetworkKind::Ethernet),
    ];
    let found = ALL.iter().find(|(code, _)| *code as u32 == network.kind);
    let (_, kind) = found.ok_or_else(|| format!("kind {} is no cm_network_kind", network.kind))?;
    Ok(Network {
        id: NetworkId(network.id),
        kind: *kind,
        metered: network.metered != 0,
    })
}

/// Returns `len` items from `ptr` on.
///
/// # Safety
///
/// `ptr` is null or points to `len` items, which nobody writes meanwhile.
pub(crate) unsafe fn slice<'a, T>(ptr: *const T, len: usize) -> Result<&'a [T], Refusal> {
    if len == 0 {
        return Ok(&[]);
    }
    let bytes = len.checked_mul(size_of::<T>());
    if ptr.is_null() || !ptr.is_aligned() || bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(format!("{len} items at {ptr:?}"));
    }
    // SAFETY: neither null nor too long; the rest the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(ptr, len) })
}

/// Turns an outcome that is an error into its status.
pub(crate) fn argument<T>(read: Result<T, Refusal>) -> Result<T, cm_status> {
    read.map_err(|_| cm_status::CM_E_ARGUMENT)
}

fn policy(number: u32) -> Result<Policy, Refusal> {
    const ALL: [(cm_policy, Policy); 5] = [
        (cm_policy::CM_POLICY_ADAPTIVE, Policy::Adaptive),
        (cm_policy::CM_POLICY_RACE, Policy::Race),
        (cm_policy::CM_POLICY_H3, Policy::H3),
        (cm_policy::CM_POLICY_TCP, Policy::H2),
        (cm_policy::CM_POLICY_H1, Policy::H1),
    ];
    let found = ALL.iter().find(|(code, _)| *code as u32 == number);
    found
        .map(|(_, policy)| *policy)
        .ok_or_else(|| format!("policy {number} is no cm_policy"))
}

fn text(bytes: Vec<u8>, what: &str) -> Result<String, Refusal> {
    String::from_utf8(bytes).map_err(|_| format!("{what} is not UTF-8"))
}
