unit_tests := \
	arena \
	crc32c \
	pool \
	problem \
	progress \
	units \
	vector
