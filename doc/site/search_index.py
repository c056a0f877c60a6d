# SPDX-License-Identifier: GPL-2.0-or-later
"""The index that doc/site/search.js reads: sections of pages, and for each word the sections that have it."""
import html
import json
import re

# The search shows so many characters of a section's text with its title.
BEGINNING = 110


def plain(text):
    """What a fragment of HTML says."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split())


def words_of(text):
    """Its words in small letters, those with a hyphen as a whole and in parts, options with their dashes and without; numbers
    and sums are none."""
    for word in re.findall(r"(?:\B--?)?[a-z0-9_]+(?:[.-][a-z0-9_]+)*", text.lower()):
        bare = word.lstrip("-")
        for part in {word, bare, *re.split(r"[.-]", bare)}:
            if re.match(r"-|[a-z_]", part) and 2 <= len(part) <= 32:
                yield part


def sections_of(url, title, body):
    """Each heading, and each option of a manual, begins a section: its URL, title and text."""
    parts = re.split(r'<(?:h[1-6]|dt)\b[^>]* id="([^"]*)">', body)
    for name, part in zip(parts[1::2], parts[2::2]):
        heading, _, text = re.split(r"</(h[1-6]|dt)>", part, maxsplit=1)
        heading = plain(heading)
        yield (f"{url}#{name}", heading, plain(text)) if heading != title else (url, heading, plain(text))


def make_index(pages):
    """A program for the browser, because a page of a local file may load no data. PAGES are (URL, title, body).

    A word in a title weighs eight times what one in the text does, up to four of which count; a title that
    has fewer other words weighs more, and an option is found first where it is explained. The sections of each word come with their weights, the heaviest first.
    """
    sections, words = [], {}
    for url, title, body in pages:
        for address, heading, text in sections_of(url, title, body):
            weights = {}
            for word in words_of(text):
                weights[word] = min(weights.get(word, 0) + 1, 4)
            titles = list(words_of(heading))
            for word in titles:
                weights[word] = weights.get(word, 0) + 8 + 8 // len(titles)
                if heading.startswith("-") and word.startswith("-"):
                    weights[word] += 16
            for word, weight in weights.items():
                words.setdefault(word, []).append((-weight, len(sections)))
            if len(text) > BEGINNING:
                text = text[:BEGINNING].rsplit(" ", 1)[0] + " …"
            sections.append([address, heading, title, text])
    lists = {word: [number for weight, section in sorted(found) for number in (section, -weight)]
             for word, found in sorted(words.items())}
    index = json.dumps({"sections": sections, "words": lists}, ensure_ascii=False, separators=(",", ":"))
    return f"searchIndex = {index};\n"
