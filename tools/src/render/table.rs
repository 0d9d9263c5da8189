//! Columns that fit the terminal: what matters least is left out first.

use unicode_width::UnicodeWidthStr;

use super::look::{Look, Tone};

/// Columns are left out before the first one is cut to less than this.
const FIRST_COLUMN: usize = 22;

/// One column.
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Whether its text is aligned to the left.
    pub(super) left: bool,
    /// Its turn to be left out, the lowest first; `None` to stay.
    pub(super) leave: Option<u8>,
}

/// One cell.
#[derive(Clone, Default)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
    /// Whether its room goes to the cell after it.
    pub(super) joined: bool,
}

impl Cell {
    pub(super) fn new(text: impl Into<String>, tone: Tone) -> Cell {
        Cell { text: text.into(), tone, joined: false }
    }

    pub(super) fn joined() -> Cell {
        Cell { joined: true, ..Cell::default() }
    }
}

/// One row, or what stands between rows.
pub(super) enum Row {
    /// The titles, with another word for the first column.
    Titles(&'static str),
    /// One cell a column.
    Cells(Vec<Cell>),
    /// Words that belong to the row before.
    Note(String),
    /// An empty line.
    Gap,
}

struct Layout {
    /// `None` for a column that is left out.
    widths: Vec<Option<usize>>,
    gap: usize,
}

/// The rows as lines that are at most as wide as the look.
pub(super) fn lines(columns: &[Column], rows: &[Row], look: &Look) -> Vec<String> {
    let layout = Layout::fit(columns, rows, look.width);
    rows.iter().flat_map(|row| layout.lines(columns, row, look)).collect()
}

impl Layout {
    fn fit(columns: &[Column], rows: &[Row], width: usize) -> Layout {
        let mut widths: Vec<_> = columns.iter().map(|column| Some(column.title.width())).collect();
        for row in rows {
            let Row::Cells(cells) = row else { continue };
            let mut joins = false;
            for (width, cell) in widths.iter_mut().zip(cells) {
                if !joins {
                    *width = (*width).max(Some(cell.text.width()));
                }
                joins = cell.joined;
            }
        }
        let mut leave: Vec<usize> =
            (0..columns.len()).filter(|place| columns[*place].leave.is_some()).collect();
        leave.sort_by_key(|place| columns[*place].leave);
        let first = widths[0].unwrap_or_default();
        let mut layout = Layout { widths, gap: 2 };
        let mut least = first.min(FIRST_COLUMN);
        let mut leave = leave.into_iter();
        loop {
            for gap in [2, 1] {
                layout.gap = gap;
                layout.widths[0] = Some(least);
                if let Some(room) = width.checked_sub(layout.width()) {
                    layout.widths[0] = Some(first.min(least + room));
                    return layout;
                }
            }
            match leave.next() {
                Some(place) => layout.widths[place] = None,
                None if least > 1 => least -= 1,
                None => return layout,
            }
        }
    }

    fn width(&self) -> usize {
        let shown = self.widths.iter().flatten();
        shown.clone().sum::<usize>() + self.gap * shown.count().saturating_sub(1)
    }

    fn lines(&self, columns: &[Column], row: &Row, look: &Look) -> Vec<String> {
        match row {
            Row::Gap => vec![String::new()],
            Row::Note(text) => {
                let lead = format!("  {}", look.glyphs().branch);
                look.wrap(&lead, text).iter().map(|line| look.paint(line, Tone::Faint)).collect()
            }
            Row::Titles(first) => {
                let title = |(place, column): (usize, &Column)| if place == 0 { first } else { column.title };
                let titles = columns.iter().enumerate().map(title);
                let cells: Vec<_> = titles.map(|title| Cell::new(title, Tone::Strong)).collect();
                vec![self.line(columns, &cells, look)]
            }
            Row::Cells(cells) => vec![self.line(columns, cells, look)],
        }
    }

    fn line(&self, columns: &[Column], cells: &[Cell], look: &Look) -> String {
        let mut line = String::new();
        // Columns of which the room is not filled yet, and how wide they are with the gaps between them.
        let mut open = None;
        for ((cell, column), width) in cells.iter().zip(columns).zip(&self.widths) {
            if let Some(width) = width {
                open = Some(open.map_or(*width, |before| before + self.gap + width));
            }
            if cell.joined || width.is_none() {
                continue;
            }
            if !line.is_empty() {
                line.push_str(&" ".repeat(self.gap));
            }
            let text = look.fit(&cell.text, open.take().unwrap_or_default(), column.left);
            line.push_str(&look.paint(&text, cell.tone));
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        vec![
            Column { title: "edge", left: true, leave: None },
            Column { title: "n", left: false, leave: Some(2) },
            Column { title: "p50", left: false, leave: Some(1) },
            Column { title: "verdict", left: true, leave: None },
        ]
    }

    fn row(cells: [&str; 4]) -> Row {
        Row::Cells(cells.iter().map(|text| Cell::new(*text, Tone::Plain)).collect())
    }

    fn shown(width: usize) -> Vec<String> {
        let look = Look { width, colour: false, unicode: true };
        lines(&columns(), &[Row::Titles("edge"), row(["denoise → vad", "1000", "12 ms", "pass"])], &look)
    }

    #[test]
    fn columns_are_left_out_one_by_one_as_room_gets_scarce() {
        assert_eq!(shown(80), ["edge              n    p50  verdict", "denoise → vad  1000  12 ms  pass"]);
        assert_eq!(shown(32), ["edge             n   p50 verdict", "denoise → vad 1000 12 ms pass"]);
        assert_eq!(shown(30), ["edge              n  verdict", "denoise → vad  1000  pass"]);
        assert_eq!(shown(24), ["edge           verdict", "denoise → vad  pass"]);
        assert_eq!(shown(16), ["edge     verdict", "denoise… pass"]);
    }

    #[test]
    fn a_joined_cell_gives_its_room_to_the_next() {
        let mut cells = vec![Cell::new("a", Tone::Plain), Cell::joined(), Cell::new("17.2 /s", Tone::Plain)];
        cells.push(Cell::new("pass", Tone::Plain));
        let look = Look { width: 80, colour: false, unicode: true };
        let rows = [row(["denoise", "1000", "12 ms", "pass"]), Row::Cells(cells)];
        assert_eq!(
            lines(&columns(), &rows, &look),
            ["denoise  1000  12 ms  pass", "a            17.2 /s  pass"]
        );
    }
}
