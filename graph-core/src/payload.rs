//! What may cross an edge.

/// A value that packets carry.
///
/// A large payload holds its bytes behind an `Arc`, so that moving it costs the same whatever its size.
pub trait Payload: Sized + Send + 'static {
    /// The name of the type in graph files' errors and in the node reference, such as `audio`.
    const TYPE: &'static str;

    /// How a fan-out gives one packet to several receivers; `None` where the payload can only move.
    ///
    /// An output port with two edges is refused at load when its payload cannot be shared.
    const SHARE: Option<fn(&Self) -> Self> = None;
}

/// Names a `Clone` type as a payload that a fan-out may share.
///
/// ```
/// #[derive(Clone)]
/// struct Level(f32);
/// graph_core::payload!(Level, "level");
/// ```
#[macro_export]
macro_rules! payload {
    ($type:ty, $name:literal) => {
        impl $crate::Payload for $type {
            const TYPE: &'static str = $name;
            const SHARE: Option<fn(&Self) -> Self> = Some(<$type as Clone>::clone);
        }
    };
}
