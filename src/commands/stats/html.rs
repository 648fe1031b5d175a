//! The figures as a page for a browser: what the terminal shows, and nothing that needs another file.

use super::value;

/// A page around `text`.
pub fn page(text: &str, now: i64) -> String {
    let at = value::show_moment(now);
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"refresh\" content=\"60\">\n<title>mailq</title>\n\
         <style>:root {{ color-scheme: light dark }} body {{ font-family: sans-serif; margin: 2rem }} \
         pre {{ font-size: 1rem; overflow-x: auto }}</style>\n</head>\n<body>\n<h1>mailq</h1>\n<p>{at}</p>\n\
         <pre>{text}</pre>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_said_is_text_and_no_markup() {
        let page = page("smarthost is out: <script>alert(1)</script> & more", 0);
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; more"), "{page}");
    }
}
