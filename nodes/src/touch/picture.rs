//! The on-screen keyboard as pixels.

use std::convert::Infallible;

use embedded_graphics::{
    Pixel,
    draw_target::DrawTarget,
    geometry::{OriginDimensions, Point as At, Size},
    mono_font::{MonoTextStyle, ascii::FONT_10X20},
    pixelcolor::{Rgb888, RgbColor},
    prelude::Drawable,
    primitives::Rectangle,
    text::{Alignment, Baseline, Text, TextStyleBuilder},
};
use evdev::KeyCode;

use super::{fusion::Pressed, keyboard::Keyboard};

/// Of a key that rests.
pub const RESTING: Rgb888 = Rgb888::new(0x28, 0x30, 0x38);
/// Of a key that is pressed.
pub const PRESSED: Rgb888 = Rgb888::new(0x30, 0x80, 0xf0);
/// Pixels of background around a key.
const GAP: i32 = 3;

/// Pixels of four bytes: blue, green, red, and one that means nothing (`XR24`).
pub struct Canvas<'a> {
    /// Row by row.
    pub pixels: &'a mut [u8],
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl OriginDimensions for Canvas<'_> {
    fn size(&self) -> Size {
        Size::new(self.width, self.height)
    }
}

fn bytes(color: Rgb888) -> [u8; 4] {
    [color.b(), color.g(), color.r(), 0]
}

impl DrawTarget for Canvas<'_> {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(at, color) in pixels {
            let (Ok(x), Ok(y)) = (usize::try_from(at.x), usize::try_from(at.y)) else { continue };
            if x < self.width as usize && y < self.height as usize {
                let from = y * self.pitch + x * 4;
                self.pixels[from..from + 4].copy_from_slice(&bytes(color));
            }
        }
        Ok(())
    }

    fn fill_solid(&mut self, area: &Rectangle, color: Rgb888) -> Result<(), Infallible> {
        let whole = Rectangle::new(At::zero(), self.size());
        let area = area.intersection(&whole);
        let (left, length) = (area.top_left.x as usize * 4, area.size.width as usize * 4);
        let color = bytes(color);
        for row in area.rows() {
            let from = row as usize * self.pitch + left;
            for pixel in self.pixels[from..from + length].chunks_exact_mut(4) {
                pixel.copy_from_slice(&color);
            }
        }
        Ok(())
    }
}

/// Where each key is drawn, and what is written on it.
#[derive(Clone, Debug)]
pub struct Picture {
    keys: Vec<(u16, Rectangle, String)>,
}

impl Picture {
    /// A keyboard on a screen of so many pixels.
    pub fn new(keyboard: &Keyboard, width: u32, height: u32) -> Picture {
        let on_screen = |share: f32, whole: u32| (share * whole as f32).round() as i32;
        let keys = keyboard.keys().map(|key| {
            let (left, top) = (on_screen(key.from.x, width) + GAP, on_screen(key.from.y, height) + GAP);
            let (right, bottom) = (on_screen(key.to.x, width) - GAP, on_screen(key.to.y, height) - GAP);
            let size = Size::new((right - left).max(0) as u32, (bottom - top).max(0) as u32);
            (key.code, Rectangle::new(At::new(left, top), size), label(key.code))
        });
        Picture { keys: keys.collect() }
    }

    /// Draws every key on a canvas where nothing is drawn yet, or, on one that shows `before`, those that have changed.
    pub fn draw(&self, canvas: &mut Canvas<'_>, before: Option<Pressed>, now: Pressed) {
        for (code, area, label) in &self.keys {
            let is_pressed = now.contains(*code);
            if before.is_some_and(|before| before.contains(*code) == is_pressed) {
                continue;
            }
            let Ok(()) = canvas.fill_solid(area, if is_pressed { PRESSED } else { RESTING });
            let centred =
                TextStyleBuilder::new().alignment(Alignment::Center).baseline(Baseline::Middle).build();
            let style = MonoTextStyle::new(&FONT_10X20, Rgb888::WHITE);
            let Ok(_) = Text::with_text_style(label, area.center(), style, centred).draw(canvas);
        }
    }
}

/// What is written on a key: the kernel's name for it, in small letters.
fn label(code: u16) -> String {
    let name = format!("{:?}", KeyCode(code));
    name.strip_prefix("KEY_").unwrap_or(&name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::touch::keyboard::KeyboardParams;

    fn count(pixels: &[u8], color: Rgb888) -> usize {
        pixels.chunks(4).filter(|pixel| **pixel == bytes(color)).count()
    }

    #[test]
    fn a_key_is_drawn_where_it_lies_and_only_what_changed_is_drawn_again() {
        let params = KeyboardParams { rows: vec!["a b".into(), "space".into()], ..KeyboardParams::default() };
        let picture = Picture::new(&Keyboard::new(&params).unwrap(), 200, 200);
        let mut pixels = vec![0; 208 * 4 * 200];
        let mut draw = |before, now| {
            let mut canvas = Canvas { pixels: &mut pixels, pitch: 208 * 4, width: 200, height: 200 };
            picture.draw(&mut canvas, before, now);
            pixels.clone()
        };
        let none = Pressed::default();
        let a = none.with(KeyCode::KEY_A.0, true);
        let resting = draw(None, none);
        assert_eq!(count(&resting, PRESSED), 0);
        let keys = 2 * 94 * 44 + 194 * 44;
        let written = count(&resting, Rgb888::WHITE);
        assert!(written > 50, "labels are written");
        assert_eq!(count(&resting, RESTING), keys - written);
        let pressed = draw(Some(none), a);
        let at = |x: usize, y: usize| (y * 208 + x) * 4;
        assert_eq!(pressed[at(10, 110)..][..4], bytes(PRESSED));
        assert_eq!(pressed[at(110, 110)..][..4], bytes(RESTING));
        assert!(count(&pressed, PRESSED) > 94 * 44 - 200);
        assert!(draw(Some(a), none) == resting, "all is as it was");
    }
}
