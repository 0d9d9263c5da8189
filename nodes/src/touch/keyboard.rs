//! The on-screen keyboard: which key lies where.

use std::str::FromStr;

use evdev::KeyCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::frame::Point;

/// Where the keyboard lies, and its keys.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyboardParams {
    /// Where it begins, as a share of the surface's height from the top; it goes to the bottom, over the whole width.
    pub top: f32,
    /// A text for each row, from the top: names of keys with spaces between, `space:6` being six times as wide as others.
    /// The names are the kernel's without `KEY_`. No rows are no keyboard.
    pub rows: Vec<String>,
}

impl Default for KeyboardParams {
    fn default() -> Self {
        let rows = [
            "q w e r t y u i o p",
            "a s d f g h j k l enter",
            "leftshift z x c v b n m comma backspace",
            "leftctrl leftalt space:6 left right",
        ];
        KeyboardParams { top: 0.5, rows: rows.map(str::to_owned).to_vec() }
    }
}

/// Why there is no such keyboard.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyboardError {
    /// There is no key of that name.
    #[error(
        "there is no key \"{0}\": names are those of linux/input-event-codes.h without KEY_, such as a, 1, enter, leftshift, dot"
    )]
    NoSuchKey(String),
    /// A width is none.
    #[error(
        "\"{0}\" is no key with a width: write its name, a colon and a number above zero, such as space:6"
    )]
    NoWidth(String),
    /// A row is empty.
    #[error("row {0} of the keyboard has no key: name some, or take the row out")]
    EmptyRow(usize),
    /// It begins beyond the surface.
    #[error("the keyboard's `top` is {0}, and must be from 0 to below 1: a share of the surface's height")]
    Top(f32),
}

/// The code of a key by the kernel's name without `KEY_`, in any case.
///
/// # Errors
/// When there is no such key.
pub fn key(name: &str) -> Result<u16, KeyboardError> {
    let no_such = || KeyboardError::NoSuchKey(name.to_owned());
    KeyCode::from_str(&format!("KEY_{}", name.to_uppercase())).map(|key| key.0).map_err(|_| no_such())
}

/// A key and where it lies on a surface of 1 by 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Its code.
    pub code: u16,
    /// Upper left corner.
    pub from: Point,
    /// Lower right corner.
    pub to: Point,
}

/// The keys of an on-screen keyboard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keyboard {
    top: f32,
    /// From the top, each from the left.
    rows: Vec<Vec<Key>>,
}

impl Keyboard {
    /// The keyboard of these parameters.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub fn new(params: &KeyboardParams) -> Result<Keyboard, KeyboardError> {
        if !(0.0..1.0).contains(&params.top) {
            return Err(KeyboardError::Top(params.top));
        }
        let height = (1.0 - params.top) / params.rows.len() as f32;
        let mut rows = Vec::with_capacity(params.rows.len());
        for (number, text) in params.rows.iter().enumerate() {
            let keys = text.split_whitespace().map(named).collect::<Result<Vec<_>, _>>()?;
            let whole: f32 = keys.iter().map(|(_, width)| width).sum();
            if keys.is_empty() {
                return Err(KeyboardError::EmptyRow(number + 1));
            }
            let (above, mut left) = (params.top + height * number as f32, 0.0);
            let row = keys.into_iter().map(|(code, width)| {
                let from = Point::new(left / whole, above);
                left += width;
                Key { code, from, to: Point::new(left / whole, above + height) }
            });
            rows.push(row.collect());
        }
        Ok(Keyboard { top: params.top, rows })
    }

    /// The key at a place on a surface of that size, both in mm.
    #[inline]
    pub fn hit(&self, at: Point, size: Point) -> Option<u16> {
        let (x, y) = (at.x / size.x, at.y / size.y);
        if y < self.top || self.rows.is_empty() {
            return None;
        }
        let row = (y - self.top) / (1.0 - self.top) * self.rows.len() as f32;
        let row = &self.rows[(row as usize).min(self.rows.len() - 1)];
        let key = row.partition_point(|key| key.to.x <= x).min(row.len() - 1);
        Some(row[key].code)
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.rows.iter().flatten()
    }
}

/// A key's code and how wide it is.
fn named(text: &str) -> Result<(u16, f32), KeyboardError> {
    let (name, width) = text.split_once(':').unwrap_or((text, "1"));
    let width: f32 = width.parse().map_err(|_| KeyboardError::NoWidth(text.to_owned()))?;
    if !(width.is_finite() && width > 0.0) {
        return Err(KeyboardError::NoWidth(text.to_owned()));
    }
    Ok((key(name)?, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Point = Point::new(200.0, 120.0);

    #[test]
    fn a_key_is_hit_where_it_lies_and_every_key_at_its_middle() {
        let keyboard = Keyboard::new(&KeyboardParams::default()).unwrap();
        let hit = |x, y| keyboard.hit(Point::new(x, y), SIZE);
        assert_eq!(hit(10.0, 59.9), None, "above the keyboard");
        assert_eq!(hit(10.0, 60.0), Some(KeyCode::KEY_Q.0));
        assert_eq!(hit(50.0, 70.0), Some(KeyCode::KEY_E.0));
        assert_eq!(hit(100.0, 119.0), Some(KeyCode::KEY_SPACE.0), "a wide key");
        assert_eq!(hit(201.0, 121.0), Some(KeyCode::KEY_RIGHT.0), "beyond the edge is the last key");
        for key in keyboard.keys() {
            let middle = (key.from + key.to).times(0.5);
            assert_eq!(hit(middle.x * SIZE.x, middle.y * SIZE.y), Some(key.code));
        }
    }

    #[test]
    fn what_is_no_keyboard_is_refused_in_words() {
        let says = |row: &str| {
            let params = KeyboardParams { rows: vec![row.to_owned()], ..KeyboardParams::default() };
            Keyboard::new(&params).unwrap_err().to_string()
        };
        assert!(says("a nosuchkey").starts_with("there is no key \"nosuchkey\""));
        assert!(says("space:0").contains("such as space:6"));
        assert!(says(" ").starts_with("row 1 of the keyboard has no key"));
        let params = KeyboardParams { top: 1.0, ..KeyboardParams::default() };
        assert_eq!(Keyboard::new(&params), Err(KeyboardError::Top(1.0)));
    }

    #[test]
    fn no_rows_are_no_keyboard() {
        let params = KeyboardParams { rows: Vec::new(), ..KeyboardParams::default() };
        assert_eq!(Keyboard::new(&params).unwrap().hit(Point::new(1.0, 119.0), SIZE), None);
    }
}
