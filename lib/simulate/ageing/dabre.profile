# Published with Geriatrix as "dabre".
# The figures are those of github.com/saurabhkadekodi/geriatrix (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC '18);
# how files are written is not part of them.
size 1024 125594
size 2048 22133
size 4096 22761
size 8192 17448
size 16384 16147
size 32768 10026
size 65536 5874
size 131072 3311
size 262144 1833
size 524288 1042
size 1048576 614
size 2097152 289
size 4194304 157
size 8388608 73
size 16777216 45
size 33554432 26
size 67108864 27
size 134217728 5
size 268435456 2
size 536870912 2
size 1073741824 1
size 2147483648 4
age 1 2
age 2 0
age 4 0
age 8 0
age 16 0
age 32 1907
age 64 3
age 128 4
age 256 5541
age 512 840
age 1024 14392
age 2048 18
age 4096 23304
age 8192 181403
depth 0 1 28
depth 1 303 239
depth 2 1893 995
depth 3 4710 3765
depth 4 18597 3389
depth 5 30689 6495
depth 6 25185 5784
depth 7 11252 2843
depth 8 5540 802
depth 9 1271 221
depth 10 306 82
depth 11 214 20
depth 12 26 1
depth 13 6 0
