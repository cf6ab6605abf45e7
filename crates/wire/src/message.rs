//! The messages of the codec bench, whatever their kind.

use crate::bench;

macro_rules! kinds {
    ($d:tt $($kind:ident),* $(,)?) => {
        /// A kind of message, named as in the schema.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(
                #[doc = concat!("`commute.bench.v1.", stringify!($kind), "`.")]
                $kind,
            )*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Its name in the schema, on the wire and in value files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)*
                }
            }

            /// The kind of this name.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }

        /// One message.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message {
            $(
                #[doc = concat!("Of kind [`Kind::", stringify!($kind), "`].")]
                $kind(bench::$kind),
            )*
        }

        impl Message {
            /// Its kind.
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

        /// Gives `$body` the message inside a [`Message`], under the name `$name`.
        #[macro_export]
        macro_rules! with_message {
            ($d message:expr, $d name:ident => $d body:expr) => {
                match $d message {
                    $($d crate::Message::$kind($d name) => $d body,)*
                }
            };
        }

        /// Gives `$body` the type of a [`Kind`], under the name `$name`.
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
