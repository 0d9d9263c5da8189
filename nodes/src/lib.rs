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
#[cfg(feature = "spatial")]
pub mod spatial;
#[cfg(feature = "speech")]
pub mod speech;
#[cfg(feature = "touch")]
pub mod touch;

/// All kinds of this build; of the domains that it lacks, it knows that they exist.
pub fn registry() -> graph_core::Registry {
    let mut registry = graph_core::Registry::new();
    #[cfg(feature = "audio")]
    audio::register(&mut registry);
    #[cfg(not(feature = "audio"))]
    registry.absent("audio");
    #[cfg(feature = "net")]
    net::register(&mut registry);
    #[cfg(not(feature = "net"))]
    registry.absent("net");
    #[cfg(feature = "spatial")]
    spatial::register(&mut registry);
    #[cfg(not(feature = "spatial"))]
    registry.absent("spatial");
    #[cfg(feature = "speech")]
    speech::register(&mut registry);
    #[cfg(not(feature = "speech"))]
    registry.absent("speech");
    #[cfg(feature = "touch")]
    touch::register(&mut registry);
    #[cfg(not(feature = "touch"))]
    registry.absent("touch");
    registry
}
