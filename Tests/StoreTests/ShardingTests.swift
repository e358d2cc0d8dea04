@testable import Store
import Testing
import TestSupport

/// Tests on an ordinary server with a table in place of Citus's own, since few servers have the extension.
@Suite("The shards of an application's tables")
struct ShardingTests {
    @Test("a table with one shard has its number, and one with several has none")
    func severalShards() async throws {
        try await withDatabase(.empty) { database in
            try await database.psql(
                """
                set allow_system_table_mods = on;
                create table pg_catalog.pg_dist_shard (logicalrelid regclass, shardid bigint);
                create schema shop; create schema other;
                create table shop.users (); create table shop.sessions (); create table other.users ();
                insert into pg_catalog.pg_dist_shard values
                    ('shop.users', 7), ('shop.sessions', 8), ('shop.sessions', 9), ('other.users', 10), ('other.users', 11)
                """
            )
            try await withClient(database.url) { client in
                let sharding = Sharding(main: client)
                let shop = try await sharding.shards(ofSchema: "shop")
                #expect(shop?.numbers == ["users": 7])
                let other = try await sharding.shards(ofSchema: "other")
                #expect(other == nil)
            }
        }
    }
}
