import Postgres
import Vocabulary

extension ChangeTransaction {
    func addKey(label: String, hash: [UInt8], server: Bool) async throws {
        _ = try await connection.query(
            """
            insert into federation.api_keys (application_id, key_hash, label, server)
            values (\(application.text), \(hash), \(label), \(server))
            """
        )
    }

    func replaceKey(label: String, hash: [UInt8]) async throws {
        try await expectOne(
            """
            update federation.api_keys set key_hash = \(hash), created = now()
            where application_id = \(application.text) and label = \(label)
            """,
            "key \(label)"
        )
    }

    func relabelKey(from: String, to: String) async throws {
        try await expectOne(
            """
            update federation.api_keys set label = \(to) where application_id = \(application.text) and label = \(from)
            """,
            "key \(from)"
        )
    }

    func changeKey(label: String, server: Bool) async throws {
        try await expectOne(
            """
            update federation.api_keys set server = \(server)
            where application_id = \(application.text) and label = \(label)
            """,
            "key \(label)"
        )
    }

    func revokeKey(label: String) async throws {
        try await expectOne(
            "delete from federation.api_keys where application_id = \(application.text) and label = \(label)",
            "key \(label)"
        )
    }
}
