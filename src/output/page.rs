//! A page for a person: lines and tables, with a tone here and there, fitted to the terminal.

use super::tame_line;
use std::fmt;

/// How a piece of text is meant; a colour on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    Title,
    Faint,
    Good,
    Warning,
    Bad,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Title => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
        }
    }
}

/// Text with a tone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    text: String,
    tone: Tone,
}

impl Piece {
    pub fn new(text: impl Into<String>, tone: Tone) -> Piece {
        Piece { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Piece {
    fn from(text: T) -> Piece {
        Piece::new(text, Tone::Plain)
    }
}

enum Block {
    /// Pieces on one line; what does not fit goes on below, indented so far.
    Line(Vec<Piece>, usize),
    Table(Table),
}

/// Lines and tables, top to bottom.
#[derive(Default)]
pub struct Page {
    blocks: Vec<Block>,
}

impl Page {
    /// Adds a line.
    pub fn line(&mut self, pieces: impl IntoIterator<Item = Piece>) {
        self.hanging(0, pieces);
    }

    /// Adds a line whose rest, where it does not fit, goes on below, indented by `indent`.
    pub fn hanging(&mut self, indent: usize, pieces: impl IntoIterator<Item = Piece>) {
        self.blocks.push(Block::Line(pieces.into_iter().collect(), indent));
    }

    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// The page as text, lines no longer than `width`, coloured if `paint`.
    pub fn show(&self, width: Option<usize>, paint: bool) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            match block {
                Block::Line(pieces, indent) => line(&mut text, pieces, *indent, width, paint),
                Block::Table(table) => table.show(&mut text, width, paint),
            }
        }
        text
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(None, false))
    }
}

fn painted(text: &mut String, words: &str, tone: Tone, paint: bool) {
    match tone.code() {
        code if paint && !code.is_empty() && !words.is_empty() => {
            text.push_str(&format!("\x1b[{code}m{words}\x1b[0m"));
        }
        _ => text.push_str(words),
    }
}

fn line(text: &mut String, pieces: &[Piece], indent: usize, width: Option<usize>, paint: bool) {
    let mut column = 0;
    let limit = width.filter(|width| *width > indent + 20).unwrap_or(usize::MAX);
    for piece in pieces {
        let words = tame_line(&piece.text);
        let mut rest = String::new();
        for word in words.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if column + length > limit && column > indent {
                painted(text, rest.trim_end(), piece.tone, paint);
                rest.clear();
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
            }
            rest.push_str(word);
            column += word.chars().count();
        }
        painted(text, &rest, piece.tone, paint);
    }
    while text.ends_with(' ') {
        text.pop();
    }
    text.push('\n');
}

/// Rows in columns. A column is as wide as its widest cell; where the terminal is narrower, texts are cut, the longest
/// first. Numbers stand to the right.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<Piece>>,
    /// Lines below a row: the row's place, and the words.
    notes: Vec<(usize, Piece)>,
}

/// No text is cut to less than this.
const LEAST: usize = 8;

impl Table {
    /// A table with these titles.
    pub fn new(titles: &[&str]) -> Table {
        let titles = titles.iter().map(|title| Piece::new(*title, Tone::Title)).collect();
        Table { rows: vec![titles], notes: Vec::new() }
    }

    /// Adds a line below the last row.
    pub fn note(&mut self, words: Piece) {
        self.notes.push((self.rows.len() - 1, words));
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Piece>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    fn show(&self, text: &mut String, width: Option<usize>, paint: bool) {
        let rows: Vec<Vec<(String, Tone)>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| (tame_line(&cell.text), cell.tone)).collect())
            .collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|(cell, _)| cell.chars().count()).max().unwrap_or(0)
        };
        let is_number = |column: usize| {
            let cells = rows.iter().skip(1).filter_map(|row| row.get(column));
            let mut cells = cells.filter(|(cell, _)| !cell.is_empty()).peekable();
            cells.peek().is_some() && cells.all(|(cell, _)| is_figure(cell))
        };
        let mut layout: Vec<(usize, bool)> =
            (0..columns).map(|column| (widest(column), is_number(column))).collect();
        fit(&mut layout, width);
        for (at, row) in rows.iter().enumerate() {
            let mut gap = 0;
            for ((cell, tone), (width, is_number)) in row.iter().zip(&layout) {
                let cell = cut(cell, *width);
                let fill = width - cell.chars().count();
                let (before, after) = if *is_number { (fill, 0) } else { (0, fill) };
                text.push_str(&" ".repeat(gap + before));
                painted(text, &cell, *tone, paint);
                gap = after + 2;
            }
            while text.ends_with(' ') {
                text.pop();
            }
            text.push('\n');
            for (_, note) in self.notes.iter().filter(|(row, _)| *row == at) {
                let words = tame_line(&note.text);
                let room = width.map_or(usize::MAX, |width| width.saturating_sub(LEAST));
                text.push_str(&" ".repeat(LEAST));
                painted(text, &cut(&words, room), note.tone, paint);
                text.push('\n');
            }
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.show(&mut text, None, false);
        f.write_str(&text)
    }
}

/// A number, maybe with a unit behind it, or nothing to measure.
fn is_figure(cell: &str) -> bool {
    let number = cell.trim_end_matches([' ', '%', 's', 'm', 'h', 'd']);
    cell == "-" || (number.parse::<f64>().is_ok() && cell.len() - number.len() <= 2)
}

fn fit(layout: &mut [(usize, bool)], width: Option<usize>) {
    let Some(width) = width else { return };
    let gaps = 2 * layout.len().saturating_sub(1);
    let mut over =
        (layout.iter().map(|(width, _)| width).sum::<usize>() + gaps).saturating_sub(width);
    while over > 0 {
        let texts = layout.iter_mut().filter(|(width, is_number)| !is_number && *width > LEAST);
        let Some((widest, _)) = texts.max_by_key(|(width, _)| *width) else { return };
        *widest -= 1;
        over -= 1;
    }
}

fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["queue", "sent", "error"]);
        table.row(["default", "7", "a very long text that says why"]);
        table.row([Piece::from("bulk"), Piece::new("1200", Tone::Bad), "-".into()]);
        table
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let mut table = Table::new(&["queue", "sent", "oldest"]);
        table.row(["default", "7", "3m"]);
        table.row(["bulk", "1200", "-"]);
        assert_eq!(
            table.to_string(),
            "queue    sent  oldest\ndefault     7      3m\nbulk     1200       -\n"
        );
    }

    #[test]
    fn the_longest_text_is_cut_where_the_terminal_ends() {
        let mut page = Page::default();
        page.table(table());
        let narrow = page.show(Some(30), false);
        assert!(narrow.lines().all(|line| line.chars().count() <= 30), "{narrow}");
        assert!(narrow.contains("default     7  a very long te…"), "{narrow}");
        page.hanging(4, ["one two three four five six seven eight".into()]);
        let text = page.show(Some(30), false);
        assert!(text.ends_with("one two three four five six\n    seven eight\n"), "{text}");
    }

    #[test]
    fn only_our_own_colours_reach_the_terminal() {
        let mut page = Page::default();
        page.line(["a\u{1b}[31mb".into(), Piece::new("c", Tone::Good)]);
        page.table(table());
        let text = page.show(None, true);
        assert!(text.starts_with("a\\u{1b}[31mb\u{1b}[32mc\u{1b}[0m\n"), "{text:?}");
        assert!(text.contains("bulk     \u{1b}[31m1200\u{1b}[0m"), "{text:?}");
        assert!(!page.to_string().contains('\u{1b}'));
    }
}
