//! Files, formats and rates of sound: what the domains `audio` and `net` are both built on.
//!
//! Nothing here is a node. Sound is mono `f32`, full scale is -1.0 to 1.0.

pub mod file;
pub mod pcm;
pub mod playlist;
pub mod resample;
pub(crate) mod sample;
