//! The stages that ship with graphrun: one folder a domain, one file a node.
//!
//! A domain is a cargo feature of the same name. Domains do not import each other; what two of them share is a
//! payload in [`types`].

#[cfg(feature = "sound")]
pub mod sound;
pub mod types;

#[cfg(feature = "audio")]
pub mod audio;
#[cfg(feature = "net")]
pub mod net;
#[cfg(feature = "speech")]
pub mod speech;
