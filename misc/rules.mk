tools := e2populate
e2populate_sources := misc/e2populate.c
