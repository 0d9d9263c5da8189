//! What a run shows on stderr while it goes on: what nodes tell, and one line of how the budgets stand.

use std::io::{self, Write};

use graph_core::{
    Nanos,
    check::Plan,
    report::Progress,
    run::{Event, Running},
};

use crate::{
    render::{self, Look},
    terminal,
};

/// Labels of what is told so often that it only belongs on the line that changes.
const PASSING: [&str; 1] = ["hearing"];
/// Where nobody watches, the state is told this often.
const PLAIN_EVERY: Nanos = Nanos::from_secs(10);

/// The live view of one run.
pub struct Live {
    look: Look,
    is_terminal: bool,
    /// What was heard so far of the utterance that is being spoken.
    passing: String,
    told: Nanos,
}

impl Live {
    /// On stderr, whatever that is.
    pub fn on_stderr() -> Live {
        let terminal = terminal::stderr();
        Live {
            look: look(&terminal),
            is_terminal: terminal.is_terminal,
            passing: String::new(),
            told: Nanos::ZERO,
        }
    }

    /// Shows what a node told.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Told { label, text, .. } if PASSING.contains(label) => self.passing.clone_from(text),
            Event::Told { node, turn, label, text } => {
                self.passing.clear();
                let turn = turn.map(|turn| format!("turn {turn}  ")).unwrap_or_default();
                self.line(&format!("{turn}{label} {text}  ({node})"));
            }
            Event::Failed(failure) => {
                let what = if failure.fatal { "failed" } else { "failed and goes on" };
                self.line(&format!("node {} {what}: {}", failure.node, failure.message));
            }
        }
    }

    /// Shows how the run stands.
    pub fn state(&mut self, plan: &Plan, running: &Running) {
        let elapsed = running.elapsed();
        if !self.is_terminal && elapsed.saturating_sub(self.told) < PLAIN_EVERY {
            return;
        }
        self.told = elapsed;
        let (turns, _) = running.turns();
        let progress = Progress::read(plan, running.edges(), running.paths(), elapsed, turns);
        let mut line = render::progress(&progress, &self.look);
        if !self.is_terminal {
            terminal::say(&format_args!("{line}\n"));
            return;
        }
        if !self.passing.is_empty() {
            line = self.look.cut(&format!("{}  {line}", self.passing), self.look.width);
        }
        let _ = write!(io::stderr(), "\r\x1b[K{line}");
    }

    /// Leaves the line free for others.
    pub fn end(&mut self) {
        if self.is_terminal {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn line(&mut self, text: &str) {
        self.end();
        terminal::say(&format_args!("{text}\n"));
    }
}

/// How text may look on a stream.
pub fn look(terminal: &terminal::Terminal) -> Look {
    Look {
        width: usize::from(terminal.width),
        colour: terminal.colour,
        unicode: render::is_utf8_locale(|name| std::env::var(name).ok()),
    }
}
