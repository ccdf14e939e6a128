"""Volume options: set on a storage node for everybody, never among the options of a mount.

The names are those of `gluster volume set` in GlusterFS 10.3 (glusterd-volume-set.c) that touch
clients and bricks; NFS, debugging and geo-replication are left out.
"""

REAL = frozenset(
    """
    auth.allow auth.reject auth.ssl-allow
    client.bind-insecure client.event-threads client.keepalive-count client.keepalive-interval
    client.keepalive-time client.own-thread client.send-gids client.ssl client.strict-locks
    client.tcp-user-timeout
    cluster.background-self-heal-count cluster.choose-local cluster.consistent-metadata
    cluster.data-self-heal cluster.data-self-heal-algorithm cluster.eager-lock
    cluster.ensure-durability cluster.entry-self-heal cluster.favorite-child-policy
    cluster.force-migration cluster.full-lock cluster.granular-entry-heal cluster.halo-enabled
    cluster.heal-timeout cluster.lock-migration cluster.locking-scheme cluster.lookup-optimize
    cluster.lookup-unhashed cluster.metadata-self-heal cluster.min-free-disk
    cluster.min-free-inodes cluster.nufa cluster.post-op-delay-secs cluster.quorum-count
    cluster.quorum-reads cluster.quorum-type cluster.read-hash-mode cluster.read-subvolume
    cluster.readdir-optimize cluster.rebal-throttle cluster.self-heal-daemon
    cluster.self-heal-window-size cluster.server-quorum-ratio cluster.server-quorum-type
    cluster.shd-max-threads cluster.shd-wait-qlength cluster.subvols-per-directory
    cluster.use-anonymous-inode cluster.weighted-rebalance
    config.brick-threads config.client-threads config.global-threading config.transport
    ctime.noatime
    diagnostics.brick-log-level diagnostics.client-log-level diagnostics.client-sys-log-level
    diagnostics.count-fop-hits diagnostics.latency-measurement
    disperse.background-heals disperse.cpu-extensions disperse.eager-lock
    disperse.other-eager-lock disperse.parallel-writes disperse.quorum-count disperse.read-policy
    disperse.self-heal-window-size disperse.shd-max-threads disperse.stripe-cache
    features.acl features.bitrot features.cache-invalidation features.cache-invalidation-timeout
    features.ctime features.lease-lock-recall-timeout features.leases
    features.locks-revocation-secs features.quota features.quota-deem-statfs features.read-only
    features.sdfs features.shard features.shard-block-size features.shard-deletion-rate
    features.shard-lru-limit features.trash features.uss features.worm
    locks.mandatory-locking
    network.compression network.frame-timeout network.inode-lru-limit network.ping-timeout
    network.remote-dio network.tcp-window-size
    performance.aggregate-size performance.cache-invalidation performance.cache-max-file-size
    performance.cache-min-file-size performance.cache-priority performance.cache-refresh-timeout
    performance.cache-size performance.client-io-threads performance.ctime-invalidation
    performance.flush-behind performance.force-readdirp performance.global-cache-invalidation
    performance.high-prio-threads performance.io-cache performance.io-cache-size
    performance.io-thread-count performance.lazy-open performance.least-prio-threads
    performance.low-prio-threads performance.md-cache-statfs performance.md-cache-timeout
    performance.nl-cache performance.nl-cache-limit performance.nl-cache-positive-entry
    performance.nl-cache-timeout performance.normal-prio-threads performance.open-behind
    performance.parallel-readdir performance.qr-cache-timeout performance.quick-read
    performance.quick-read-cache-size performance.quick-read-cache-timeout
    performance.rda-cache-limit performance.rda-high-wmark performance.rda-low-wmark
    performance.rda-request-size performance.read-after-open performance.read-ahead
    performance.read-ahead-page-count performance.readdir-ahead
    performance.resync-failed-syncs-after-fsync performance.stat-prefetch
    performance.strict-o-direct performance.strict-write-ordering performance.write-behind
    performance.write-behind-trickling-writes performance.write-behind-window-size
    performance.xattr-cache-list
    server.all-squash server.allow-insecure server.anongid server.anonuid server.event-threads
    server.gid-timeout server.keepalive-count server.keepalive-interval server.keepalive-time
    server.manage-gids server.outstanding-rpc-limit server.root-squash server.ssl
    server.statedump-path server.tcp-user-timeout
    storage.build-pgfid storage.create-directory-mask storage.create-mask
    storage.fips-mode-rchecksum storage.force-create-mode storage.force-directory-mode
    storage.health-check-interval storage.linux-aio storage.linux-io_uring storage.owner-gid
    storage.owner-uid storage.reserve
    transport.address-family transport.keepalive
    """.split()
)

FOR_SHORT = {
    "cache-invalidation": "features.cache-invalidation",
    "eager-lock": "cluster.eager-lock",
    "event-threads": "client.event-threads",
    "io-threads": "performance.client-io-threads",
    "keepalive-time": "client.keepalive-time",
    "md-cache": "performance.stat-prefetch",
    "quorum-count": "cluster.quorum-count",
    "self-heal-window-size": "cluster.self-heal-window-size",
    "shd-max-threads": "cluster.shd-max-threads",
    "ssl": "client.ssl",
    "tcp-user-timeout": "client.tcp-user-timeout",
    **{
        name.partition(".")[2]: name
        for name in sorted(REAL)
        if [other.partition(".")[2] for other in REAL].count(name.partition(".")[2]) == 1
    },
}
"""Written without its first part: the option that is meant."""

FICTION = {
    "network.autostart-on-mount": "",
    "performance.lookup-optimize": "cluster.lookup-optimize",
    "performance.md-cache": "performance.stat-prefetch",
    "performance.io-threads": "performance.client-io-threads",
    "performance.event-threads": "client.event-threads",
    "cluster.stripe-block-size": "",
    "cluster.stripe-coalesce": "",
}
"""Widely advised, but in no GlusterFS of today: the option that is meant, "" if there is none."""
