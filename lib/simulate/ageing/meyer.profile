# Meyer, Bolosky: A Study of Practical Deduplication (FAST '11): desktops at Microsoft.
# The figures are those of github.com/saurabhkadekodi/geriatrix (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC '18);
# how files are written is not part of them.
size 0 100
size 1 20
size 2 40
size 4 30
size 8 30
size 16 100
size 32 100
size 64 170
size 128 220
size 256 400
size 512 680
size 1024 1180
size 2048 1230
size 4096 1150
size 8192 1020
size 16384 900
size 32768 700
size 65536 680
size 131072 440
size 262144 300
size 524288 230
size 1048576 175
size 2097152 130
size 4194304 100
size 8388608 60
size 16777216 40
size 33554432 20
size 67108864 10
size 134217728 10
age 2 3
age 4 90
age 6 70
age 8 30
age 10 20
age 12 10
age 14 14
age 16 10
age 18 10
age 20 4
age 22 4
age 24 18
age 26 11
age 28 8
age 30 2
age 32 4
age 34 5
age 36 1
age 38 15
age 40 8
age 42 1
age 44 1
age 46 2
age 48 1
depth 0 10 16
depth 1 30 32
depth 2 100 64
depth 3 830 32
depth 4 600 16
depth 5 800 8
depth 6 900 4
depth 7 930 2
depth 8 860 1
depth 9 780 0
depth 10 550 0
depth 11 300 0
depth 12 190 0
depth 13 130 0
depth 14 90 0
depth 15 50 0
depth 16 20 0
depth 17 10 0
depth 18 5 0
depth 19 4 0
depth 20 3 0
