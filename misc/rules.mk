# SPDX-License-Identifier: GPL-2.0-or-later
tools := e2populate
e2populate_sources := misc/e2populate.c
