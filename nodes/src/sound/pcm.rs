//! Samples as 16-bit integers and back.
//!
//! Full scale is 32768: an `s16` sample survives the way to `f32` and back unchanged, and +1.0, which has no `s16`,
//! becomes 32767. RTP's L16 is big-endian ([RFC 3551, section 4.5.11]); files and most devices are little-endian.
//!
//! [RFC 3551, section 4.5.11]: https://www.rfc-editor.org/rfc/rfc3551#section-4.5.11

/// Bytes of one 16-bit sample.
pub const BYTES: usize = 2;

/// Adding it to a number of at most 22 bits leaves the rounded number in the low bits of the sum: 1.5 * 2^23.
const ROUND: f32 = 12_582_912.0;

/// The nearest `s16`; ties go to the even one, what is out of range saturates, NaN is silence.
#[inline]
pub fn to_s16(sample: f32) -> i16 {
    let scaled = if sample.is_nan() { 0.0 } else { sample * 32_768.0 };
    (scaled.clamp(-32_768.0, 32_767.0) + ROUND).to_bits() as i16
}

/// The `f32` of an `s16`.
#[inline]
pub fn from_s16(sample: i16) -> f32 {
    f32::from(sample) / 32_768.0
}

/// Writes samples as little-endian `s16`.
///
/// # Panics
///
/// When `out` is not exactly [`BYTES`] a sample.
pub fn to_s16le(samples: &[f32], out: &mut [u8]) {
    encode(samples, out, i16::to_le_bytes);
}

/// Writes samples as big-endian `s16`: RTP's L16.
///
/// # Panics
///
/// When `out` is not exactly [`BYTES`] a sample.
pub fn to_s16be(samples: &[f32], out: &mut [u8]) {
    encode(samples, out, i16::to_be_bytes);
}

/// Reads little-endian `s16`; a last odd byte is left out.
pub fn from_s16le(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> + '_ {
    bytes.as_chunks().0.iter().map(|&pair| from_s16(i16::from_le_bytes(pair)))
}

/// Reads big-endian `s16`, RTP's L16; a last odd byte is left out.
pub fn from_s16be(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> + '_ {
    bytes.as_chunks().0.iter().map(|&pair| from_s16(i16::from_be_bytes(pair)))
}

#[inline]
fn encode(samples: &[f32], out: &mut [u8], bytes: fn(i16) -> [u8; BYTES]) {
    assert_eq!(out.len(), samples.len() * BYTES, "two bytes a sample");
    for (pair, &sample) in out.as_chunks_mut::<BYTES>().0.iter_mut().zip(samples) {
        *pair = bytes(to_s16(sample));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_s16_survives_the_way_to_f32_and_back() {
        for sample in i16::MIN..=i16::MAX {
            assert_eq!(to_s16(from_s16(sample)), sample);
        }
    }

    #[test]
    fn rounding_agrees_with_f64_between_the_steps() {
        for step in -400_000..400_000_i32 {
            let value = step as f32 / 390_000.0;
            let expected = (f64::from(value) * 32_768.0).round_ties_even().clamp(-32_768.0, 32_767.0) as i16;
            assert_eq!(to_s16(value), expected, "{value}");
        }
    }

    #[test]
    fn out_of_range_saturates_and_nan_is_silence() {
        assert_eq!(to_s16(1.0), i16::MAX);
        assert_eq!(to_s16(1.0e30), i16::MAX);
        assert_eq!(to_s16(f32::INFINITY), i16::MAX);
        assert_eq!(to_s16(-1.0e30), i16::MIN);
        assert_eq!(to_s16(f32::NEG_INFINITY), i16::MIN);
        assert_eq!(to_s16(f32::NAN), 0);
    }

    #[test]
    fn rtp_is_big_endian_and_files_are_little_endian() {
        let mut bytes = [0; 4];
        to_s16be(&[0.5, -1.0], &mut bytes);
        assert_eq!(bytes, [0x40, 0x00, 0x80, 0x00]);
        assert_eq!(from_s16be(&bytes).collect::<Vec<_>>(), [0.5, -1.0]);
        to_s16le(&[0.5, -1.0], &mut bytes);
        assert_eq!(bytes, [0x00, 0x40, 0x00, 0x80]);
        assert_eq!(from_s16le(&bytes).collect::<Vec<_>>(), [0.5, -1.0]);
    }

    #[test]
    fn an_odd_byte_at_the_end_is_left_out() {
        assert_eq!(from_s16le(&[0, 0x40, 7]).collect::<Vec<_>>(), [0.5]);
        assert_eq!(from_s16be(&[0x40]).count(), 0);
    }
}
