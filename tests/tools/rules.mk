test_tools :=
