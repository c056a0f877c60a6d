ext2mb_sources :=
