unit_tests :=
