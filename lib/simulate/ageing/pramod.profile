# Published with Geriatrix as "pramod".
# The figures are those of github.com/saurabhkadekodi/geriatrix (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC '18);
# how files are written is not part of them.
size 1024 365208
size 2048 131796
size 4096 115274
size 8192 97335
size 16384 65749
size 32768 36649
size 65536 26563
size 131072 18681
size 262144 9046
size 524288 4537
size 1048576 3457
size 2097152 2426
size 4194304 4395
size 8388608 2190
size 16777216 1127
size 33554432 418
size 67108864 245
size 134217728 160
size 268435456 81
size 536870912 12
size 1073741824 32
size 2147483648 12
size 4294967296 1
size 8589934592 1
size 17179869184 1
size 34359738368 1
age 1 32
age 2 0
age 4 0
age 8 0
age 16 0
age 32 0
age 64 0
age 128 0
age 256 0
age 512 0
age 1024 7632
age 2048 6780
age 4096 2735
age 8192 73004
age 16384 584199
age 32768 211013
depth 0 0 3
depth 1 17 25
depth 2 147 7
depth 3 604 2
depth 4 2498 2
depth 5 3994 3
depth 6 5525 2
depth 7 10947 1
depth 8 11409 1
depth 9 12275 1
depth 10 9786 1
depth 11 8072 1
depth 12 9587 1
depth 13 6856 1
depth 14 6503 1
depth 15 3907 1
depth 16 2720 1
depth 17 1041 1
depth 18 781 1
depth 19 229 1
depth 20 473 1
depth 21 117 2
depth 22 488 1
depth 23 164 1
depth 24 456 1
depth 25 94 1
depth 26 484 2
depth 27 85 1
depth 28 315 1
depth 29 32 1
depth 30 226 1
depth 31 3 1
depth 32 101 1
depth 33 2 1
depth 34 32 1
depth 35 0 1
depth 36 10 0
