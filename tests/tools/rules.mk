test_tools := \
	compare_trees \
	make_tree
