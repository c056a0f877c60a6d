populate_sources :=
