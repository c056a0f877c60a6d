# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with the site in the folder that is given, made of the documents below the other one."""
import glob
import json
import os
import posixpath
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote


class Page(HTMLParser):
    """The ids of a page, what it leads to, and what a browser loads for it."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded, self.nameless = [], [], [], []
        self.is_nameless = False
        with open(path, encoding="utf-8") as stream:
            self.feed(stream.read())

    def handle_data(self, data):
        if self.is_nameless and data.startswith("-"):
            self.nameless.append(data)
        self.is_nameless = False

    def handle_starttag(self, tag, attrs):
        self.is_nameless = self.is_nameless or (tag == "dt" and not attrs)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name == "href" and tag == "a":
                self.links.append(value)
            elif name in ("href", "src", "srcset", "data", "action", "poster"):
                self.loaded.append(value)


def brightness(colour):
    """WCAG's relative luminance."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def look_at_colours(style, grounds=None):
    """Each colour of text is tried on each ground, in both schemes, whether or not they meet."""
    print("colours that are no variables:")
    for name, value in re.findall(r"\b(color|background):\s*([^;]*);", "" if grounds else style):
        if not re.fullmatch(r"var\(--[a-z]+\)|inherit", value):
            print(f"{name}: {value}")
    fronts = sorted(set(re.findall(r"[^-]color: var\(--(\w+)\)", style)))
    grounds = grounds or sorted(set(re.findall(r"background: var\(--(\w+)\)", style)))
    schemes = {"light": {}, "dark": {}}
    for is_dark, rules in re.findall(r"(dark\) \{\s*)?:root \{(.*?)\}", style, re.S):
        schemes["dark" if is_dark else "light"].update(re.findall(r"--(\w+): #(\w{6});", rules))
    print("text of less than 4.5 : 1:")
    for scheme, colours in schemes.items():
        for front in fronts:
            for ground in grounds:
                low, high = sorted(brightness(colours[name]) for name in (front, ground))
                if (high + 0.05) / (low + 0.05) < 4.5:
                    print(f"{scheme}: {front} on {ground}: {(high + 0.05) / (low + 0.05):.2f}")
    print(f"looked at {' '.join(fronts)} on {' '.join(grounds)}")


def look_at_pages(top):
    """The same of what e2frag, e2allocsim and e2fleet make, which have one style."""
    names = ("analyze/forms/page", "analyze/forms/page_dark", "simulate/overview/overview")
    page, dark, overview = (open(f"{top}/lib/{name}.css", encoding="utf-8").read() for name in names)
    look_at_colours(page + "dark) {\n:root {" + dark + "}" + overview, ["card", "ground"])
    with open(f"{top}/fleet/ext2mb_fleet/page.css", encoding="utf-8") as stream:
        print("e2fleet's page has", "the same style" if page[:200] in stream.read() else "another style")


def look_at_links(folder, pages):
    print("links that lead nowhere, and what comes from elsewhere:")
    reached = {"index.html"}
    for path, page in pages.items():
        for link in page.links + page.loaded:
            if re.match(r"[a-z]+:|//", link):
                if link in page.loaded and link != "data:,":
                    print(f"{path}: {link}: from elsewhere")
                continue
            name, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(name))) if name else path
            if not os.path.isfile(f"{folder}/{target}"):
                print(f"{path}: {link}: is not there")
            elif anchor and (target not in pages or unquote(anchor) not in pages[target].ids):
                print(f"{path}: {link}: there is no such heading")
            if path != target:
                reached.add(target)
    for path in ("style.css", "search.js"):
        with open(f"{folder}/{path}", encoding="utf-8") as stream:
            for found in re.findall(r"https?:\S*|url\(|@import|\bfetch\b", stream.read()):
                print(f"{path}: {found}: from elsewhere")
    print("pages that nothing leads to:")
    print("".join(f"{path}\n" for path in sorted(set(pages) - reached)), end="")


def look_at_index(folder, pages, expected):
    """For each word the section that the search names first; that it is on the page that is expected."""
    with open(f"{folder}/search-index.js", encoding="utf-8") as stream:
        text = stream.read()
    index = json.loads(text[text.index("{"):text.rindex(";")])
    print("found:")
    for line in expected:
        word, page = line.split()
        found = [index["sections"][number] for number in index["words"].get(word, [])[:6:2]]
        is_there = page in [section[0].partition("#")[0] for section in found]
        print(f"{word}: {page if is_there else found}")
    print("options that the search does not find first where they are explained:")
    for number, (url, title, _, _) in enumerate(index["sections"]):
        word = re.match(r"--?[a-z0-9_]+(?:[.-][a-z0-9_]+)*", title.lower()) if url.startswith("man/") else None
        if word and number not in index["words"].get(word[0], [])[:48:2]:
            print(f"{url}: {title}")
    for path, page in pages.items():
        for name in page.nameless:
            print(f"{path}: {name}")
    for url, _, _, _ in index["sections"]:
        path, _, anchor = url.partition("#")
        if path not in pages or (anchor and anchor not in pages[path].ids):
            print(f"search-index.js: {url}: is not there")


def main(folder, top, expected):
    paths = [os.path.relpath(path, folder) for path in glob.glob(f"{folder}/**/*.html", recursive=True)]
    pages = {path: Page(f"{folder}/{path}") for path in sorted(paths)}
    print("documents without a page, pages of no document:")
    documents = {path: re.sub(r"md$", "html", path) for pattern in ("doc/*.md", "doc/results/*.md", "*/README.md")
                 for path in glob.glob(pattern, root_dir=top)}
    documents.update({path: f"man/{os.path.basename(path)}.html" for pattern in ("*/*.[1-8]", "lib/*/*.[1-8]")
                      for path in glob.glob(pattern, root_dir=top)})
    documents["README.md"] = "index.html"
    print("".join(f"{path}\n" for path in sorted(set(documents.values()) ^ set(pages))), end="")
    look_at_links(folder, pages)
    print("ids that are there twice:")
    for path, page in pages.items():
        for name in sorted(set(page.ids)):
            if page.ids.count(name) > 1:
                print(f"{path}: {name}")
    with open(f"{folder}/style.css", encoding="utf-8") as stream:
        look_at_colours(stream.read())
    look_at_pages(top)
    with open(f"{folder}/index.html", encoding="utf-8") as stream:
        first = re.search(r"<pre.*?>(.*?)</pre>", stream.read(), re.S)[1]
    print("README's first commands on a screen of 800 pixels:")
    print("".join(f"{line}\n" for line in re.sub("<[^>]*>", "", first).split("\n") if len(line) > 80), end="")
    look_at_index(folder, pages, expected)


main(*sys.argv[1:3], sys.stdin.read().splitlines())
