# SPDX-License-Identifier: GPL-2.0-or-later
# A program for each tests/fuzz/fuzz_NAME.c: libFuzzer's with clang (make fuzz), else one that reads the corpus again.
fuzz_harnesses := \
	acl \
	archive \
	blocks \
	disk \
	image \
	journal \
	layers \
	layers_archive \
	mtree \
	pack \
	profile \
	report \
	trace \
	unpack

# Shared sources.
fuzz_parts := \
	blobs \
	fuzz \
	tar_text \
	text_mutator
