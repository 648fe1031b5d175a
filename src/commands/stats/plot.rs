//! Small plots: a row of blocks for a terminal, bars for a page.

/// One block a number, the largest one full; a digit from 1 to 8 where the locale has no blocks.
pub fn blocks(numbers: &[u64], is_ascii: bool) -> String {
    let (nothing, blocks) = match is_ascii {
        true => ('.', ['1', '2', '3', '4', '5', '6', '7', '8']),
        false => ('·', ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']),
    };
    let most = numbers.iter().copied().max().unwrap_or_default().max(1);
    let block = |number: u64| match number {
        0 => nothing,
        number => blocks[(u128::from(number) * 7 / u128::from(most)) as usize],
    };
    numbers.iter().map(|number| block(*number)).collect()
}

/// The numbers as an SVG that scales; each bar says its label and number.
pub fn bars(numbers: &[u64], labels: &[String], title: &str) -> String {
    let most = numbers.iter().copied().max().unwrap_or_default().max(1);
    let width = numbers.len() * 10;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} 60\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{title}\">\n"
    );
    for (at, (number, label)) in numbers.iter().zip(labels).enumerate() {
        let height = *number as f64 * 58.0 / most as f64;
        svg.push_str(&format!(
            "<rect x=\"{}\" y=\"0\" width=\"10\" height=\"60\" class=\"room\"><title>{label}: {number}</title></rect>\
             <rect x=\"{}\" y=\"{:.1}\" width=\"8\" height=\"{:.1}\" pointer-events=\"none\"/>\n",
            at * 10,
            at * 10 + 1,
            60.0 - height.max(0.8),
            height.max(0.8)
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_is_full_and_nothing_is_a_dot() {
        assert_eq!(blocks(&[0, 1, 4, 8], false), "·▁▄█");
        assert_eq!(blocks(&[0, 1, 4, 8], true), ".148");
        assert_eq!(blocks(&[0, 0], false), "··");
        assert_eq!(blocks(&[u64::MAX, 1], false), "█▁");
        assert_eq!(blocks(&[], false), "");
    }
}
