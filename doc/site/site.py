#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes one static site of README.md, the other documents and the manuals: doc/site/site.py TOP FOLDER

cmark-gfm reads the documents, since they are written for GitHub, and mandoc reads the manuals. CMARK_GFM and MANDOC
name other programs. A page lies where its document lies, so that links between documents and to pictures stay as they
are but for the ending; manuals are in man/. The colours are those of e2frag's page. FOLDER is replaced when
everything has been made. doc/site/search_index.py says what the search looks at.
"""
import glob
import html
import os
import posixpath
import re
import shutil
import string
import subprocess
import sys

from search_index import make_index, plain

# The other documents of doc/ are for reference, as the manuals are.
GUIDES = ["TUTORIAL", "RECIPES", "BUILDERS", "COMPARISON", "FLEET", "HOW-IT-WORKS", "REPLAY", "POLICIES", "READING"]
# These are shown as they are.
COPIED = ["doc/examples/*", "doc/schema/*"]
PICTURES = (".svg", ".png", ".jpg", ".gif", ".webp")
# A picture of so many pixels can be read on a phone.
NARROW = 500
MANUALS = ["misc/*.8", "lab/*.8", "preload/*.8", "debugfs/*.8", "fleet/*.1", "lib/ext2fs/*.3"]


class SiteError(Exception):
    """What is wrong with a document, for the user."""


def run(command, path, text):
    """The output of a program that reads TEXT, which is that of the document PATH."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=False)
    except OSError as error:
        raise SiteError(f"{command[0]}: {error.strerror}") from error
    if done.returncode > 1 or not done.stdout:
        raise SiteError(f"{path}: {command[0]}: {done.stderr.strip()}")
    return done.stdout


class Site:
    """The pages by their sources, paths from the top; pictures and other files that they refer to."""

    def __init__(self, top):
        def find(patterns):
            paths = [path for pattern in patterns for path in sorted(glob.glob(f"{top}/{pattern}"))]
            return [os.path.relpath(path, top) for path in paths]

        self.top = top
        guides = [f"doc/{name}.md" for name in GUIDES if os.path.exists(f"{top}/doc/{name}.md")]
        manuals = find(MANUALS)
        self.groups = {
            "Start": ["README.md"],
            "Guides": guides,
            "Reference": manuals + [path for path in find(["doc/*.md", "*/README.md"]) if path not in guides],
            "Results": find(["doc/results/*.md"]),
        }
        self.groups = {group: members for group, members in self.groups.items() if members}
        self.files = set(find(COPIED))
        self.targets = {path: path for path in self.files}
        for path in sum(self.groups.values(), []):
            self.targets[path] = re.sub(r"\.md$", ".html", path)
        self.targets["README.md"] = "index.html"
        self.manuals = {}
        for path in manuals:
            name, section = os.path.basename(path).rsplit(".", 1)
            self.targets[path] = self.manuals[f"{name}({section})"] = f"man/{name}.{section}.html"
        self.titles, self.bodies = {}, {}

    def read(self, path):
        with open(f"{self.top}/{path}", encoding="utf-8") as stream:
            return stream.read()

    def link(self, path, target, anchor=""):
        """From the page of PATH to TARGET, a path in the site."""
        return posixpath.relpath(target, posixpath.dirname(self.targets[path])) + anchor

    def follow(self, path, url):
        """The URL in the site for one in the document PATH; None for a source, which has no page."""
        if re.match(r"[a-z]+:", url):
            return url
        name, mark, anchor = url.partition("#")
        if not name:
            return url
        found = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        if not os.path.exists(f"{self.top}/{found}"):
            raise SiteError(f"{path}: {url}: it is not there")
        if found.endswith(PICTURES):
            self.files.add(found)
            self.targets[found] = found
        return self.link(path, self.targets[found], mark + anchor) if found in self.targets else None

    def fit_anchor(self, path, match):
        url = self.follow(path, html.unescape(match[1]))
        return f'<a href="{html.escape(url)}"{match[2]}>{match[3]}</a>' if url else match[3]

    def fit_picture(self, path, match):
        url = self.follow(path, html.unescape(match[2]))
        if not url:
            raise SiteError(f"{path}: {match[2]}: it is no picture")
        return f'{match[1]}="{html.escape(url)}"'

    def wide_picture(self, path, match):
        """A picture with words that would be too small on a narrow screen is scrolled there."""
        source = posixpath.normpath(posixpath.join(posixpath.dirname(path), re.search(r'src="([^"]*)"', match[0])[1]))
        width = re.search(r'<svg[^>]* width="(\d+)"', self.read(source)) if source.endswith(".svg") else None
        inner = re.sub(r"</?p>", "", match[0])
        return match[0] if width and int(width[1]) <= NARROW else f'<div class="scroll wide" tabindex="0">{inner}</div>'

    def link_names(self, path, text):
        """Links where the text names a document in backquotes, or a manual of ours."""
        def document(match):
            for found in (match[1], posixpath.join(posixpath.dirname(path), match[1])):
                if self.targets.get(found, self.targets[path]) != self.targets[path]:
                    return f'<a href="{self.link(path, self.targets[found])}">{match[0]}</a>'
            return match[0]

        def manual(match):
            target = self.manuals.get(f"{match[1]}({match[2]})", self.targets[path])
            return f'<a href="{self.link(path, target)}">{match[0]}</a>' if target != self.targets[path] else match[0]

        text = re.sub(r"<code>([^<\s]+)</code>", document, text)
        return re.sub(r"(?:<b>)?\b([a-z0-9][a-z0-9-]*)(?:</b>)?\(([138])\)", manual, text)

    def fit(self, path, text):
        """The links and pictures of a fragment of HTML as they are in the site. Preformatted text stays as it is."""
        parts = re.split(r"(<pre>.*?</pre>|<a .*?</a>|<h[1-6].*?</h[1-6]>)", text, flags=re.S)
        parts[::2] = [self.link_names(path, part) for part in parts[::2]]
        anchor = re.compile(r'<a href="([^"]*)"([^>]*)>(.*?)</a>', re.S)
        parts[1::2] = [anchor.sub(lambda match: self.fit_anchor(path, match), part) for part in parts[1::2]]
        text = "".join(parts)
        return re.sub(r'\b(src|srcset)="([^"]*)"', lambda match: self.fit_picture(path, match), text)

    def read_document(self, path):
        command = [os.environ.get("CMARK_GFM") or "cmark-gfm", "--unsafe", "--table-prefer-style-attributes",
                   "-e", "table", "-e", "autolink", "-e", "strikethrough"]
        text = self.fit(path, re.sub(r"<!--.*?-->\n", "", run(command, path, self.read(path)), flags=re.S))
        used = {}

        def heading(match):
            """With the id that GitHub gives it."""
            inner = re.sub(r"</?a\b[^>]*>", "", match[2])
            name = re.sub(r"[^\w\- ]", "", plain(inner).lower()).replace(" ", "-")
            used[name] = used.get(name, -1) + 1
            name += f"-{used[name]}" if used[name] else ""
            return f'<h{match[1]} id="{name}"><a href="#{name}">{inner}</a></h{match[1]}>'

        def commands(match):
            """What one types is bold."""
            return re.sub(r"(?m)((?:^|>)(?:\$|&gt;) )([^<\n]*)$", r"\1<b>\2</b>", match[0])

        text = re.sub(r"<h([1-6])>(.*?)</h\1>", heading, text, flags=re.S)
        text = re.sub(r"<pre>.*?</pre>", commands, text, flags=re.S)
        text = re.sub(r"(?<!<pre>)<code>(?=[^<]{30})", '<code class="long">', text)
        text = re.sub(r"<pre>.*?</pre>", measure, text, flags=re.S)
        text = re.sub(r"<table>.*?</table>", r'<div class="scroll">\g<0></div>', text, flags=re.S)
        text = re.sub(r"<p>(?:<img [^>]*>|<picture>.*?</picture>)</p>|<picture>.*?</picture>",
                      lambda match: self.wide_picture(path, match), text, flags=re.S)
        title = re.search(r"<h1[^>]*>(.*?)</h1>", text, re.S)
        if not title:
            raise SiteError(f"{path}: it has no title")
        self.titles[path], self.bodies[path] = plain(title[1]), text

    def read_manual(self, path):
        # In examples mandoc leaves out an empty line, and puts one before a line that begins with a blank.
        source = re.sub(r"(?ms)^\.EX$.*?^\.EE$", lambda match: re.sub(
            r"(?m)^$", ".sp", re.sub(r"(?m)^ ", r"\\& ", match[0])), self.read(path))
        text = run([os.environ.get("MANDOC") or "mandoc", "-T", "html", "-O", "fragment"], path, source)
        unwanted = r'<table class="(head|foot)">.*?</table>|<p class="Pp"></p>\n|<dt></dt>'
        text = re.sub(unwanted, "", text, flags=re.S)
        depth = {"b": 0, "i": 0}

        def once(match):
            """A bold text in a bold one is just bold."""
            depth[match[2]] += -1 if match[1] else 1
            return match[0] if depth[match[2]] == (0 if match[1] else 1) else ""

        text = re.sub(r"<(/?)([bi])>", once, text)
        text = re.sub(r"<(/?)h([12])\b", lambda match: f"<{match[1]}h{int(match[2]) + 1}", text)
        text = re.sub(r' class="(?:Pp|Sh|Ss|permalink|manual-text)"', "", text)
        text = re.sub(r"\s+</pre>", "</pre>", text)
        text = re.sub(r"<pre>.*?</pre>", lambda match: measure(match, aligns=True), text, flags=re.S)
        used = set(re.findall(r'id="([^"]*)"', text))

        def option(match):
            """With an id, which mandoc gives to some."""
            named = re.match(r"-+(\w[\w-]*)", plain(match[1]))
            if not named:
                return match[0]
            name = next(name for name in (named[1], f"{named[1]}~2", f"{named[1]}~3") if name not in used)
            used.add(name)
            return f'<dt id="{name}"><a href="#{name}">{match[1]}</a></dt>'

        text = re.sub(r"<dt>(.*?)</dt>", option, text, flags=re.S)
        name, section = os.path.basename(path).rsplit(".", 1)
        self.titles[path] = f"{name}({section})"
        self.bodies[path] = f'<h1 id="{name}">{name}({section})</h1>\n' + self.fit(path, text)

    def headings(self, path):
        """The headings of the second order: pairs of id and text."""
        found = re.findall(r'<h2\b[^>]* id="([^"]*)">(.*?)</h2>', self.bodies[path], re.S)
        return [(name, plain(text)) for name, text in found]

    def navigation(self, path):
        lines = []
        for group, members in self.groups.items():
            is_open = " open" if path in members or path == "README.md" else ""
            lines += [f"<details{is_open}>", f"<summary>{group}</summary>", "<ul>"]
            for member in members:
                here = ' aria-current="page"' if member == path else ""
                title = "Overview" if member == "README.md" else html.escape(self.titles[member])
                lines.append(f'<li><a href="{self.link(path, self.targets[member])}"{here}>{title}</a></li>')
            if members == ["README.md"]:
                lines += [f'<li><a href="{self.link(path, "index.html")}#{name}">{html.escape(text)}</a></li>'
                          for name, text in self.headings("README.md")]
            lines += ["</ul>", "</details>"]
        return "\n".join(lines)

    def contents(self, path):
        """The headings of a long page, below its title."""
        found = self.headings(path)
        if path == "README.md" or len(found) < 4:
            return self.bodies[path]
        lines = [f'<li><a href="#{name}">{html.escape(text)}</a></li>' for name, text in found]
        contents = "<details><summary>On this page</summary>\n<ul>\n" + "\n".join(lines) + "\n</ul>\n</details>"
        return self.bodies[path].replace("</h1>", f"</h1>\n{contents}", 1)

    def write(self, folder):
        template = string.Template(self.read("doc/site/page.html"))
        for path in self.bodies:
            target = self.targets[path]
            title = "ext2mb" if path == "README.md" else f"{self.titles[path]} – ext2mb"
            write(folder, target, template.substitute(
                root="../" * target.count("/"), title=html.escape(title), navigation=self.navigation(path),
                content=self.contents(path)))
        for path in self.files:
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            shutil.copyfile(f"{self.top}/{path}", f"{folder}/{path}")
        light = re.search(r":root \{.*?\n\}\n", self.read("lib/analyze/forms/page.css"), re.S)[0]
        dark = self.read("lib/analyze/forms/page_dark.css")
        colours = f"{light}@media (prefers-color-scheme: dark) {{\n:root {{\n{dark}}}\n}}\n"
        write(folder, "style.css", colours + self.read("doc/site/style.css"))
        write(folder, "search.js", self.read("doc/site/search.js"))
        pages = [(self.targets[path], self.titles[path], body) for path, body in self.bodies.items()]
        write(folder, "search-index.js", make_index(pages))


def measure(match, aligns=False):
    """Preformatted text with the length of its longest line, to which the style fits its letters; commands wrap. For ALIGNS tabs
    are as wide as the longest cell, since mandoc does not say where tabs end."""
    cells = re.findall(r"([^\t\n]*)\t", match[0]) if aligns else []
    longest = max((len(html.unescape(re.sub("<[^>]*>", "", cell))) for cell in cells), default=0)
    tab = longest + 2 if longest else 8
    text = re.sub(r"(?m)^(?:<pre>)?(?:<code[^>]*>)?(?:\$|&gt;) <b>.*$", "", match[0])
    lines = html.unescape(re.sub("<[^>]*>", "", text)).split("\n")
    columns = max(len(line.expandtabs(tab)) for line in lines)
    tabs = f"tab-size: {tab}; " if longest else ""
    return match[0].replace("<pre>", f'<pre style="{tabs}--columns: {columns or 1}">')


def write(folder, path, text):
    os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
    with open(f"{folder}/{path}", "w", encoding="utf-8") as stream:
        stream.write(text)


def main(top, folder):
    site = Site(top)
    for path in sum(site.groups.values(), []):
        if path.endswith(".md"):
            site.read_document(path)
        else:
            site.read_manual(path)
    new = f"{folder}.new"
    shutil.rmtree(new, ignore_errors=True)
    try:
        site.write(new)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: site.py TOP FOLDER")
    try:
        main(*sys.argv[1:])
    except (SiteError, OSError) as failure:
        sys.exit(f"site.py: {failure}")
