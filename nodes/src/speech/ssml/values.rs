//! The values that SSML's attributes take (SSML 1.1, sections 3.2.2 to 3.2.4).

use std::time::Duration;

use crate::types::Prosody;

/// The longest silence that one break makes.
pub const LONGEST_BREAK: Duration = Duration::from_secs(10);

/// The pitch that a change in Hz starts from: that of a man who speaks calmly.
const VOICE_HZ: f32 = 115.0;

/// `rate`: a label, a percentage of the usual speed, a change in percent, or a plain factor (SSML 1.0).
pub(super) fn rate(value: &str, current: f32) -> Option<f32> {
    let rate = match value {
        "x-slow" => 0.5,
        "slow" => 0.8,
        "medium" | "default" => 1.0,
        "fast" => 1.25,
        "x-fast" => 1.6,
        _ => match value.strip_suffix('%') {
            Some(percent) if is_signed(percent) => current * (1.0 + number(percent)? / 100.0),
            Some(percent) => number(percent)? / 100.0,
            None => number(value)?,
        },
    };
    // Beyond these nobody understands a word, and zero would never end.
    (rate >= 0.0).then(|| rate.clamp(0.25, 4.0))
}

/// `volume`: a label, a change in dB, or a loudness from 0 to 100 (SSML 1.0).
pub(super) fn volume(value: &str, current_db: f32) -> Option<f32> {
    Some(match value {
        "silent" => f32::NEG_INFINITY,
        "x-soft" => -12.0,
        "soft" => -6.0,
        "medium" | "default" => 0.0,
        "loud" => 6.0,
        "x-loud" => 9.0,
        _ => match value.strip_suffix("dB") {
            Some(change) => (current_db + number(change)?).min(24.0),
            None if is_signed(value) => return None,
            None => 20.0 * (number(value)?.clamp(0.0, 100.0) / 100.0).log10(),
        },
    })
}

/// `pitch` in semitones: a label, Hz, or a change in semitones, percent or Hz.
pub(super) fn pitch(value: &str, current: f32) -> Option<f32> {
    let pitch = match value {
        "x-low" => -4.0,
        "low" => -2.0,
        "medium" | "default" => 0.0,
        "high" => 2.0,
        "x-high" => 4.0,
        _ => {
            let octaves = |factor: f32| (factor > 0.0).then(|| 12.0 * factor.log2());
            if let Some(change) = value.strip_suffix("st") {
                current + number(change)?
            } else if let Some(change) = value.strip_suffix('%') {
                current + octaves(1.0 + number(change)? / 100.0)?
            } else {
                let hz = value.strip_suffix("Hz")?;
                match is_signed(hz) {
                    true => current + octaves(1.0 + number(hz)? / VOICE_HZ)?,
                    false => octaves(number(hz)? / VOICE_HZ)?,
                }
            }
        }
    };
    Some(pitch.clamp(-24.0, 24.0))
}

/// `level` of emphasis: this voice has no other means than speed and loudness.
pub(super) fn emphasis(level: &str, mut prosody: Prosody) -> Option<Prosody> {
    let (rate, volume_db) = match level {
        "strong" => (0.8, 4.0),
        "moderate" => (0.9, 2.0),
        "none" => (1.0, 0.0),
        "reduced" => (1.1, -2.0),
        _ => return None,
    };
    prosody.rate *= rate;
    prosody.volume_db += volume_db;
    Some(prosody)
}

/// `strength` of a break.
pub(super) fn strength(value: &str) -> Option<Duration> {
    Some(Duration::from_millis(match value {
        "none" => 0,
        "x-weak" => 100,
        "weak" => 200,
        "medium" => 400,
        "strong" => 700,
        "x-strong" => 1_000,
        _ => return None,
    }))
}

/// A time such as `250ms` or `1.5s`, at most [`LONGEST_BREAK`].
pub(super) fn time(value: &str) -> Option<Duration> {
    let (figure, unit) = match value.strip_suffix("ms") {
        Some(figure) => (figure, 0.001),
        None => (value.strip_suffix('s')?, 1.0),
    };
    let seconds = number(figure)? * unit;
    (seconds >= 0.0).then(|| Duration::from_secs_f32(seconds.min(LONGEST_BREAK.as_secs_f32())))
}

fn is_signed(value: &str) -> bool {
    value.starts_with(['+', '-'])
}

/// A finite decimal number: no exponent, no "inf".
fn number(value: &str) -> Option<f32> {
    let plain = value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-'));
    value.parse().ok().filter(|number: &f32| plain && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        for (value, expected) in [
            ("slow", Some(0.8)),
            ("150%", Some(1.5)),
            ("+50%", Some(3.0)),
            ("-50%", Some(1.0)),
            ("1.2", Some(1.2)),
            ("0%", Some(0.25)),
            ("9999%", Some(4.0)),
            ("quick", None),
            ("-200%", None),
            ("inf", None),
            ("1e3", None),
            ("", None),
        ] {
            assert_eq!(rate(value, 2.0), expected, "{value}");
        }
    }

    #[test]
    fn volumes() {
        for (value, expected) in [
            ("silent", Some(f32::NEG_INFINITY)),
            ("loud", Some(6.0)),
            ("+2dB", Some(5.0)),
            ("-6.5dB", Some(-3.5)),
            ("100", Some(0.0)),
            ("10", Some(-20.0)),
            ("0", Some(f32::NEG_INFINITY)),
            ("+10", None),
            ("noisy", None),
        ] {
            assert_eq!(volume(value, 3.0), expected, "{value}");
        }
    }

    #[test]
    fn pitches() {
        for (value, expected) in [
            ("high", Some(2.0)),
            ("+2st", Some(3.0)),
            ("-2st", Some(-1.0)),
            ("+100%", Some(13.0)),
            ("-50%", Some(-11.0)),
            ("115Hz", Some(0.0)),
            ("+115Hz", Some(13.0)),
            ("-100%", None),
            ("shrill", None),
        ] {
            assert_eq!(pitch(value, 1.0), expected, "{value}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(time("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(time("1.5s"), Some(Duration::from_millis(1_500)));
        assert_eq!(time("99999s"), Some(LONGEST_BREAK));
        assert_eq!(time("-1s").or(time("1")).or(time("s")).or(time("1 m")), None);
    }
}
