# Douceur, Bolosky: A Large-Scale Study of File-System Contents (SIGMETRICS '99): desktops at Microsoft.
# The figures are those of github.com/saurabhkadekodi/geriatrix (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC '18);
# how files are written is not part of them.
size 0 180
size 1 0
size 2 10
size 4 15
size 8 90
size 16 25
size 32 165
size 64 380
size 128 425
size 256 620
size 512 880
size 1024 1080
size 2048 1100
size 4096 1000
size 8192 1025
size 16384 920
size 32768 800
size 65536 575
size 131072 375
size 262144 200
size 524288 100
size 1048576 75
size 2097152 20
size 4194304 10
size 8388608 5
age 9 25
age 18 30
age 36 50
age 72 60
age 144 80
age 288 90
age 576 120
age 1152 200
age 2304 300
age 4608 400
age 9216 600
age 18432 1050
age 36864 1250
age 73728 1900
age 147456 1800
age 294912 1500
age 589824 700
age 1179648 100
age 2359296 30
age 4718592 25
depth 0 50 16
depth 1 450 32
depth 2 1150 64
depth 3 1650 32
depth 4 1800 16
depth 5 1450 8
depth 6 1125 4
depth 7 625 2
depth 8 400 1
depth 9 160 0
depth 10 100 0
depth 11 150 0
depth 12 50 0
depth 13 20 0
depth 14 20 0
depth 15 10 0
