# Published with Geriatrix as "wang_lanl".
# The figures are those of github.com/saurabhkadekodi/geriatrix (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC '18);
# how files are written is not part of them.
size 32 1
size 512 1
size 2048 1
size 4096 1
size 32768 1
size 65536 1
size 131072 47
size 262144 20
size 524288 10
size 1048576 1
size 2097152 1
age 2 1
age 4 1
age 8 1
age 16 1
age 32 3
age 64 35
age 128 51
age 256 42
age 512 47
age 1024 18
age 2048 1
age 4096 1
depth 0 1 0
