// SPDX-License-Identifier: GPL-2.0-or-later
// Looks at each page of the site in a frame of each width, and then at the search: what is wrong becomes lines of the
// page.
"use strict";
const say = (text) => {
	const line = document.createElement("div");

	line.textContent = `SAID ${text}`;
	document.body.append(line);
};
const frame = document.createElement("iframe");
frame.style.height = "900px";
document.body.append(frame);

const open = (page, width) => new Promise((done) => {
	frame.style.width = `${width}px`;
	frame.onload = () => done(frame.contentDocument);
	frame.src = page;
});

const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
const brightness = ([red, green, blue]) => [red, green, blue]
	.map((part) => part / 255)
	.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
	.reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0.05);

const ground = (element) => {
	const colour = parts(frame.contentWindow.getComputedStyle(element).backgroundColor);

	return colour[3] === 0 ? ground(element.parentElement) : colour;
};

// The text that has the least contrast with what is behind it.
const least = (page) => {
	const texts = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
	let worst = [99, ""];

	while (texts.nextNode()) {
		const element = texts.currentNode.parentElement;

		if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
		const bright = [brightness(parts(frame.contentWindow.getComputedStyle(element).color)), brightness(ground(element))];
		const contrast = Math.max(...bright) / Math.min(...bright);

		if (contrast < worst[0]) worst = [contrast, texts.currentNode.data.trim().slice(0, 30)];
	}
	return worst;
};

const look = async (pages, widths, words) => {
	let count = 0;

	for (const path of pages) {
		for (const width of widths) {
			const page = await open(path, width);
			const { scrollWidth } = page.documentElement;
			const [contrast, text] = least(page);

			count++;
			if (scrollWidth > width) say(`${path}: ${scrollWidth} wide of ${width}`);
			if (contrast < 4.5) say(`${path}: contrast ${contrast.toFixed(2)}: ${text}`);
			for (const image of page.images) {
				if (!image.naturalWidth) say(`${path}: ${image.src}: is not shown`);
				// Of letters of 14 pixels, 9 are left.
				if (image.src.endsWith(".svg") && image.width < 0.65 * image.naturalWidth)
					say(`${path}: ${image.src}: too small to be read: ${image.width} of ${image.naturalWidth}`);
			}
			for (const block of page.querySelectorAll("main pre"))
				if ((width >= 1300 || page.querySelector("main pre") === block && path === "index.html") && block.scrollWidth > block.clientWidth)
					say(`${path}: at ${width} cut: ${block.textContent.slice(0, 40)}`);
		}
	}
	const page = await open("doc/results/aged.html", widths[0]);
	const box = page.querySelector("input");

	box.focus();
	box.dispatchEvent(new Event("focus"));
	for (let tries = 0; tries < 200 && !frame.contentWindow.eval("typeof searchIndex === 'object'"); tries++)
		await new Promise((done) => setTimeout(done, 20));
	for (const [word, expected] of words) {
		box.value = word;
		box.dispatchEvent(new Event("input"));
		const found = [...page.querySelectorAll("form ol a")].slice(0, 3).map((link) => link.href);

		if (!found.some((url) => url.includes(expected))) say(`${word}: ${found.join(" ")}`);
		if (page.documentElement.scrollWidth > widths[0]) say(`${word}: what is found is too wide`);
	}
	const { href } = page.querySelector("form ol a");

	page.querySelector("form").requestSubmit();
	await new Promise((done) => (frame.onload = done, setTimeout(done, 5000)));
	if (frame.contentWindow.location.href !== href) say(`Enter leads to ${frame.contentWindow.location.href}`);
	say(`looked ${count} times and found ${words.length} words`);
};
