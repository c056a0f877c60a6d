# Published with Geriatrix as "wang_os".
# The figures are those of github.com/saurabhkadekodi/geriatrix (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC '18);
# how files are written is not part of them.
size 0 12
size 512 8
size 1024 9
size 2048 12
size 4096 18
size 8192 12
size 16384 10
size 32768 9
size 65536 5
size 131072 1
size 262144 1
size 524288 1
size 1048576 1
size 2097152 1
size 4194304 1
age 16 1
age 32 1
age 64 2
age 128 3
age 256 19
age 512 30
age 1024 28
age 2048 12
age 4096 1
age 8192 1
depth 0 1 0
