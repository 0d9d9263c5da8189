//! Where the overlay is shown: a display by DRM, or memory that nobody sees.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
    path::Path,
};

use drm::{
    Device,
    buffer::{Buffer, DrmFourcc},
    control::{
        Device as ControlDevice, Event, PageFlipFlags, connector, crtc, dumbbuffer::DumbMapping, framebuffer,
    },
};
use graph_core::BuildError;

use super::{
    fusion::Pressed,
    picture::{Canvas, Picture},
};

/// A display with two buffers, of which one is shown.
pub(crate) struct Screen {
    output: Output,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// What each buffer shows; `None` while nothing is drawn.
    shown: [Option<Pressed>; 2],
    /// The one that is shown.
    front: usize,
}

enum Output {
    Memory { pixels: [Vec<u8>; 2] },
    Card { card: Card, crtc: crtc::Handle, buffers: [CardBuffer; 2] },
}

/// A device of `/dev/dri`.
struct Card(File);

impl AsFd for Card {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Device for Card {}
impl ControlDevice for Card {}

struct CardBuffer {
    framebuffer: framebuffer::Handle,
    pixels: DumbMapping<'static>,
    pitch: usize,
}

/// Whether what was drawn is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It is.
    Now,
    /// It will be when the display says so.
    Later,
}

impl Screen {
    /// Memory of that many pixels.
    pub(crate) fn memory(width: u32, height: u32) -> Screen {
        let buffer = || vec![0; width as usize * height as usize * 4];
        let output = Output::Memory { pixels: [buffer(), buffer()] };
        Screen { output, width, height, shown: [None; 2], front: 0 }
    }

    /// The first connected display of a card, in the mode that it likes best.
    pub(crate) fn open(path: &Path) -> Result<Screen, BuildError> {
        let told = |doing: &str, error: io::Error| {
            let cure = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    ": only one program at a time may set a display, so stop the compositor or run this on another card; the \
                     file is for root and the group `video`"
                }
                io::ErrorKind::NotFound => {
                    ": `ls /dev/dri` lists the cards there are; without one, leave `card` out"
                }
                _ => "",
            };
            BuildError::new(format!("cannot {doing} {}: {error}{cure}", path.display()))
        };
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(path);
        let card = Card(file.map_err(|error| told("open", error))?);
        let resources = card.resource_handles().map_err(|error| told("ask for the displays of", error))?;
        let connectors =
            resources.connectors().iter().filter_map(|handle| card.get_connector(*handle, true).ok());
        let is_connected = |display: &connector::Info| {
            display.state() == connector::State::Connected && !display.modes().is_empty()
        };
        let display = connectors.into_iter().find(is_connected);
        let display = display
            .ok_or_else(|| BuildError::new(format!("no display is connected to {}", path.display())))?;
        let crtc = crtc_for(&card, &resources, &display)
            .ok_or_else(|| BuildError::new(format!("{} has no free CRTC for its display", path.display())))?;
        let mode = display.modes()[0];
        let (width, height) = (u32::from(mode.size().0), u32::from(mode.size().1));
        let buffer = || {
            let buffer = card.create_dumb_buffer((width, height), DrmFourcc::Xrgb8888, 32)?;
            let framebuffer = card.add_framebuffer(&buffer, 24, 32)?;
            let pitch = buffer.pitch() as usize;
            // The mapping lives as long as the node; closing the card frees what it maps.
            let mut pixels = card.map_dumb_buffer(Box::leak(Box::new(buffer)))?;
            pixels.fill(0);
            Ok(CardBuffer { framebuffer, pixels, pitch })
        };
        let made =
            |buffer: io::Result<CardBuffer>| buffer.map_err(|error| told("make a dumb buffer of", error));
        let buffers = [made(buffer())?, made(buffer())?];
        card.set_crtc(crtc, Some(buffers[0].framebuffer), (0, 0), &[display.handle()], Some(mode))
            .map_err(|error| told("set the mode of", error))?;
        Ok(Screen { output: Output::Card { card, crtc, buffers }, width, height, shown: [None; 2], front: 0 })
    }

    /// What tells that a flip is complete.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.output {
            Output::Memory { .. } => None,
            Output::Card { card, .. } => Some(card.as_fd()),
        }
    }

    /// Draws everything on both buffers, so that from then on only changes are drawn.
    pub(crate) fn prepare(&mut self, picture: &Picture) {
        for buffer in 0..2 {
            self.draw(buffer, picture, Pressed::default());
        }
        if let Output::Card { card, buffers, .. } = &self.output {
            // Some drivers copy a buffer when they are told that it has changed; the others know no such request.
            let _ = card.dirty_framebuffer(buffers[self.front].framebuffer, &[]);
        }
    }

    /// Draws on the buffer that is not shown, and asks for it to be shown.
    pub(crate) fn show(&mut self, picture: &Picture, now: Pressed) -> io::Result<Shown> {
        let back = 1 - self.front;
        self.draw(back, picture, now);
        self.front = back;
        let Output::Card { card, crtc, buffers } = &self.output else { return Ok(Shown::Now) };
        card.page_flip(*crtc, buffers[back].framebuffer, PageFlipFlags::EVENT, None)?;
        Ok(Shown::Later)
    }

    fn draw(&mut self, buffer: usize, picture: &Picture, now: Pressed) {
        let (width, height) = (self.width, self.height);
        let (pixels, pitch): (&mut [u8], usize) = match &mut self.output {
            Output::Memory { pixels } => (&mut pixels[buffer], width as usize * 4),
            Output::Card { buffers, .. } => {
                let CardBuffer { pixels, pitch, .. } = &mut buffers[buffer];
                (pixels, *pitch)
            }
        };
        let before = self.shown[buffer].replace(now);
        picture.draw(&mut Canvas { pixels, pitch, width, height }, before, now);
    }

    /// Whether a flip has been completed since this was last asked.
    pub(crate) fn has_flipped(&self) -> io::Result<bool> {
        let Output::Card { card, .. } = &self.output else { return Ok(false) };
        match card.receive_events() {
            Ok(mut events) => Ok(events.any(|event| matches!(event, Event::PageFlip(_)))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A CRTC that can drive the display; the one that does, where one does.
fn crtc_for(
    card: &Card,
    resources: &drm::control::ResourceHandles,
    display: &connector::Info,
) -> Option<crtc::Handle> {
    let encoders = display.current_encoder().into_iter().chain(display.encoders().iter().copied());
    let mut encoders = encoders.filter_map(|handle| card.get_encoder(handle).ok());
    encoders.find_map(|encoder| {
        encoder.crtc().or_else(|| resources.filter_crtcs(encoder.possible_crtcs()).first().copied())
    })
}
