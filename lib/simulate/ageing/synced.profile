# As halves, but files in parts are written and synced: sizes of a lognormal distribution (mu 11, sigma 2.2, up to
# 400 MiB), in 100 directories. Files of any age go, so there are no ages.
streams 1
fallocate 30
delete 50
size 64 94
size 128 166
size 256 398
size 512 864
size 1024 1699
size 2048 3028
size 4096 4890
size 8192 7158
size 16384 9495
size 32768 11413
size 65536 12434
size 131072 12275
size 262144 10982
size 524288 8905
size 1048576 6543
size 2097152 4357
size 4194304 2629
size 8388608 1438
size 16777216 713
size 33554432 320
size 67108864 130
size 134217728 48
size 268435456 16
size 419430400 7
depth 1 1 100
