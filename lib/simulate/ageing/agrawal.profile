# Agrawal, Bolosky, Douceur, Lorch: A Five-Year Study of File-System Metadata (FAST '07): desktops at Microsoft.
# The figures are those of github.com/saurabhkadekodi/geriatrix (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC '18);
# how files are written is not part of them.
size 8 1
size 32 7
size 128 16
size 512 40
size 2048 50
size 8192 46
size 32768 35
size 131072 20
size 524288 10
size 2097152 4
size 8388608 1
age 10.74 1
age 31 2
age 85.98 8
age 240 20
age 687.87 44
age 1945.59 75
age 5502.98 144
age 15768 146
age 44023.9 23
age 122640 1
depth 1 1 1
depth 2 2 5
depth 3 14 13
depth 4 15 19
depth 5 23 30
depth 6 24 36
depth 7 42 32
depth 8 22 26
depth 9 15 22
depth 10 12 17
depth 11 7 8
depth 12 4 5
depth 13 3 2
depth 14 2 1
depth 15 1 1
