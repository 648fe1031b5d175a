"""The five shipped templates, through Postfix, as a browser shows what was delivered: on a wide and on a narrow screen,
light and dark. Nothing may be blank or wider than its screen. They show no image, so that one with images off sees them
just so.

With SHOTS=DIR the two sheets stay there at their full size, to be looked at: a row a mail. Needs chromium.
"""

import json
import os
import pathlib
import re
import struct
import subprocess
import zlib

from rig import Sandbox, check, delivered

FRAME = {
    "product": "Acme",
    "company": "Acme GmbH",
    "address": "Hauptstraße 5, 10115 Berlin, Germany",
    "support": "help@example.com",
}
# A URL as real systems make them: longer than a narrow screen, without a place to break.
LONG_URL = "https://accounts.example.com/reset?token=" + "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" * 4
MAILS = {
    "welcome": {"name": "Änne Müller", "url": "https://app.example.com/start"},
    "password_reset": {"name": "Ada", "url": LONG_URL, "valid": "one hour", "from": "192.0.2.17 (Berlin)"},
    "order_confirmation": {
        "name": "Jürgen",
        "number": "2026-004711",
        "date": "2026-11-29T10:15:00+01:00",
        "currency": "EUR",
        "items": [
            {"name": "Fountain pen, fine nib, with converter and a bottle of ink", "quantity": 1, "price": "1249.00"},
            {"name": "Notebook A5", "quantity": 12, "price": "8.50"},
            {"name": "Donaudampfschifffahrtsgesellschaftskapitänsmütze", "quantity": 2, "price": "39.95"},
        ],
        "shipping": "4.90",
        "total": "1435.80",
        "tax": "229.25",
        "deliver_to": ["Jürgen Größe", "Hauptstraße 5", "10115 Berlin"],
        "url": "https://shop.example.com/orders/2026-004711",
    },
    "newsletter": {
        "title": "What is new in December",
        "intro": "Three things that we finished this month, and one that we are proud of.",
        "articles": [
            {
                "title": "Invoices in your own currency",
                "text": "From today you can choose the currency of each invoice. Amounts that were entered before stay as they were, "
                "and your reports show both.",
                "url": "https://www.example.com/blog/currency",
            },
            {
                "title": "Two new ways to sign in",
                "text": "Passkeys and security keys work in every browser now.",
                "url": "https://www.example.com/blog/passkeys",
            },
            {"title": "Opening hours", "text": "Our office is closed from 24 December to 1 January."},
        ],
        "unsubscribe_url": "https://www.example.com/unsubscribe?u=8f3a",
        "list_id": "news.example.com",
    },
    "alert": {
        "host": "db1.example.com",
        "service": "disk",
        "state": "CRITICAL",
        "message": "Filesystem      Size  Used Avail Use% Mounted on\n/dev/nvme0n1p2  468G  451G  1.2G 100% /var/lib/postgresql\n"
        "/dev/nvme0n1p1  511M  6.1M  505M   2% /boot/efi",
        "at": "2026-11-29T09:15:00Z",
        "url": "https://monitor.example.com/hosts/db1/services/disk",
    },
}
# The screens side by side on a sheet, and the stripe between them, in pixels.
WIDE, NARROW, GAP = 1000, 375, 10
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --hide-scrollbars --allow-file-access-from-files --virtual-time-budget=5000"""
DARK = "--blink-settings=preferredColorScheme=0"
# A frame is as high as what it shows. Its media queries are asked about the frame, so it may be narrower than a window.
SHEET = """<body style="margin:0;background:#f0f"><style>iframe{border:0;margin-right:%dpx;vertical-align:top}</style>%s
<script>onload = () => document.title = JSON.stringify([...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, told = page.documentElement;
    frame.height = told.scrollHeight;
    return [told.scrollWidth, told.scrollHeight, page.body.innerText.length];
}))</script>"""


def html_of(mail):
    parts = [part for part in mail.walk() if part.get_content_type() == "text/html"]
    check(len(parts) == 1, f"{len(parts)} HTML parts")
    html = parts[0].get_payload(decode=True).decode(parts[0].get_content_charset())
    # What is loaded tells the sender who reads, so mail programs do not load it.
    check(not re.search(r"<img|\bbackground=|url\(|<link|<script", html), "it loads something")
    return html


class Browser:
    """A sheet with every page in a wide and in a narrow frame, a row a page."""

    def __init__(self, room, pages):
        self.room = room
        rows = []
        for name, html in pages.items():
            (room / f"{name}.html").write_text(html, encoding="utf-8")
            frames = (f'<iframe src="{name}.html" width={width} height=100></iframe>' for width in (WIDE, NARROW))
            rows.append(f'<div style="white-space:nowrap;font-size:0;margin-bottom:{GAP}px">{"".join(frames)}</div>')
        (room / "sheet.html").write_text(SHEET % (GAP, "".join(rows)))

    def run(self, *flags):
        command = ["chromium", *FLAGS.split(), f"--user-data-dir={self.room}/profile", *flags]
        ran = subprocess.run(
            [*command, f"file://{self.room}/sheet.html"], stdin=subprocess.DEVNULL, capture_output=True, timeout=120
        )
        check(ran.returncode == 0, f"chromium: {ran.stderr.decode('utf-8', 'replace')[-1000:]}")
        return ran.stdout.decode("utf-8", "replace")

    def measure(self):
        """The width, the height and the number of characters of each frame, row by row."""
        told = re.search(r"<title>(\[.*?\])</title>", self.run("--dump-dom"))
        check(told, "the browser did not show the sheet")
        frames = json.loads(told[1])
        return list(zip(frames[::2], frames[1::2]))

    def picture(self, path, height, scale, *flags):
        size = f"--window-size={WIDE + NARROW + 2 * GAP},{height}"
        self.run(size, f"--force-device-scale-factor={scale}", f"--screenshot={path}", *flags)
        return pixels(path)


def pixels(picture):
    """The lines of a PNG of eight bits a channel, and how many bytes a pixel has."""
    data, at, packed = picture.read_bytes(), 8, b""
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    check(depth == 8 and kind in (2, 6), f"a PNG of kind {kind}")
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    raw, step = zlib.decompress(packed), 3 if kind == 2 else 4
    length, before, lines = width * step + 1, bytes(width * step), []
    for row in range(height):
        kind, now = raw[row * length], bytearray(raw[row * length + 1 : (row + 1) * length])
        for i in range(len(now)) if kind else ():
            a, b, c = now[i - step] if i >= step else 0, before[i], before[i - step] if i >= step else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            now[i] = (now[i] + (a, b, (a + b) // 2, nearest)[kind - 1]) & 255
        before = bytes(now)
        lines.append(before)
    return lines, step


def look(lines, step, scale, left, top, width, height):
    """The colours of a frame, counted, and how bright it is (0 to 255)."""
    seen = {}
    for line in lines[int(top * scale) + 1 : int((top + height) * scale) - 1]:
        for at in range(int(left * scale) + 1, int((left + width) * scale) - 1):
            colour = line[at * step : at * step + 3]
            seen[colour] = seen.get(colour, 0) + 1
    total = sum(seen.values())
    return seen, total, sum(sum(colour) * n for colour, n in seen.items()) / 3 / total


def main():
    box = Sandbox()
    for name, parameters in MAILS.items():
        (box.dir / "params.json").write_text(json.dumps({**FRAME, **parameters}))
        box.mailq(
            "enqueue", "--strict", "--to", f"{name}@example.test", "--template", name, "--params", f"@{box.dir}/params.json"
        )
    check(f"sent {len(MAILS)}," in box.mailq("send-batch"), box.statuses())
    mails = {mail["delivered-to"].split("@")[0]: mail for mail in delivered()}
    check(set(mails) == set(MAILS), f"delivered: {sorted(mails)}")
    browser = Browser(box.dir, {name: html_of(mails[name]) for name in MAILS})
    rows = browser.measure()
    for name, (wide, narrow) in zip(MAILS, rows):
        for frame, width in (wide, WIDE), (narrow, NARROW):
            check(frame[0] <= width, f"{name} is {frame[0]} pixels wide on a screen of {width}")
            check(frame[1] > 250 and frame[2] > 150, f"{name} shows {frame[2]} characters on {frame[1]} pixels")
    shots = os.environ.get("SHOTS")
    scale = 1 if shots else 0.5
    for view, flags in ("light", []), ("dark", [DARK]):
        sheet = pathlib.Path(shots or box.dir) / f"{view}.png"
        heights = [max(wide[1], narrow[1]) + GAP for wide, narrow in rows]
        lines, step = browser.picture(sheet, sum(heights), scale, *flags)
        for number, (name, (wide, narrow)) in enumerate(zip(MAILS, rows)):
            top = sum(heights[:number])
            for left, width, frame in (0, WIDE, wide), (WIDE + GAP, NARROW, narrow):
                seen, total, bright = look(lines, step, scale, left, top, width, frame[1])
                told = f"{name}, {view}, {width} pixels wide: {len(seen)} colours, brightness {bright:.0f}"
                check(len(seen) > 30 and max(seen.values()) < 0.97 * total, f"{told}: blank")
                check(bright < 90 if view == "dark" else bright > 200, told)
    print(f"end-to-end: {len(MAILS)} templates shown, wide and narrow, light and dark")


if __name__ == "__main__":
    main()
