import Domain
package import Postgres

extension PostgresConfiguration {
    /// Makes PostgreSQL use generic plans and indexes: each part of a client's statement is a look-up in one index.
    ///
    /// One plan for all values is as good as a plan for each, and is made once. But a cached plan outlives the state of
    /// the tables that it was made for: a plan made while a table had a single page would scan the whole table, however
    /// large it has become, until the table is next analyzed. Turning off `enable_seqscan` forces index use, also in
    /// the statements that check foreign keys.
    package mutating func planLookUps() {
        settings = [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")]
    }
}

extension Application {
    /// Routes statements on the tables of one application to one connection, which then caches their plans.
    var affinity: Affinity { Affinity(of: schema) }
}
