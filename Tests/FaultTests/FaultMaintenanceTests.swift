import Crypto
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("Work in the background, on two instances")
    struct Maintenance {
        private static let people = 10_000
        private static let app = "1234567890"
        private static let document = Document(
            options: #""keepTokens": true"#,
            properties: #"{"givenName": {"type": "STRING"}}"#,
            mapping: #"{"email": "email", "first_name": "givenName"}"#
        )
        /// A fast pace that still leaves two processors time for logins.
        private static let environment = [
            "FEDERATION_MAINTENANCE_INTERVAL_MILLISECONDS": "100",
            "FEDERATION_MAINTENANCE_CHECKS_PER_SECOND": PackageLayout.drivesRelease ? "400" : "150",
            "FEDERATION_MAINTENANCE_LEASE_MILLISECONDS": "10000",
        ]

        private static func subject(_ index: Int) -> String { String(20_000_000_000_000_000 + index) }
        private static func token(_ index: Int) -> String { "EAAcanary\(index)ZD" }

        private static func hex(_ byte: UInt8) -> Substring { String(UInt16(byte) + 0x100, radix: 16).dropFirst() }

        /// Starts a simulator with all users and a token of each.
        private func startSimulator() async throws -> SimulatorProcess {
            let people = (0..<Self.people).map {
                #"{"key": "p\#($0)", "first_name": "Ann", "ids": {"\#(Self.app)": "\#(Self.subject($0))"}}"#
            }
            let tokens = (0..<Self.people).map {
                #"{"kind": "long", "person": "p\#($0)", "app": "\#(Self.app)", "text": "\#(Self.token($0))"}"#
            }
            let data = """
                {"apps": [{"id": "\(Self.app)", "secret": "\(Canary.appSecret(of: Self.app))"}],
                 "people": [\(people.joined(separator: ",\n"))], "tokens": [\(tokens.joined(separator: ",\n"))]}
                """
            return try await Document.withFile(data) {
                try await SimulatorProcess.start(data: $0, within: .seconds(120))
            }
        }

        /// Inserts identities with encrypted tokens, as from logins of yesterday; the next check is due in an hour.
        private func fill(_ database: TestDatabase) async throws {
            let bytes = try #require(Data(base64Encoded: Canary.masterKey))
            let key = SymmetricKey(data: bytes)
            let keyID = SHA256.hash(data: bytes).prefix(8).map { Self.hex($0) }.joined()
            var rows: [String] = []
            for index in 0..<Self.people {
                let place = "identities\ndemo\nfacebook/\(Self.app)/\(Self.subject(index))\ntoken"
                let box = try AES.GCM.seal(
                    Data(Self.token(index).utf8),
                    using: key,
                    authenticating: Data(place.utf8)
                )
                let hex = try #require(box.combined).map { Self.hex($0) }.joined()
                rows.append("('\(Self.subject(index))', '\\x\(hex)'::bytea)")
            }
            let sql = """
                create temporary table kept (subject text, token bytea, id uuid default gen_random_uuid());
                insert into kept (subject, token) values \(rows.joined(separator: ",\n"));
                insert into demo.users (object_id) select id from kept;
                insert into demo.identities (provider, provider_app, subject, object_id, token, token_key_id, token_kind,
                    token_expires, check_due, checked, refreshed)
                select 'facebook', '\(Self.app)', subject, id, token, '\(keyID)', 'access', now() + interval '59 days',
                    now() + interval '1 hour', now() - interval '1 day', now() from kept;
                """
            try await Document.withFile(sql) { try await database.psql(file: $0) }
        }

        private func count(_ condition: String, in database: TestDatabase) async throws -> Int {
            let rows = try await database.psql("select count(*) from demo.identities where \(condition)")
            return Int((rows.first?.first ?? nil) ?? "") ?? -1
        }

        private func makeDue(_ database: TestDatabase) async throws {
            try await database.psql(
                "update demo.identities set check_due = now(), checked = now() - interval '1 day' where token is not null"
            )
        }

        @Test("10,000 identities are checked once each; killed in the middle, one instance loses none; logins go on")
        func tenThousand() async throws {
            try await withDatabase { database in
                try await database.psql(Deployment.functions)
                try await Self.document.apply(to: database)
                try await fill(database)
                let simulator = try await startSimulator()
                let one = try await Deployment.start(on: database, simulator: simulator, environment: Self.environment)
                let two = try await Deployment.start(on: database, simulator: simulator, environment: Self.environment)
                let isChecked = "checked > now() - interval '1 hour'"

                // Both instances work, and each identity is checked once.
                let asked = try await simulator.requestCount {
                    try await makeDue(database)
                    try await eventually("everybody is checked", within: .seconds(300), every: .milliseconds(200)) {
                        try await count(isChecked, in: database) == Self.people
                    }
                }
                #expect(asked == Self.people)
                for instance in [one, two] { #expect(instance.service.process.standardOutput.contains("\"stand\"")) }

                // One instance is killed midway; the other takes over its work after the lease.
                let visitors = try await FaultDeployment.newcomers(20, at: simulator)
                let outcome = try await SteadyLoad.run(perSecond: 5, visitors, to: FaultDeployment.document, at: [one])
                {
                    _ in
                    try await makeDue(database)
                    try await eventually("much is checked", within: .seconds(120), every: .milliseconds(20)) {
                        try await count(isChecked, in: database) > Self.people / 5
                    }
                    try await two.service.process.kill()
                    let left = Self.people - (try await count(isChecked, in: database))
                    #expect(left > 0, "it was killed in the middle")
                    try await eventually("everybody is checked", within: .seconds(300), every: .milliseconds(200)) {
                        try await count("checked < now() - interval '1 hour'", in: database) == 0
                    }
                }
                #expect(
                    outcome.failed.isEmpty,
                    "\(outcome.failed.count) of \(outcome.count): \(outcome.failed.prefix(3))"
                )
                #expect(try await count("token is null or revoked is not null", in: database) == 0)
                try await one.end()
                try await simulator.process.kill()
            }
        }
    }
}
