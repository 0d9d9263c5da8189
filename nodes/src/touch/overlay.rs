//! The on-screen keyboard on a display.

use std::path::PathBuf;

use arrayvec::ArrayVec;
use graph_core::{
    Build, BuildError, Cause, Ctx, Done, Flow, In, Kind, Nanos, NoSample, Node, NodeError, Ports, Sample,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    fusion::Pressed,
    keyboard::{Keyboard, KeyboardParams},
    picture::Picture,
    screen::{Screen, Shown},
};

/// Where `touch/overlay` draws, and what.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OverlayParams {
    /// The card whose first connected display shows the keyboard, such as `/dev/dri/card0`. Left out, it is drawn into memory
    /// that nobody sees: what drawing costs is measured all the same.
    pub card: Option<PathBuf>,
    /// Width and height in pixels where there is no card; a card has its own.
    pub size: (u32, u32),
    /// The keyboard, as `touch/fusion` has it: `top`, where it begins as a share of the height, and `rows`.
    pub keyboard: KeyboardParams,
}

impl Default for OverlayParams {
    fn default() -> Self {
        OverlayParams { card: None, size: (1920, 1080), keyboard: KeyboardParams::default() }
    }
}

/// Changes that one flip shows at most.
const TOGETHER: usize = 8;

/// Draws the keyboard into a dumb buffer, those keys that have changed, and flips to it.
///
/// It ends with the flip's completion. What comes while a flip is under way waits for it, and is then drawn together.
pub struct Overlay {
    picture: Picture,
    screen: Screen,
    is_flipping: bool,
    /// What the flip under way is due to.
    flipping: ArrayVec<Cause, TOGETHER>,
}

/// The ports of [`Overlay`].
pub struct OverlayPorts {
    pressed: In<Pressed>,
    done: Done,
}

impl Kind for Overlay {
    const KIND: &'static str = "touch/overlay";
    const ABOUT: &'static str = "The on-screen keyboard in a DRM dumb buffer, shown by a page flip.";
    type Params = OverlayParams;

    fn new(params: &OverlayParams, build: &mut Build<'_>) -> Result<Self, BuildError> {
        let keyboard = Keyboard::new(&params.keyboard)?;
        let mut screen = match (&params.card, params.size) {
            (Some(card), _) => Screen::open(card)?,
            (None, (width @ 1..=16_384, height @ 1..=16_384)) => Screen::memory(width, height),
            (None, (width, height)) => {
                return Err(BuildError::new(format!(
                    "a size of {width} x {height} is no screen: from 1 to 16384 pixels"
                )));
            }
        };
        if let Some(descriptor) = screen.descriptor() {
            build.watch(descriptor)?;
        }
        let picture = Picture::new(&keyboard, screen.width, screen.height);
        screen.prepare(&picture);
        Ok(Overlay { picture, screen, is_flipping: false, flipping: ArrayVec::new() })
    }

    fn sample(given: Option<OverlayParams>, sample: &mut Sample<'_>) -> Result<OverlayParams, NoSample> {
        let none = Pressed::default();
        sample.feed("in", none.with(30, true));
        sample.feed("in", none);
        Ok(OverlayParams { card: None, ..given.unwrap_or_default() })
    }
}

impl Overlay {
    fn show(&mut self, pressed: Pressed) -> Result<Shown, NodeError> {
        let cannot = |error| NodeError::new(format!("cannot flip to the keyboard: {error}"));
        let shown = self.screen.show(&self.picture, pressed).map_err(cannot)?;
        self.is_flipping = shown == Shown::Later;
        Ok(shown)
    }

    fn flipped(&mut self, done: &mut Done, ctx: &mut Ctx<'_>) {
        self.is_flipping = false;
        for cause in self.flipping.drain(..) {
            done.mark(ctx, cause, Nanos::ZERO);
        }
    }
}

impl Node for Overlay {
    type Ports = OverlayPorts;

    fn ports(ports: &mut Ports<'_>) -> OverlayPorts {
        OverlayPorts {
            pressed: ports.input("in", "Keys that are pressed, when that changes."),
            done: ports.done(),
        }
    }

    fn step(&mut self, ports: &mut OverlayPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.is_flipping && self.screen.has_flipped()? {
            self.flipped(&mut ports.done, ctx);
        }
        if self.is_flipping {
            return Ok(Flow::Busy);
        }
        let mut latest = None;
        while !self.flipping.is_full()
            && let Some(taken) = ports.pressed.take(ctx)
        {
            self.flipping.push(taken.cause);
            latest = Some(taken.payload);
        }
        let Some(pressed) = latest else { return Ok(Flow::Idle) };
        match self.show(pressed)? {
            Shown::Now => self.flipped(&mut ports.done, ctx),
            Shown::Later => return Ok(Flow::Busy),
        }
        Ok(Flow::Idle)
    }

    fn finish(&mut self, ports: &mut OverlayPorts, ctx: &mut Ctx<'_>) -> Result<Flow, NodeError> {
        if self.is_flipping && self.screen.has_flipped()? {
            self.flipped(&mut ports.done, ctx);
        }
        Ok(if self.is_flipping { Flow::Idle } else { Flow::Done })
    }
}

#[cfg(test)]
mod tests {
    use graph_core::testing;

    use super::*;

    #[test]
    fn every_change_is_done_when_it_is_shown() {
        let params = OverlayParams { size: (320, 200), ..OverlayParams::default() };
        let mut alone = testing::node::<Overlay>(params).unwrap();
        let pressed = Pressed::default().with(30, true);
        alone.feed("in", pressed);
        alone.feed("in", pressed.with(30, false));
        alone.end("in");
        assert_eq!(alone.done().counts().taken, 2);
        assert!(alone.has_ended() && alone.failures().is_empty());
    }

    #[test]
    fn a_screen_that_is_none_is_told_when_the_node_is_made() {
        let says = |params| testing::node::<Overlay>(params).err().unwrap().to_string();
        let error = says(OverlayParams { size: (0, 5), ..OverlayParams::default() });
        assert!(error.contains("0 x 5 is no screen"), "{error}");
        let error = says(OverlayParams { card: Some("/dev/dri/card99".into()), ..OverlayParams::default() });
        assert!(
            error.starts_with("cannot open /dev/dri/card99") && error.contains("leave `card` out"),
            "{error}"
        );
    }
}
