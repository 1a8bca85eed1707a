//! Keys whose value is one of a few words.

macro_rules! words {
    ($(#[$about:meta])* $type:ident { $($(#[$meaning:meta])* $word:literal => $variant:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::serde::Deserialize)]
        #[serde(try_from = "String")]
        pub enum $type {
            $($(#[$meaning])* $variant),+
        }

        impl $type {
            /// Every word.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Its word.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                match text.as_str() {
                    $($word => Ok(Self::$variant),)+
                    _ => {
                        let hint = sojourn_document::did_you_mean(&text, Self::WORDS);
                        Err(format!("\"{text}\" is unknown{hint}; allowed: {}", Self::WORDS.join(", ")))
                    }
                }
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(stringify!($type))
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "enum": Self::WORDS })
            }
        }
    };
}

pub(crate) use words;

words! {
    /// Where the XDP program runs.
    #[derive(Default)]
    Mode {
        /// In the driver where it can, else before the stack.
        #[default]
        "auto" => Auto,
        /// In the driver, or not at all.
        "native" => Native,
        /// Before the stack.
        "generic" => Generic,
    }
}

words! {
    /// Whether the driver works on the frame memory itself.
    #[derive(Default)]
    ZeroCopy {
        /// Where it can.
        #[default]
        "auto" => Auto,
        /// Never: the kernel copies.
        "off" => Off,
    }
}

words! {
    /// How the slots of a schedule are drawn.
    #[derive(Default)]
    Design {
        /// Each by itself.
        #[default]
        "random" => Random,
        /// Every scheme once in each block of slots.
        "blocks" => Blocks,
    }
}

words! {
    /// A direction by name.
    #[derive(Default)]
    DirectionName {
        /// From port A to port B.
        #[default]
        "a_to_b" => AToB,
        /// The return path.
        "b_to_a" => BToA,
    }
}

words! {
    /// What the packet thread does when nothing is to be done.
    #[derive(Default)]
    Idle {
        /// Sleeps until a frame arrives or something falls due.
        #[default]
        "wait" => Wait,
        /// Looks again at once.
        "spin" => Spin,
    }
}

words! {
    /// Form of the log lines.
    #[derive(Default)]
    Log {
        /// For people.
        #[default]
        "text" => Text,
        /// For programs.
        "json" => Json,
    }
}

words! {
    /// Severity of a log line.
    #[derive(Default)]
    Level {
        /// What stops the device.
        "error" => Error,
        /// What an operator should look at.
        "warn" => Warn,
        /// What was done.
        #[default]
        "info" => Info,
        /// Every request.
        "debug" => Debug,
    }
}

impl From<DirectionName> for crate::engine::Direction {
    fn from(name: DirectionName) -> Self {
        match name {
            DirectionName::AToB => Self::AToB,
            DirectionName::BToA => Self::BToA,
        }
    }
}
