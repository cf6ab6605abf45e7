//! Shared secrets, by id.

use std::collections::BTreeMap;
use std::fmt;

use ring::hmac;

/// Shortest secret: shorter ones weaken the code (RFC 2104, section 3).
pub const MIN_SECRET_BYTES: usize = 32;

/// A secret that client and server share, and the id by which requests name it.
#[derive(Clone)]
pub struct Key {
    id: String,
    secret: hmac::Key,
}

impl Key {
    /// Returns none for a secret of less than [`MIN_SECRET_BYTES`], or an id that is empty or holds other
    /// than visible ASCII.
    pub fn new(id: &str, secret: &[u8]) -> Option<Key> {
        let named = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
        (named && secret.len() >= MIN_SECRET_BYTES).then(|| Key {
            id: id.to_owned(),
            secret: hmac::Key::new(hmac::HMAC_SHA256, secret),
        })
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.secret);
        parts.iter().for_each(|part| context.update(part));
        let mut mac = [0; 32];
        mac.copy_from_slice(context.sign().as_ref());
        mac
    }

    /// Reports whether `mac` is the code of `message`. Compares in constant time.
    pub(crate) fn verifies(&self, message: &[u8], mac: &[u8]) -> bool {
        hmac::verify(&self.secret, message, mac).is_ok()
    }
}

/// Without the secret.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The keys that a server accepts. To replace a key, add the new one, give it to the clients, and then
/// remove the old one.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    by_id: BTreeMap<String, Key>,
}

impl Keys {
    /// Adds a key, and returns the one with the same id that it replaces.
    pub fn add(&mut self, key: Key) -> Option<Key> {
        self.by_id.insert(key.id.clone(), key)
    }

    /// Removes the key with this id; requests signed with it are refused from now on.
    pub fn remove(&mut self, id: &str) -> Option<Key> {
        self.by_id.remove(id)
    }

    /// Returns the key with this id.
    pub fn get(&self, id: &str) -> Option<&Key> {
        self.by_id.get(id)
    }
}

impl<const N: usize> From<[Key; N]> for Keys {
    fn from(keys: [Key; N]) -> Keys {
        Keys {
            by_id: keys.into_iter().map(|key| (key.id.clone(), key)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_keys_are_refused_and_secrets_are_not_shown() {
        assert!(Key::new("a", &[1; 31]).is_none());
        assert!(Key::new("", &[1; 32]).is_none());
        assert!(Key::new("a b", &[1; 32]).is_none());
        let key = Key::new("a", &[0xab; 32]).unwrap();
        assert_eq!(format!("{key:?}"), r#"Key { id: "a", .. }"#);
    }
}
