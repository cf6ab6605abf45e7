//! The kinds of messages of the codec bench.

use crate::bench;

macro_rules! kinds {
    ($d:tt $($kind:ident),* $(,)?) => {
        /// A message type of the schema.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(
                #[doc = concat!("`commute.bench.v1.", stringify!($kind), "`.")]
                $kind,
            )*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Returns the name in the schema, in URLs and in the codec runner protocol.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)*
                }
            }

            /// Finds a kind by its name.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }

        /// A message of any kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message {
            $(
                #[doc = concat!("A message of [`Kind::", stringify!($kind), "`].")]
                $kind(bench::$kind),
            )*
        }

        impl Message {
            /// Returns the message's kind.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }
        }

        $(
            impl From<bench::$kind> for Message {
                fn from(message: bench::$kind) -> Self {
                    Self::$kind(message)
                }
            }
        )*

        /// Evaluates `$body` with the message inside a [`Message`] bound to `$name`.
        #[macro_export]
        macro_rules! with_message {
            ($d message:expr, $d name:ident => $d body:expr) => {
                match $d message {
                    $($d crate::Message::$kind($d name) => $d body,)*
                }
            };
        }

        /// Evaluates `$body` with the Rust type of a [`Kind`] as `$name`.
        #[macro_export]
        macro_rules! with_kind {
            ($d of:expr, $d name:ident => $d body:expr) => {
                match $d of {
                    $($d crate::Kind::$kind => {
                        type $d name = $d crate::bench::$kind;
                        $d body
                    })*
                }
            };
        }
    };
}

kinds!($
    Small,
    AddressBook,
    Newsfeed,
    Large,
    Diag,
    Big,
    PerlData,
    ApiPage,
    Echo,
);
