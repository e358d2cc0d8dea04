import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("The master key is replaced while the service runs", .faulty())
    struct KeyRotation {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        private static let newKey = Data("canary-second-key-of-32-bytes-!!".utf8).base64EncodedString()
        private static let both = ["FEDERATION_MASTER_KEY": newKey, "FEDERATION_MASTER_KEY_PREVIOUS": Canary.masterKey]
        private static let onlyNew = ["FEDERATION_MASTER_KEY": newKey]

        private func start(_ environment: [String: String]) async throws -> Deployment {
            try await .start(on: faults.database, simulator: faults.simulator, environment: environment)
        }

        private func rotate(_ environment: [String: String] = both) async throws -> ManagedProcess {
            try await runFederation(
                ["secrets", "rotate"],
                environment: Deployment.environment(database: faults.database).merging(environment) { $1 }
            )
        }

        /// Creates more secrets than one step of the rotation processes.
        private func fill(applications: Int) async throws {
            let owner = try await faults.instances[0].admin()
            for index in 1...applications {
                try await owner.ask("POST", "applications", #"{"application": "many\#(index)"}"#)
                let apps = (0..<10).map {
                    #"{"appId": "\#(index)00\#($0)", "appSecret": "canary-many-\#(index)-\#($0)"}"#
                }
                let json = #"{"enabled": true, "apps": [\#(apps.joined(separator: ", "))]}"#
                try await owner.ask("PUT", "applications/many\(index)/providers/facebook", json)
            }
        }

        /// Counts the app secrets per encryption key.
        private func keys() async throws -> [String: Int] {
            let rows = try await faults.database.psql(
                "select secret_key_id, count(*) from federation.provider_apps group by 1 order by 1"
            )
            return Dictionary(
                uniqueKeysWithValues: rows.compactMap { row in
                    guard let key = row.first ?? nil, let count = (row.last ?? nil).flatMap({ Int($0) }) else {
                        return nil
                    }
                    return (key, count)
                }
            )
        }

        /// Returns the keys that encrypt the tokens of identities.
        private func tokenKeys() async throws -> Set<String> {
            let rows = try await faults.database.psql(
                "select distinct token_key_id from demo.identities where token_key_id is not null"
            )
            return Set(rows.compactMap { $0.first ?? nil })
        }

        /// Returns the keys that encrypt password hashes.
        private func passwordKeys() async throws -> Set<String> {
            let rows = try await faults.database.psql("select distinct hash_key_id from demo.passwords")
            return Set(rows.compactMap { $0.first ?? nil })
        }

        /// Returns the provider token that a user's session gets back from an instance.
        private func givenBack(to session: LoginResult, at instance: Deployment) async throws -> String? {
            let reply = try await instance.get("users/identities/facebook/token", token: session.token)
            return JSON.object(reply.text)?["token"]?.string
        }

        @Test("under load no login fails, an interrupted rotation goes on, and afterwards the old key opens nothing")
        func rotation() async throws {
            try await fill(applications: 30)
            let old = try await keys()
            try #require(old.count == 1)
            let oldKey = try #require(old.keys.first)
            let total = try #require(old.values.first)
            #expect(total > 300)
            try await faults.instances[0].admin().ask(
                "PATCH",
                "applications/demo/providers/facebook",
                #"{"keepTokens": true, "returnTokens": true}"#
            )
            let crowd = try await faults.newcomers(50)
            // Their tokens are encrypted with the old key, no later login replaces them, and one step cannot process
            // all.
            let resting = try await faults.regulars(70)
            let session = try await faults.instances[0].loggedIn(try #require(resting.first))
            _ = try await faults.instances[0].register("rotated.canary@example.com")
            let former = try await tokenKeys()
            try #require(former.count == 1)
            let document = FaultDeployment.document
            let (one, two) = (faults.instances[0], faults.instances[1])
            var running: [Deployment] = []
            let outcome = try await SteadyLoad.run(
                perSecond: 100,
                crowd,
                to: document,
                at: [one, two],
                isPatient: true
            ) { load in
                // Each instance in turn is replaced by one with both keys.
                let withBoth = [try await start(Self.both), try await start(Self.both)]
                try await load.use(withBoth)
                try await load.waitForMore(100)

                // The rotation is killed midway, as far as the timing allows; completed steps stay done.
                let interrupted = try await ManagedProcess.start(
                    try PackageLayout.executable("federation"),
                    ["secrets", "rotate"],
                    environment: Deployment.environment(database: faults.database).merging(Self.both) { $1 }
                )
                try await eventually("a step is done", every: .milliseconds(1)) { try await keys().count == 2 }
                try await interrupted.kill()
                let left = try await keys()[oldKey] ?? 0

                let finished = try await rotate()
                #expect(finished.exitStatus == .exited(0), "\(finished.standardError)")
                #expect(try await keys()[oldKey] == nil)
                #expect(left < total, "what was done before it was killed is not done again")
                #expect(try await tokenKeys().isDisjoint(with: former), "kept tokens are under the new key")
                #expect(try await passwordKeys().isDisjoint(with: [oldKey]), "hashes of passwords are, too")
                let again = try await rotate()
                #expect(again.exitStatus == .exited(0))

                running = [try await start(Self.onlyNew), try await start(Self.onlyNew)]
                try await load.use(running)
                try await load.waitForMore(100)
                for instance in withBoth { try await instance.end() }
            }
            #expect(outcome.failed.isEmpty, "\(outcome.failed.count) of \(outcome.count): \(outcome.failed.prefix(3))")
            #expect(outcome.isRarelyRepeated, "\(outcome.repeated) repeats of \(outcome.count) logins")
            #expect(try await givenBack(to: session, at: running[0]) == resting.first?.token)
            _ = try await running[0].logIn("rotated.canary@example.com")

            // An instance with only the old key refuses to start and decrypts nothing.
            let refused = try await runFederation(
                ["serve"],
                environment: Deployment.environment(database: faults.database).merging([
                    "FEDERATION_GRAPH_URL": faults.simulator.url, "FEDERATION_LISTEN": "127.0.0.1:\(try freePort())",
                    "FEDERATION_MANAGEMENT_LISTEN": "127.0.0.1:\(try freePort())",
                ]) { $1 }
            )
            #expect(refused.exitStatus == .exited(78), "\(refused.standardOutput) \(refused.standardError)")
            let said = refused.standardError + refused.standardOutput
            #expect(said.contains("FEDERATION_MASTER_KEY"), "\(said)")
            #expect(!said.lowercased().contains(Canary.mark))
            let status = try await runFederation(
                ["secrets", "status", "--json"],
                environment: Deployment.environment(database: faults.database)
            )
            let secrets = JSON.object(status.standardOutput)?["secrets"]?.array?.compactMap(\.object) ?? []
            #expect(secrets.compactMap { $0["known"]?.bool } == [false], "\(status.standardOutput)")
            let back = try await runFederation(
                ["secrets", "rotate"],
                environment: Deployment.environment(database: faults.database)
            )
            #expect(back.exitStatus != .exited(0), "the old key cannot take back what it does not open")
            #expect(try await keys()[oldKey] == nil)

            // The way back is a rotation, too.
            let reversed = ["FEDERATION_MASTER_KEY": Canary.masterKey, "FEDERATION_MASTER_KEY_PREVIOUS": Self.newKey]
            #expect(try await rotate(reversed).exitStatus == .exited(0))
            #expect(try await keys() == old)
            #expect(try await tokenKeys() == former)
            for instance in running { try await instance.end() }
        }
    }
}
