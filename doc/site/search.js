// SPDX-License-Identifier: GPL-2.0-or-later
// The box at the top of each page. The index is loaded when the box is first used; as a script, because a page of a
// local file may not read another file. doc/site/search_index.py makes it.
"use strict";
{
const most = 12;
const root = document.documentElement.dataset.root;
const form = document.querySelector("form");
const box = form.querySelector("input");
const list = form.querySelector("ol");

const load = () => {
	if (document.getElementById("search-index")) return;
	const script = document.createElement("script");

	script.id = "search-index";
	script.src = `${root}search-index.js`;
	script.onload = show;
	document.head.append(script);
};

// The weights of the sections that have a word that begins so. A whole word counts twice.
const weigh = (beginning) => {
	const weights = new Map();

	for (const [word, found] of Object.entries(searchIndex.words)) {
		if (!word.startsWith(beginning)) continue;
		for (let at = 0; at < found.length; at += 2) {
			const weight = found[at + 1] * (word === beginning ? 2 : 1);

			weights.set(found[at], Math.max(weight, weights.get(found[at]) ?? 0));
		}
	}
	return weights;
};

// The sections that have all words, the heaviest first; of equals, the one that comes first.
const search = (text) => {
	const words = text.toLowerCase().match(/(?:\B--?)?[a-z0-9_]+(?:[.-][a-z0-9_]+)*/g) ?? [];
	const [first, ...others] = words.map(weigh);

	return [...(first ?? [])]
		.filter(([section]) => others.every((weights) => weights.has(section)))
		.map(([section, weight]) => [section, others.reduce((sum, weights) => sum + weights.get(section), weight)])
		.sort((one, other) => other[1] - one[1] || one[0] - other[0])
		.slice(0, most)
		.map(([section]) => searchIndex.sections[section]);
};

const element = (name, text, ...children) => {
	const made = document.createElement(name);

	made.append(text, ...children);
	return made;
};

const show = () => {
	list.replaceChildren();
	if (typeof searchIndex === "undefined" || !box.value.trim()) return;
	for (const [url, title, page, beginning] of search(box.value)) {
		const link = element("a", element("b", title), title === page ? "" : ` ${page}`, element("small", beginning));

		link.href = root + url;
		list.append(element("li", link));
	}
	if (!list.children.length) list.append(element("li", "No section has all of these words."));
};

box.addEventListener("focus", load);
box.addEventListener("input", () => (load(), show()));
form.addEventListener("submit", (event) => {
	event.preventDefault();
	list.querySelector("a")?.click();
});
list.addEventListener("click", () => (box.value = "", show()));
document.addEventListener("keydown", ({ key }) => {
	if (key === "Escape") box.value = "", show();
});
form.hidden = false;
}
