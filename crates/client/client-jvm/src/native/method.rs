//! What a native method is: it throws errors and panics as exceptions.

/// Defines a native method. An error or a panic is thrown as a `RuntimeException`.
macro_rules! native {
    ($(#[$doc:meta])* fn $name:ident($env:pat $(, $arg:ident: $type:ty)* $(,)?) $(-> $returned:ty)? $body:block) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub(crate) extern "system" fn $name<'a>(
            mut env: jni::EnvUnowned<'a>,
            _: jni::objects::JClass<'a>,
            $($arg: $type,)*
        ) $(-> $returned)? {
            let method = |$env: &mut jni::Env<'a>| -> $crate::native::method::Outcome<_> { $body };
            env.with_env(method).resolve::<jni::errors::ThrowRuntimeExAndDefault>()
        }
    };
}

pub(super) type Outcome<T> = Result<T, Failure>;

/// Becomes a `RuntimeException`.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Self(error.to_string())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "commute: {}", self.0)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_say_whose_they_are() {
        let failure = Failure("0 is not a port".to_owned());
        assert_eq!(failure.to_string(), "commute: 0 is not a port");
        let failure = Failure::from(jni::errors::Error::JavaException);
        let message = jni::errors::Error::JavaException.to_string();
        assert_eq!(failure.to_string(), format!("commute: {message}"));
    }
}
