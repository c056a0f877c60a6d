// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the page of the reports in it. Every text from them goes through text nodes: names of files are not markup.
"use strict";

const root = document.documentElement;
const reports = JSON.parse(document.getElementById("reports").textContent);
const redraws = [];

// ---- Elements ------------------------------------------------------------------------------------------------------

function make(tag, attributes, ...children) {
	const element = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes || {}))
		element.setAttribute(name, value);
	for (const child of children.flat())
		if (child !== null && child !== undefined)
			element.append(child);
	return element;
}

const number = (value, decimals = 0) =>
	Number(value).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: Math.max(decimals, 3) });
// Halves go to the even number, as in the other forms.
const rounded = (value) => {
	const nearest = Math.round(value);

	return number(nearest - value === 0.5 && nearest % 2 ? nearest - 1 : nearest);
};
const counted = (value, word) => `${number(value)} ${word}${value === 1 ? "" : "s"}`;
const percent = (part, whole) => `${(whole ? (100 * part) / whole : 0).toFixed(1)} %`;

function size(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let unit = 0;

	while (bytes >= 1024 && unit + 1 < units.length) {
		bytes /= 1024;
		unit++;
	}
	return `${unit && bytes < 100 && bytes % 1 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

// A control character would be invisible, or turn the text round.
const printable = (name) =>
	name.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

const path_of = (row) => (row.path === null ? `(no name: inode ${row.inode})` : printable(row.path));

function tiles(pairs) {
	return make("dl", { class: "tiles" },
		pairs.map(([name, value, hint]) =>
			make("div", hint ? { title: hint } : {}, make("dt", {}, name), make("dd", {}, value))));
}

// A path, which a click selects as a whole, and a button that copies it. A name that is no text has no such button.
function path_cell(row) {
	const shown = make("span", { class: "path" }, path_of(row));
	const button = make("button", { type: "button", class: "copy", "aria-label": `Copy ${path_of(row)}`, title: "Copy the path" });

	if (row.path === null || row.path_hex !== undefined)
		return shown;
	button.addEventListener("click", () => {
		const done = () => {
			button.classList.add("done");
			setTimeout(() => button.classList.remove("done"), 1500);
		};

		if (navigator.clipboard)
			navigator.clipboard.writeText(row.path).then(done, () => getSelection().selectAllChildren(shown));
		else
			getSelection().selectAllChildren(shown);
	});
	return [shown, button];
}

// Buttons of one kind are one stop of the Tab key, and arrows lead from one to the next: a page with hundreds of paths would have
// hundreds of stops. Those that come later count, too.
function rove(box, selector) {
	const buttons = () => [...box.querySelectorAll(selector)];
	const settle = (current) => buttons().forEach((button) => (button.tabIndex = button === current ? 0 : -1));

	box.addEventListener("focusin", ({ target }) => {
		if (target.matches(selector))
			settle(target);
	});
	box.addEventListener("keydown", (event) => {
		const all = buttons(), at = all.indexOf(event.target);
		const next = { ArrowUp: at - 1, ArrowLeft: at - 1, ArrowDown: at + 1, ArrowRight: at + 1, Home: 0,
			End: all.length - 1 }[event.key];

		if (at < 0 || next === undefined)
			return;
		event.preventDefault();
		all[Math.max(0, Math.min(all.length - 1, next))].focus();
	});
	settle(buttons()[0]);
	return box;
}

// What is wider than its box can be scrolled by keys, for which it has to be a stop.
const scrollers = new Set();
redraws.push(() => scrollers.forEach((box) => {
	if (box.scrollWidth > box.clientWidth)
		box.tabIndex = 0;
	else
		box.removeAttribute("tabindex");
}));

// What a cell is sorted by: a number with its unit, or words.
function sort_key(cell) {
	const [, value, unit] = cell.textContent.match(/^([+-]?[0-9][0-9,.]*) ?([KMGTP]iB|B|%)?$/) || [];

	if (value === undefined)
		return cell.textContent;
	return Number(value.replaceAll(",", "")) * 1024 ** Math.max(0, "BKMGTP".indexOf((unit || "B")[0]));
}

// Numbers begin with the largest, words with the first. Rows without a value come last.
function sort_rows(body, heads, index) {
	const head = heads[index], rows = [...body.rows];
	const keys = new Map(rows.map((row) => [row, sort_key(row.cells[index])]));
	const is_text = rows.some((row) => typeof keys.get(row) === "string" && keys.get(row) !== "");
	const was = head.getAttribute("aria-sort");
	const order = was ? (was === "descending" ? "ascending" : "descending") : is_text ? "ascending" : "descending";
	const compare = (left, right) => {
		const [a, b] = [keys.get(left), keys.get(right)];

		if (a === "" || b === "")
			return (a === "") - (b === "");
		return (is_text ? String(a).localeCompare(String(b)) : a - b) * (order === "ascending" ? 1 : -1);
	};

	heads.forEach((other) => other.removeAttribute("aria-sort"));
	head.setAttribute("aria-sort", order);
	body.append(...rows.sort(compare));
}

// columns: [title, of a row, is it text, or "word"]. A table without rows is left out.
function table(caption, columns, rows) {
	const class_of = (column) => (column[2] ? { class: column[2] === true ? "text" : column[2] } : {});
	const body = make("tbody", {}, rows.map((row) =>
		make("tr", {}, columns.map((column) => make("td", class_of(column), column[1](row))))));
	const heads = columns.map((column, index) => {
		const button = make("button", { type: "button", class: "sort" }, column[0]);

		button.addEventListener("click", () => sort_rows(body, heads, index));
		return make("th", Object.assign({ scope: "col" }, class_of(column)),
			[...body.rows].some((row) => row.cells[index].textContent) && rows.length > 1 ? button : column[0]);
	});

	if (!rows.length)
		return null;
	const made = make("div", { class: "scroll", role: "group", "aria-label": caption },
		make("table", {}, make("caption", {}, caption), rove(make("thead", {}, make("tr", {}, heads)), ".sort"),
			rove(body, ".copy")));

	scrollers.add(made);
	return made;
}

function chart(title, from_title, rows, name_of, count_title, count_of, sum_title, sum_of) {
	const all = rows.reduce((sum, row) => sum + sum_of(row), 0);
	const bar = (row) => {
		const counts = count_of(row) === 1 ? count_title.replace(/s$/, "") : count_title;
		const text = `${name_of(row)}: ${number(count_of(row))} ${counts}, ` +
			`${percent(sum_of(row), all)} of the ${sum_title}`;
		const filled = make("i");

		// Of all, as the number beside it: 21 % must not look full.
		filled.style.width = `${all ? (100 * sum_of(row)) / all : 0}%`;
		return make("div", { class: "track", title: text, role: "img", "aria-label": text }, filled);
	};
	const made = table(title, [
		[from_title, name_of],
		[count_title, (row) => number(count_of(row))],
		["share", (row) => percent(sum_of(row), all)],
		[`of the ${sum_title}`, bar],
	], rows);

	if (made)
		made.classList.add("chart");
	return made;
}

// ---- The map of the groups -----------------------------------------------------------------------------------------

const MIB = 1 << 20;
const kinds = [
	["full", "used, less than 1 % free"],
	["whole", "free in extents of 8 MiB or more on average"],
	["pieces", "free in extents of 1 to 8 MiB"],
	["scattered", "free in extents below 1 MiB"],
	["unknown", "cannot be read or is wrong"],
];

function kind_of([free, extents, , blocks, unreadable], block_bytes) {
	const mean = extents ? (free / extents) * block_bytes : 0;

	if (unreadable)
		return "unknown";
	if (free < blocks / 100)
		return "full";
	return mean >= 8 * MIB ? "whole" : mean >= MIB ? "pieces" : "scattered";
}

function describe(map, index, block_bytes, groups) {
	const [free, extents, largest, blocks] = map.cells[index];
	const first = index * map.groups_per_cell;
	const last = Math.min(first + map.groups_per_cell, groups) - 1;

	return `${first === last ? `group ${first}` : `groups ${first} to ${last}`}: ${size(free * block_bytes)} free ` +
		`(${percent(free, blocks)}) in ${counted(extents, "extent")}, the largest ${size(largest * block_bytes)}`;
}

function draw(canvas, map, block_bytes, chosen) {
	const style = getComputedStyle(root);
	const ratio = window.devicePixelRatio || 1;
	const width = canvas.clientWidth || 600;
	const count = map.cells.length;
	// Cells of 6 to 32 pixels, so that thousands need no more than a screen.
	const side = Math.max(6, Math.min(32, Math.floor(Math.sqrt((width * 260) / count))));
	const columns = Math.max(1, Math.floor(width / side));

	canvas.width = width * ratio;
	canvas.height = Math.ceil(count / columns) * side * ratio;
	canvas.style.height = `${canvas.height / ratio}px`;
	const context = canvas.getContext("2d");

	context.scale(ratio, ratio);
	map.cells.forEach((cell, index) => {
		const x = (index % columns) * side, y = Math.floor(index / columns) * side, inner = side - 1;
		const kind = kind_of(cell, block_bytes);

		// What is used fills the cell from below.
		context.fillStyle = style.getPropertyValue(kind === "full" ? "--full" : `--${kind}`);
		context.fillRect(x, y, inner, inner);
		if (kind !== "full" && kind !== "unknown") {
			// What is free can be seen.
			const used = Math.min(inner - 2, Math.round(inner * (1 - cell[0] / cell[3])));

			context.fillStyle = style.getPropertyValue("--full");
			context.fillRect(x, y + inner - used, inner, used);
		}
	});
	if (chosen >= 0) {
		context.strokeStyle = style.getPropertyValue("--text");
		context.lineWidth = 2;
		context.strokeRect((chosen % columns) * side, Math.floor(chosen / columns) * side, side - 1, side - 1);
	}
	return { side, columns };
}

const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

function map_section({ report, map }) {
	const block_bytes = report.filesystem.block_bytes, groups = report.filesystem.groups;
	const canvas = make("canvas", { tabindex: "0", role: "img", "aria-label":
		"Map of the block groups. Arrow keys go from one to the next." });
	const has_files = map.files !== undefined;
	const hint = has_files ? "Point at a group for its figures, click for its files; or use the arrow keys and Enter." :
		"Point at a group, or use the arrow keys, to see its figures.";
	const files = make("div", { "aria-live": "polite" });
	const says = make("output", { "aria-live": "polite" }, hint);
	let chosen = -1, layout = { side: 1, columns: 1 };
	const redraw = () => {
		layout = draw(canvas, map, block_bytes, chosen);
	};
	const choose = (index) => {
		chosen = index;
		says.textContent = index < 0 ? hint : describe(map, index, block_bytes, groups);
		canvas.title = index < 0 ? "" : says.textContent;
		redraw();
	};

	const point = (event) => {
		const column = Math.floor(event.offsetX / layout.side), row = Math.floor(event.offsetY / layout.side);
		const index = row * layout.columns + column;

		if (index !== chosen)
			choose(column < layout.columns && index < map.cells.length ? index : -1);
	};
	// What a group has in it: the files with the most extents there.
	const open = () => {
		if (!has_files || chosen < 0)
			return;
		const name = describe(map, chosen, block_bytes, groups).replace(/:.*/, "");

		files.replaceChildren(table(`Files with the most extents in ${name}`, [
			["extents", (row) => number(row.extents)],
			["size in it", (row) => size(row.blocks * block_bytes)],
			["path", path_cell, true],
		], map.files[chosen]) || make("p", {}, `No file has blocks in ${name}.`));
		redraws[0]();
	};

	canvas.addEventListener("pointermove", point);
	canvas.addEventListener("click", (event) => {
		point(event);
		open();
	});
	canvas.addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			open();
		const step = { ArrowUp: -layout.columns, ArrowDown: layout.columns, ...steps }[event.key];

		if (step === undefined)
			return;
		event.preventDefault();
		choose(Math.max(0, Math.min(map.cells.length - 1, chosen + step)));
	});
	redraws.push(redraw);
	const used = new Set(map.cells.map((cell) => kind_of(cell, block_bytes)));

	return make("section", {},
		make("h2", {}, "Map of the groups"),
		make("p", { class: "faint" }, `${counted(groups, "group")} from the first to the last, ` +
			`${map.groups_per_cell === 1 ? "each a cell" : `${number(map.groups_per_cell)} in a cell`}; ` +
			"grey, from below, is what is used."),
		canvas, says, files,
		make("ul", { class: "legend" }, kinds.filter(([kind]) => used.has(kind)).map(([kind, words]) => {
			const colour = make("i");

			colour.style.background = `var(--${kind})`;
			return make("li", {}, colour, words);
		})));
}

// ---- Sections ------------------------------------------------------------------------------------------------------

const bands = { fine: "fine", "a little fragmented": "little", defragment: "bad" };
const kinds_of_files = [
	["scattered", "in many short pieces"],
	["sparse", "in pieces by holes and unwritten parts"],
	["split", "in a few short pieces"],
];

// e4defrag's, in small: it knows nothing of free space, and little of few files.
function score_parts({ score, score_words }) {
	const mark = make("i");

	mark.style.left = `${score}%`;
	return make("div", { class: "score" },
		make("p", { class: "faint" }, `e4defrag's score: ${rounded(score)} of 100, ${score_words}`),
		make("div", { class: "scale", role: "img", "aria-label": "0 to 30 is fine, 31 to 55 a little fragmented" },
			mark),
		make("p", { class: "faint" }, "0 to 30 is fine, 31 to 55 a little fragmented, 56 and more wants defragmentation"));
}

function verdict_section({ report }) {
	const { verdict, filesystem } = report;
	const has_score = verdict.score !== undefined;
	const is_good = !["free space in pieces", "files in pieces", "files and free space in pieces", "short of inodes"]
		.includes(verdict.words);
	const files = kinds_of_files.filter(([kind]) => has_score && verdict[kind].files).map(([kind, how]) => {
		const { files, blocks } = verdict[kind];

		return make("p", {}, `${kind}: ${counted(files, "file")} ${how}, ` +
			`${size(blocks * filesystem.block_bytes)} (${percent(blocks, verdict.all.blocks)})`);
	});

	return make("section", {},
		make("h2", { class: `verdict ${is_good ? bands[verdict.score_words] || "" : "bad"}` }, `Verdict: ${verdict.words}`),
		verdict.advice.map((sentence) => make("p", {}, sentence)),
		files,
		verdict.words.endsWith("free space in pieces") ?
			make("p", {}, `half of the free space is in extents of up to ${size(report.free.weighted_median_kb * 1024)}; ` +
				`${size(verdict.free_limit_kb * 1024)} would be good`) : null,
		has_score ? score_parts(verdict) : null);
}

function free_section({ report }) {
	const { free, filesystem } = report;
	const bytes = (row) => row.from_blocks * filesystem.block_bytes;

	return make("section", {},
		make("h2", {}, "Free space"),
		tiles([
			["free", size(free.blocks * filesystem.block_bytes), counted(free.blocks, "block")],
			["of the filesystem", percent(free.blocks, filesystem.blocks)],
			["extents", number(free.extents)],
			["mean extent", size(free.avg_kb * 1024)],
			["median extent", size(free.median_kb * 1024)],
			["half is in at least", size(free.weighted_median_kb * 1024),
				"Half of the free space is in extents of at least this size"],
			["largest extent", size(free.max_kb * 1024)],
			["largest allocation", size(free.largest_allocatable_kb * 1024), "Within one block group"],
		]),
		chart("Free extents by size", "size from", free.histogram, (row) => size(bytes(row)), "extents",
			(row) => row.count, "free space", (row) => row.blocks));
}

function files_section({ report }) {
	const { files, filesystem, directories } = report;
	const jumps = files.seeks_inside.jumps + files.seeks_between.jumps;

	return make("section", {},
		make("h2", {}, "Files"),
		tiles([
			["files with blocks", number(files.count), `${number(files.empty)} more have none`],
			["their blocks", size(files.blocks * filesystem.block_bytes)],
			["extents", number(files.extents), `${number(files.ideal_extents)} at best`],
			["extents per file", files.avg_extents.toFixed(3)],
			["mean extent", size(files.avg_extent_kb * 1024)],
			["fragmented files", percent(files.fragmented_files, files.count),
				`${counted(files.fragmented_files, "file")} in more extents than needed`],
			["jumps in reading all", number(jumps), "In the order of inode numbers"],
			["directories", number(directories.all), counted(directories.extents, "extent")],
			["free inodes", number(filesystem.free_inodes), `of ${number(filesystem.inodes)}`],
			["slack", percent(files.slack_bytes, files.owned_blocks * filesystem.block_bytes),
				`${size(files.slack_bytes)} after the ends of files, in blocks that they own`],
			["preallocated", size(files.unwritten_blocks * filesystem.block_bytes),
				files.most_preallocated.map((row) => path_of(row)).join(", ")],
			["in nearly empty directories", size(directories.nearly_empty_blocks * filesystem.block_bytes),
				directories.largest_nearly_empty.map((row) => path_of(row)).join(", ")],
		]),
		chart("Extents of files by size", "size from", files.extent_blocks_histogram,
			(row) => size(row.from_blocks * filesystem.block_bytes), "extents", (row) => row.count,
			"files' blocks", (row) => row.blocks),
		chart("Files by number of extents", "extents from", files.extents_per_file_histogram,
			(row) => number(row.from_extents), "files", (row) => row.count, "files", (row) => row.count));
}

function worst_section({ report }) {
	const rows = report.worst;

	return make("section", {},
		make("h2", {}, "Worst files"),
		rows.length ? table("The most runs more than needed, sparse files last", [
			["runs", (row) => number(row.runs)],
			["extents", (row) => number(row.extents)],
			["ideal", (row) => number(row.ideal)],
			["size", (row) => size(row.blocks * report.filesystem.block_bytes)],
			["kind", (row) => row.kind, "word"],
			["path", path_cell, true],
		], rows) : make("p", {}, "No file has more runs than it needs."));
}

// Divides a box among items, the largest first: two parts of about the same sum, side by side or one above the other.
function divide(items, box, place) {
	const sum = (some) => some.reduce((all, item) => all + item.value, 0);
	let count = 1;

	if (items.length < 2)
		return items.forEach((item) => place(item, box));
	while (count < items.length - 1 && sum(items.slice(0, count + 1)) <= sum(items) / 2)
		count++;
	const share = sum(items.slice(0, count)) / sum(items);
	const [x, y, width, height] = box;
	const parts = width >= height ?
		[[x, y, width * share, height], [x + width * share, y, width * (1 - share), height]] :
		[[x, y, width, height * share], [x, y + height * share, width, height * (1 - share)]];

	divide(items.slice(0, count), parts[0], place);
	divide(items.slice(count), parts[1], place);
}

const band_of = (score) => (score < 30.5 ? "whole" : score < 55.5 ? "pieces" : "scattered");

// Directories as tiles whose areas are their extents; a click goes into one, or back up.
function treemap(rows) {
	const above = (path) => (path === "/" ? null : path.replace(/\/[^/]*$/, "") || "/");
	const holder = make("div");
	const way = make("p", { class: "faint" });
	const show = (top) => {
		const inside = rows.filter((row) => above(row.path) === top.path);
		const own = top.extents - inside.reduce((sum, row) => sum + row.extents, 0);
		const items = inside.map((row) => ({ row, value: row.extents, name: printable(row.path.replace(/.*\//, "")) }));
		const up = make("button", { type: "button" }, "Up");
		const tiles = make("div", { class: "treemap" });

		if (own > 0)
			items.push({ row: top, value: own, name: "(files in it)" });
		items.sort((left, right) => right.value - left.value);
		up.addEventListener("click", () => show(rows.find((row) => row.path === above(top.path))));
		way.replaceChildren(...(top.path === "/" ? [] : [up, " "]),
			`${printable(top.path)}: ${counted(top.extents, "extent")}, as areas. `);
		// The shape of a wide screen; all is in percent of the box.
		divide(items, [0, 0, 200, 100], ({ row, value, name }, [x, y, width, height]) => {
			const has_more = row !== top && rows.some((other) => above(other.path) === row.path);
			const text = `${name}: ${counted(value, "extent")}, score ${rounded(row.score)}`;
			const tile = make(has_more ? "button" : "div", { class: `tile ${band_of(row.score)}`, title: text },
				make("span", {}, name), make("span", { class: "faint" }, number(value)));

			Object.assign(tile.style, { left: `${x / 2}%`, top: `${y}%`, width: `${width / 2}%`, height: `${height}%` });
			if (has_more)
				tile.addEventListener("click", () => show(row));
			tiles.append(tile);
		});
		holder.replaceChildren(rove(tiles, "button.tile"));
	};
	let top = rows.find((row) => row.path === "/");

	if (!top || rows.length < 2)
		return null;
	// Where all lies in one directory, the map begins there.
	for (let only; (only = rows.find((row) => above(row.path) === top.path && row.extents === top.extents)); top = only)
		if (!rows.some((row) => above(row.path) === only.path))
			break;
	show(top);
	return [way, holder, make("ul", { class: "legend" }, [["whole", "score up to 30"], ["pieces", "31 to 55"],
		["scattered", "56 and more"]].map(([kind, words]) => make("li", {}, make("i", { class: kind }), words)))];
}

function directories_section({ report }) {
	return make("section", {},
		make("h2", {}, "By directory"),
		treemap(report.by_directory),
		table("Files below it, those of subdirectories included", [
			["score", (row) => rounded(row.score)],
			["files", (row) => number(row.files)],
			["runs", (row) => number(row.runs)],
			["extents", (row) => number(row.extents)],
			["ideal", (row) => number(row.ideal)],
			["size", (row) => size(row.blocks * report.filesystem.block_bytes)],
			["path", path_cell, true],
		], report.by_directory));
}

function outlook_section({ report }) {
	const { outlook, files, free, filesystem } = report;
	const bytes = (blocks) => size(blocks * filesystem.block_bytes);

	return make("section", {},
		make("h2", {}, "Outlook"),
		table("If they were in as few runs as is ideal", [
			["mended", (row) => row[0], true],
			["files", (row) => number(row[1])],
			["score", (row) => rounded(row[2])],
			["score now", () => rounded(files.score)],
		], [["the worst files, named here", outlook.worst_files, outlook.worst_score],
			["all scattered files", outlook.scattered_files, outlook.scattered_score]].filter((row) => row[1])),
		outlook.asked_blocks ? table(`If files of ${bytes(outlook.deleted_blocks)} were deleted ` +
			`(${number(outlook.deleted_files)}, chosen as if by lot)`, [
			["free space", (row) => row[0], true],
			["then", (row) => row[1]],
			["now", (row) => row[2]],
		], [["size", bytes(outlook.free_blocks), bytes(free.blocks)],
			["extents", number(outlook.free_extents), number(free.extents)],
			["half is in at least", size(outlook.free_weighted_median_kb * 1024), size(free.weighted_median_kb * 1024)],
			["largest allocation", size(outlook.largest_allocatable_kb * 1024), size(free.largest_allocatable_kb * 1024)],
		]) : null);
}

// A curve from zero up, with a point for each report.
function curve(title, entries, value_of, shown) {
	const name = "http://www.w3.org/2000/svg", width = 240, height = 70;
	const values = entries.map(value_of), most = Math.max(...values) || 1;
	const svg = document.createElementNS(name, "svg");
	const place = (index) => [6 + (index * (width - 12)) / Math.max(1, values.length - 1),
		height - 6 - (values[index] / most) * (height - 12)];
	const add = (tag, attributes) => {
		const element = document.createElementNS(name, tag);

		for (const [key, value] of Object.entries(attributes))
			element.setAttribute(key, value);
		svg.append(element);
		return element;
	};

	svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
	svg.setAttribute("role", "img");
	svg.setAttribute("aria-label", `${title}: ${values.map(shown).join(", ")}`);
	add("polyline", { points: values.map((value, index) => place(index).join(",")).join(" ") });
	values.forEach((value, index) => {
		const [cx, cy] = place(index), words = document.createElementNS(name, "title");

		words.textContent = `${entries[index].time ? entries[index].time.slice(0, 10) : "now"}: ${shown(value)}`;
		add("circle", { cx, cy, r: 3 }).append(words);
	});
	return make("div", {}, make("dt", {}, title), make("dd", {}, `${shown(values[0])} \u2192 ${shown(values.at(-1))}`), svg);
}

function history_section({ report }) {
	const entries = report.history;
	const kilobytes = (value) => size(value * 1024);
	const shown = [
		["score", "score", (value) => value.toFixed(1)],
		["extents a file", "avg_extents", (value) => value.toFixed(3)],
		["files in too many extents", "fragmented_files", number],
		["free space", "free_kb", kilobytes],
		["free extents", "free_extents", number],
		["half is in at least", "free_weighted_median_kb", kilobytes],
	].filter(([, key]) => entries[0][key] !== undefined);

	return make("section", {},
		make("h2", {}, "History"),
		make("dl", { class: "tiles" }, shown.map(([title, key, form]) => curve(title, entries, (entry) => entry[key], form))),
		table("The saved reports", [
			["written", (entry) => (entry.time ? entry.time.slice(0, 16).replace("T", " ") : "now"), true],
			...shown.map(([title, key, form]) => [title, (entry) => form(entry[key])]),
			["verdict", (entry) => printable(entry.verdict || ""), true],
			["report", (entry) => (entry.path === null ? "" : printable(entry.path)), true],
		], entries));
}

function unlink_section({ report }) {
	const { unlink } = report;
	const bitmaps = unlink.block_bitmaps + unlink.inode_bitmaps;

	return make("section", {},
		make("h2", {}, "Unlink cost"),
		make("p", { class: "faint" },
			`What deleting all files would write, in transactions of ${counted(unlink.batch_files, "file")}.`),
		tiles([
			["files", number(unlink.files)],
			["block bitmaps", number(unlink.block_bitmaps)],
			["inode bitmaps", number(unlink.inode_bitmaps)],
			["writes of bitmaps", number(unlink.writes)],
			["writes of each", (bitmaps ? unlink.writes / bitmaps : 0).toFixed(1)],
			["shared bitmaps", number(unlink.shared_bitmaps), "Block bitmaps of more than one directory's files"],
		]),
		unlink.costly.length ? table("The directories whose files cost most", [
			["writes", (row) => number(row.writes)],
			["files", (row) => number(row.files)],
			["block bitmaps", (row) => number(row.block_bitmaps)],
			["shared", (row) => number(row.shared_bitmaps)],
			["inode bitmaps", (row) => number(row.inode_bitmaps)],
			["path", path_cell, true],
		], unlink.costly) : null,
		unlink.shared.length ? table("The block bitmaps that most directories share", [
			["group", (row) => number(row.group)],
			["directories", (row) => number(row.directories)],
			["most of their files in", (row) => row.most.map((sharer) =>
				make("div", {}, `${path_of(sharer)} (${number(sharer.files)})`)), true],
		], unlink.shared) : null);
}

function damage_section({ report }) {
	const { count, first } = report.unreadable;
	const why = report.filesystem.missing_blocks ? "the filesystem is cut off" :
		report.filesystem.mounted ? "the filesystem is mounted and changes while it is read" : "run e2fsck";

	return make("section", {},
		make("h2", { class: "bad" }, `Cannot be read or is wrong: ${number(count)}`),
		make("p", {}, `It is left out of all figures: ${why}.`),
		table("The first of it", [
			["group", (row) => (row.group === undefined ? "" : number(row.group))],
			["inode", (row) => (row.inode ? number(row.inode) : "")],
			["block", (row) => (row.block ? number(row.block) : "")],
			["what", (row) => row.what, true],
		], first));
}

function change_section(change) {
	const decimals = (row) => Math.max(...[row.before, row.after, row.difference].map((value) =>
		(String(value).split(".")[1] || "").length));
	const signed = (row) => {
		const is_better = row.better !== "any" && row.difference !== 0 &&
			(row.difference < 0) === (row.better === "low");
		const is_worse = row.better !== "any" && row.difference !== 0 && !is_better;

		return make("span", { class: is_better ? "fine" : is_worse ? "bad" : "" },
			`${row.difference > 0 ? "+" : ""}${number(row.difference, decimals(row))}`,
			make("span", { class: "word" }, is_better ? " better" : is_worse ? " worse" : ""));
	};

	return make("section", {},
		make("h2", {}, "Before and after"),
		table("The figures of both", [
			["figure", (row) => row.name, true],
			["before", (row) => number(row.before, decimals(row))],
			["after", (row) => number(row.after, decimals(row))],
			["change", signed],
			["in %", (row) => (row.percent === null ? "" : `${row.percent > 0 ? "+" : ""}${row.percent.toFixed(1)}`)],
		], Object.values(change)));
}

function subject_heading({ report }, title) {
	const { filesystem } = report;
	const parts = [`${size(filesystem.blocks * filesystem.block_bytes)} in blocks of ${number(filesystem.block_bytes)} bytes`,
		counted(filesystem.groups, "group")];

	if (filesystem.cluster_blocks > 1)
		parts.push(`clusters of ${counted(filesystem.cluster_blocks, "block")}`);
	if (filesystem.label)
		parts.push(`label ${printable(filesystem.label)}`);
	parts.push(`UUID ${filesystem.uuid}`);
	return make("div", {}, title ? make("h2", {}, `${title}: ${printable(filesystem.target)}`) : null,
		make("p", { class: "faint" }, parts.join(", ")));
}

// Every section of all subjects, side by side or, where there is no room for that, one below the other.
function sections(subjects, titles) {
	const made = [];
	const titled = (section, title) => {
		if (title)
			section.querySelector("h2").append(make("span", { class: "faint" }, ` \u2013 ${title.toLowerCase()}`));
		return section;
	};
	const add = (has, section) => {
		if (subjects.some((subject) => has(subject.report)))
			made.push(...subjects.map((subject, index) =>
				(has(subject.report) ? titled(section(subject), titles[index]) : make("div", {}))));
	};

	add((report) => report.unreadable.count, damage_section);
	add((report) => report.verdict, verdict_section);
	add((report) => report.history, history_section);
	add((report) => report.free, map_section);
	add((report) => report.free, free_section);
	add((report) => report.files, files_section);
	add((report) => report.worst, worst_section);
	add((report) => report.outlook && (report.outlook.scattered_files || report.outlook.worst_files ||
		report.outlook.asked_blocks), outlook_section);
	add((report) => report.by_directory && report.by_directory.length, directories_section);
	add((report) => report.unlink, unlink_section);
	return made;
}

// ---- The page ------------------------------------------------------------------------------------------------------

const prefers_dark = window.matchMedia("(prefers-color-scheme: dark)");
const theme_button = make("button", { type: "button" });

function set_theme(theme) {
	root.dataset.theme = theme;
	theme_button.textContent = theme === "dark" ? "Light theme" : "Dark theme";
	redraws.forEach((redraw) => redraw());
}

function start() {
	const { subjects, change } = reports;
	const names = subjects.map((subject) => printable(subject.report.filesystem.target));
	const titles = subjects.length > 1 ? ["Before", "After"] : [""];

	document.title = `e2frag: ${names.join(" and ")}`;
	theme_button.addEventListener("click", () => set_theme(root.dataset.theme === "dark" ? "light" : "dark"));
	prefers_dark.addEventListener("change", () => set_theme(prefers_dark.matches ? "dark" : "light"));
	window.addEventListener("resize", () => redraws.forEach((redraw) => redraw()));
	document.getElementById("page").append(
		make("header", {},
			make("div", {}, make("h1", {}, subjects.length > 1 ? "Fragmentation, before and after" : names[0]),
				subjects.length > 1 ? null : subject_heading(subjects[0], "")),
			theme_button),
		...(change ? [change_section(change)] : []),
		make("div", { class: subjects.length > 1 ? "subjects two" : "subjects" },
			subjects.length > 1 ? subjects.map((subject, index) => subject_heading(subject, titles[index])) : null,
			sections(subjects, titles)));
	set_theme(prefers_dark.matches ? "dark" : "light");
}

start();
