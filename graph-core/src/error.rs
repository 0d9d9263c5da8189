//! Errors of nodes.
//!
//! Both types take any error by `?`, and the runtime adds which node it was.

use std::{error::Error, fmt};

macro_rules! boxed_error {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name(Box<dyn Error + Send + Sync>);

        impl $name {
            /// An error that is only words: what is wrong, and what to do.
            pub fn new(message: impl Into<String>) -> $name {
                $name(message.into().into())
            }
        }

        // Not an `Error` itself, so that every error converts into it.
        impl<E: Error + Send + Sync + 'static> From<E> for $name {
            fn from(error: E) -> $name {
                $name(Box::new(error))
            }
        }

        /// The message and those of its sources, joined by colons.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)?;
                let mut last = self.0.to_string();
                let mut source = self.0.source();
                while let Some(error) = source {
                    let text = error.to_string();
                    if !last.ends_with(&text) {
                        write!(f, ": {text}")?;
                    }
                    last = text;
                    source = error.source();
                }
                Ok(())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

boxed_error! {
    /// Why a step of a node failed.
    NodeError
}

boxed_error! {
    /// Why a node could not be made: a file is missing, a port is taken, parameters contradict each other.
    BuildError
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the model")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn an_error_tells_its_causes_too() {
        let error = BuildError::from(Outer(std::io::Error::other("disk on fire")));
        assert_eq!(error.to_string(), "cannot read the model: disk on fire");
    }
}
