import Domain
package import Postgres

extension PostgresConfiguration {
    /// Makes PostgreSQL use generic plans and indexes for all statements of a connection.
    ///
    /// In a statement that serves a client, each part looks up rows in one index. So one plan for all values is as good
    /// as a plan for each, and is made only once. But PostgreSQL keeps a plan although the tables change. If a plan was
    /// made while a table had only one page of rows, it would scan the whole table, however large the table has become,
    /// until the table is next analyzed. Therefore `enable_seqscan` is off, which makes PostgreSQL use indexes, also in
    /// the statements that check foreign keys.
    package mutating func planLookUps() {
        settings = [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")]
    }
}

extension Application {
    /// Routes statements on the tables of one application to one connection, which then caches their plans.
    var affinity: Affinity { Affinity(of: schema) }
}
