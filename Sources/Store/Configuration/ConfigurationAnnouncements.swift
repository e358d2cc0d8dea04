import Postgres

/// What is heard of the configuration.
package enum ConfigurationAnnouncement: Sendable {
    /// A change has been committed.
    case changed
    /// A connection has been made, first or again: changes may have been missed, and it may be another server that has
    /// lost some.
    case connected
}

extension Store {
    /// Announcements that the configuration has changed.
    ///
    /// They can be lost and can come late; whoever follows them looks at the revision now and then as well.
    package func configurationAnnouncements() -> some AsyncSequence<ConfigurationAnnouncement, Never> & Sendable {
        postgres.client.notifications(on: "federation_configuration").map { notification in
            switch notification {
            case .listening: .connected
            case .received: .changed
            }
        }
    }
}
