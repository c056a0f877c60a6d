unit_tests := \
	arena \
	crc32c \
	data_runs \
	long_map \
	pool \
	problem \
	progress \
	units \
	vector
