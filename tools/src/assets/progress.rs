//! Shows a pull on stderr: a bar on a terminal, plain lines elsewhere.

use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Event;
use crate::terminal;

/// Shows the events of a pull.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
}

impl Progress {
    /// A bar where stderr is a terminal, else plain lines.
    pub fn on_stderr() -> Self {
        let plain = !terminal::stderr().is_terminal;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if !plain {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Self { bar, plain }
    }

    /// Shows one event.
    pub fn show(&mut self, event: Event<'_>) {
        if let Some(line) = line(&event) {
            if self.plain {
                terminal::say(&format_args!("{line}\n"));
            } else if !matches!(event, Event::Started { .. }) {
                self.bar.println(line);
            }
        }
        match event {
            Event::Started { name, version, bytes } => {
                self.bar.reset();
                self.bar.set_style(if bytes > 0 { fetching() } else { making() });
                self.bar.set_length(bytes);
                self.bar.set_message(format!("{name} {version}"));
            }
            // A client moves the finished file into place by copying: for a moment it is there twice.
            Event::Arrived(bytes) => self.bar.set_position(bytes.min(self.bar.length().unwrap_or(bytes))),
            Event::Unpacking => self.bar.set_position(self.bar.length().unwrap_or_default()),
            Event::Waiting | Event::Ready(_) => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn line(event: &Event<'_>) -> Option<String> {
    match event {
        Event::Waiting => Some("assets: waiting for another pull to end".into()),
        Event::Started { name, version, bytes: 0 } => Some(format!("assets: making {name} from {version}")),
        Event::Started { name, version, bytes } => {
            Some(format!("assets: fetching {name} {version}, {}", DecimalBytes(*bytes)))
        }
        Event::Arrived(_) | Event::Unpacking => None,
        Event::Ready(name) => Some(format!("assets: {name} is ready")),
    }
}

fn fetching() -> ProgressStyle {
    style("{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {elapsed}")
}

fn making() -> ProgressStyle {
    style("{spinner} making {msg} {elapsed}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates above are well-formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_line_says_what_is_fetched_and_how_much_it_is() {
        let started = Event::Started { name: "silero-vad", version: "6.2.3", bytes: 11_317_527 };
        assert_eq!(line(&started).unwrap(), "assets: fetching silero-vad 6.2.3, 11.32 MB");
        let made = Event::Started { name: "speech/piper-split", version: "piper-joe", bytes: 0 };
        assert_eq!(line(&made).unwrap(), "assets: making speech/piper-split from piper-joe");
        assert_eq!(line(&Event::Arrived(7)), None);
    }
}
