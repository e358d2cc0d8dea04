import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("What operators change, every instance does", .faulty())
    struct Propagation {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        /// An application of this suite, since the invariants check the others' users against their mapping.
        private static let live = Document(
            application: "live",
            properties: #"{"givenName": {"type": "STRING"}}"#,
            mapping: #"[{"from": "first_name", "to": "givenName"}]"#
        )

        /// The promise of docs/operations/upgrade.md#how-instances-hear-of-it.
        private static let promise = Duration.seconds(1)

        /// Logins per second while operators change the configuration.
        ///
        /// At this rate a debug build leaves more than half of two processors free. At 200 the logins alone keep it
        /// busy, and the test would measure the queue for a processor.
        private static let pace = 50

        private func person(_ first: String, _ last: String) async throws -> Visitor {
            try await faults.instances[0].newcomer(#"{"first_name": "\#(first)", "last_name": "\#(last)"}"#)
        }

        /// Returns a property in an instance's login response; `nil` if the property is absent or the login refused.
        private func property(_ name: String, of visitor: Visitor, at instance: Deployment) async throws -> String? {
            let reply = try await instance.login(visitor, to: Self.live)
            return JSON.object(reply.text)?[name]?.string
        }

        /// Measures how long after a change each instance still behaved as before.
        ///
        /// The time is that of the last request with the old behavior. Response times do not count: a busy machine is
        /// slow.
        ///
        /// - Parameters:
        ///   - change: Makes the change; the time starts when the change has been acknowledged.
        ///   - limit: The time after which the test fails.
        ///   - load: The load that runs meanwhile; some more logins of it must end after the change.
        ///   - what: The description of the change, for messages.
        ///   - isDone: Whether an instance applies the change.
        /// - Returns: The time of each instance.
        /// - Throws: The error of the change; `DeadlinePassed` after the limit.
        private func delays(
            of change: () async throws -> Void,
            within limit: Duration = .seconds(10),
            under load: SteadyLoad? = nil,
            _ what: String,
            _ isDone: @escaping @Sendable (Deployment) async throws -> Bool
        ) async throws -> [Duration] {
            try await change()
            let start = ContinuousClock.now
            return try await withThrowingTaskGroup(of: Duration.self) { group in
                for instance in faults.instances {
                    group.addTask {
                        var last = Duration.zero
                        try await eventually(what, within: limit, every: .milliseconds(5)) {
                            let asked = ContinuousClock.now - start
                            if try await isDone(instance) { return true }
                            last = asked
                            return false
                        }
                        return last
                    }
                }
                var delays: [Duration] = []
                for try await delay in group { delays.append(delay) }
                try await load?.waitForMore(20)
                return delays
            }
        }

        @Test(
            "T-63: a mapping, a rollback, a property, a disabled user, an ended session and a revoked key count everywhere within 1 s, and no login fails"
        )
        func everything() async throws {
            try await Self.live.apply(to: faults.database)
            let ann = try await person("Ann", "Able")
            let eve = try await person("Eve", "Evans")
            for instance in faults.instances {
                try await eventually("the application is there") {
                    try await property("givenName", of: ann, at: instance) == "Ann"
                }
            }
            let owner = try await faults.instances[0].admin()
            let app = "applications/live"
            let crowd = try await faults.newcomers(50)
            var times: [String: [Duration]] = [:]
            let outcome = try await SteadyLoad.run(
                perSecond: Self.pace,
                crowd,
                to: Self.live,
                at: faults.instances,
                isPatient: true
            ) { load in
                times["mapping"] = try await delays(
                    of: {
                        let json = #"[{"from": "last_name", "to": "givenName"}]"#
                        try await owner.ask("PUT", app + "/mappings/facebook", json)
                    },
                    under: load,
                    "another mapping"
                ) { try await property("givenName", of: ann, at: $0) == "Able" }

                times["rollback"] = try await delays(
                    of: { try await owner.ask("POST", app + "/mappings/facebook/rollback", #"{"revision": 1}"#) },
                    under: load,
                    "the mapping rolled back"
                ) { try await property("givenName", of: ann, at: $0) == "Ann" }

                times["property"] = try await delays(
                    of: {
                        try await owner.ask("POST", app + "/properties", #"{"name": "familyName", "type": "STRING"}"#)
                        let json =
                            #"[{"from": "first_name", "to": "givenName"}, {"from": "last_name", "to": "familyName"}]"#
                        try await owner.ask("PUT", app + "/mappings/facebook", json)
                    },
                    under: load,
                    "a new property"
                ) { try await property("familyName", of: ann, at: $0) == "Able" }

                let session = try await faults.instances[1].loggedIn(eve, to: Self.live)
                times["session"] = try await delays(
                    of: { try await owner.ask("DELETE", "\(app)/users/\(session.objectID)/sessions") },
                    under: load,
                    "an ended session"
                ) { try await $0.get("users/isvalidusertoken/\(session.token)", of: Self.live).text == "false" }

                let second = try await faults.instances[0].loggedIn(eve, to: Self.live)
                times["user"] = try await delays(
                    of: {
                        let json = #"{"user": {"userStatus": "DISABLED"}}"#
                        try await owner.ask("PATCH", "\(app)/users/\(second.objectID)", json)
                    },
                    under: load,
                    "a disabled user"
                ) { instance in
                    let check = try await instance.get("users/isvalidusertoken/\(second.token)", of: Self.live)
                    let login = try await instance.login(eve, to: Self.live)
                    return check.text == "false" && login.status == 403
                }

                let key = try await owner.ask("POST", app + "/keys", #"{"label": "spare"}"#)
                let text = try #require(key["key"]?.string)
                let path = "/live/\(text)/users/isvalidusertoken/x"
                times["key"] = try await delays(of: {}, under: load, "a new key") {
                    try await $0.client.get(path).status == 200
                }
                times["revoked key"] = try await delays(
                    of: { try await owner.ask("DELETE", app + "/keys/spare") },
                    under: load,
                    "a revoked key"
                ) { try await $0.client.get(path).status == 401 }
            }
            #expect(outcome.failed.isEmpty, "\(outcome.failed.count) of \(outcome.count): \(outcome.failed.prefix(3))")
            #expect(outcome.isRarelyRepeated, "\(outcome.repeated) repeats of \(outcome.count) logins")
            #expect(times.count == 7)
            // At least twenty logins have ended after each change.
            #expect(outcome.count >= 20 * times.count)
            for (what, delays) in times { #expect(delays.allSatisfy { $0 < Self.promise }, "\(what): \(delays)") }
            // Print the figures behind the bounds above for readers of the log.
            for (what, delays) in times.sorted(by: { $0.key < $1.key }) { print("\(what): \(delays)") }
            print("\(outcome.count) logins, \(outcome.rate) a second, the slowest \(outcome.slowest)")
            try await faults.checkInvariants()
        }

        @Test("T-63: a notification that is lost is made good within 30 s")
        func lostNotification() async throws {
            try await Self.live.apply(to: faults.database)
            let ann = try await person("Ann", "Able")
            for instance in faults.instances {
                try await eventually("the application is there", within: .seconds(40)) {
                    try await property("givenName", of: ann, at: instance) != nil
                }
            }
            let owner = try await faults.instances[0].admin()
            _ = try await delays(
                of: {
                    // No instance is notified, as when the listening connection no longer delivers.
                    try await faults.database.psql(
                        "alter table federation.configuration disable trigger configuration_is_announced"
                    )
                    try await owner.ask(
                        "PUT",
                        "applications/live/mappings/facebook",
                        #"[{"from": "first_name", "to": "givenName", "transform": "uppercase"}]"#
                    )
                    try await faults.database.psql(
                        "alter table federation.configuration enable trigger configuration_is_announced"
                    )
                },
                within: .seconds(30),
                "a change that nobody was told of"
            ) { try await property("givenName", of: ann, at: $0) == "ANN" }

            _ = try await delays(
                of: {
                    // The listening connections end while the change is made.
                    async let ended = faults.database.psql(
                        """
                        select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
                        and application_name = 'federation' and query ~* '^ *listen'
                        """
                    )
                    try await owner.ask(
                        "PUT",
                        "applications/live/mappings/facebook",
                        #"[{"from": "first_name", "to": "givenName", "transform": "lowercase"}]"#
                    )
                    #expect(try await ended.count >= 2, "each instance listens")
                },
                within: .seconds(30),
                "a change while nobody listened"
            ) { try await property("givenName", of: ann, at: $0) == "ann" }
            try await faults.checkInvariants()
        }

        @Test("T-63: an instance whose connections have gone deaf without a word hears of a change within 30 s")
        func deafConnection() async throws {
            try await Self.live.apply(to: faults.database)
            let ann = try await person("Ann", "Able")
            try await withFaultyProxy(to: faults.database.port) { proxy in
                try await faults.withInstance(database: faults.database.url(throughPort: proxy.port)) { instance in
                    try await eventually("it serves", within: .seconds(40)) {
                        try await property("givenName", of: ann, at: instance) != nil
                    }
                    let owner = try await faults.instances[0].admin()
                    proxy.swallow(.toClient)
                    try await owner.ask(
                        "PUT",
                        "applications/live/mappings/facebook",
                        #"[{"from": "last_name", "to": "givenName", "transform": "uppercase"}]"#
                    )
                    // Swallowed bytes stay lost: the notification, and halves of responses that something may wait for.
                    try await eventually("something is lost") { proxy.traffic.swallowed > 0 }
                    try await proxy.heal()
                    try await eventually("it has heard", within: .seconds(30), every: .milliseconds(20)) {
                        try await property("givenName", of: ann, at: instance) == "ABLE"
                    }
                }
            }
            try await faults.checkInvariants()
        }
    }
}
