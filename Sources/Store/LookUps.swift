package import Postgres
import Vocabulary

extension PostgresConfiguration {
    /// Has the server plan what clients ask as what it is: look-ups, each part of which one index serves.
    ///
    /// One plan for all values is as good as one for each, and is made once. It is kept, though, and outlives the
    /// tables that it was made for: a plan from when a table had a single page would read the table from end to end
    /// however large it has become, until the table is next analyzed. So an index is taken in any case, by the
    /// statements that check foreign keys, too.
    package mutating func planLookUps() {
        settings = [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")]
    }
}

extension Application {
    /// Statements on the tables of one application are best planned by one connection.
    var affinity: Affinity { Affinity(of: schema) }
}
