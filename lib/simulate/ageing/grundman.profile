# Published with Geriatrix as "grundman".
# The figures are those of github.com/saurabhkadekodi/geriatrix (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC '18);
# how files are written is not part of them.
size 1024 305720
size 2048 102627
size 4096 102902
size 8192 111260
size 16384 82076
size 32768 53978
size 65536 32438
size 131072 16480
size 262144 9636
size 524288 6238
size 1048576 4010
size 2097152 1890
size 4194304 1468
size 8388608 942
size 16777216 366
size 33554432 196
size 67108864 113
size 134217728 42
size 268435456 33
size 536870912 17
size 1073741824 7
size 2147483648 4
age 15 14143
age 30 67905
age 60 14952
age 120 29470
age 240 9189
age 480 121932
age 960 286283
age 1920 124744
age 3840 163830
depth 0 1 23
depth 1 3644 31
depth 2 16136 5
depth 3 79382 3
depth 4 125928 2
depth 5 168632 1
depth 6 109214 1
depth 7 87633 1
depth 8 93477 1
depth 9 96658 1
depth 10 77672 1
depth 11 40867 1
depth 12 31209 1
depth 13 19282 1
depth 14 31660 1
depth 15 14959 1
depth 16 2935 1
depth 17 546 1
depth 18 128 1
depth 19 14 1
depth 20 3 1
depth 21 0 1
depth 22 0 1
depth 23 0 1
depth 24 0 1
depth 25 9 0
