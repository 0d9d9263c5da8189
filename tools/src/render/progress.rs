//! One line of how the run stands.

use graph_core::report::Progress;

use super::look::{Look, plural};

/// `1:05  3 turns  smallest margin 1.7x (vad.text -> stt.text)  failing: tts.audio -> speaker.audio`, cut to the width.
pub fn progress(progress: &Progress, look: &Look) -> String {
    let seconds = progress.elapsed.0 / 1_000_000_000;
    let mut line = format!("{}:{:02}  {}", seconds / 60, seconds % 60, plural(progress.turns, "turn"));
    if !progress.failing.is_empty() {
        line += &format!("  failing: {}", progress.failing.join(", "));
    }
    if let Some((name, margin)) = &progress.worst {
        line += &format!("  smallest margin {margin} ({name})");
    }
    look.cut(&line.replace("->", look.glyphs().arrow), look.width)
}

#[cfg(test)]
mod tests {
    use graph_core::{Nanos, budget::Margin};

    use super::*;

    #[test]
    fn the_line_tells_time_turns_failures_and_the_smallest_margin() {
        let look = Look { width: 80, colour: false, unicode: true };
        let mut state =
            Progress { elapsed: Nanos::from_secs(65), turns: 1, worst: None, failing: Vec::new() };
        assert_eq!(progress(&state, &look), "1:05  1 turn");
        state.worst =
            Margin::of_time(Nanos(3), Nanos(5)).map(|margin| ("vad.text -> stt.text".to_owned(), margin));
        assert_eq!(progress(&state, &look), "1:05  1 turn  smallest margin 1.7x (vad.text → stt.text)");
        state.failing = vec!["tts.audio -> speaker.audio".to_owned()];
        let line = progress(&state, &look);
        assert!(line.starts_with("1:05  1 turn  failing: tts.audio → speaker.audio  smallest"), "{line}");
        assert!(progress(&state, &Look { width: 20, ..look }).ends_with('…'));
    }
}
