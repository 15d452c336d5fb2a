#!/usr/bin/env python3
"""Follows every link of the built book that leads to a file: links.py FOLDER. `./dev book` calls it."""
import html.parser
import pathlib
import sys
import urllib.parse


class Links(html.parser.HTMLParser):
    """Targets of links and pictures of a page, and the ids that links may lead to."""

    def __init__(self, page):
        super().__init__()
        self.targets, self.ids = [], set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.targets.append(value)
            if name == "id":
                self.ids.add(value)


def main():
    book = pathlib.Path(sys.argv[1]).resolve()
    # The page for addresses that do not exist has its links from the server's root.
    pages = {page: Links(page) for page in book.rglob("*.html") if page.name != "404.html"}
    followed, broken = 0, []
    for page, links in pages.items():
        for target in links.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            to = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            lost = not to.exists() or (parts.fragment and to in pages and parts.fragment not in pages[to].ids)
            if lost:
                broken.append(f"{page.relative_to(book)}: {target}")
    for line in broken:
        print(line, file=sys.stderr)
    if len(pages) < 10 or followed < 100:
        sys.exit(f"links: only {len(pages)} pages with {followed} links in {book}")
    print(f"{followed - len(broken)} passed, {len(broken)} failed")
    sys.exit(1 if broken else 0)


main()
