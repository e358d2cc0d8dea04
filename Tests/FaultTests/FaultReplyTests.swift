import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// Faults whose responses are malformed.
private let malformedReplies = [
    #""effect": "empty""#, #""effect": "false""#, #""effect": "html502""#, #""effect": "truncated""#,
    #""effect": "merge", "json": {"id": {"is": 1}, "data": {"is_valid": 1}}"#, #""effect": "dataNull""#,
    #""effect": "duplicateKeys""#, #""effect": "idMissing""#,
    #""effect": "redirect", "location": "http://127.0.0.1:1/""#,
    #""effect": "reply", "body": "<!DOCTYPE html><html><body>Welcome</body></html>""#,
    #""effect": "reply", "json": {}"#, #""effect": "reply", "json": []"#, #""effect": "reply", "json": null"#,
    #""effect": "reply", "json": {"id": null, "data": null}"#, #""effect": "reply", "body": "{\"id\":\"\u0000\"}""#,
    #""effect": "reply", "json": {"error": null}"#, #""effect": "reply", "json": {"error": "no"}"#,
    #""effect": "reply", "body": "\ufeff{\"id\":\"1\"}""#, #""effect": "reply", "body": "{\"id\":\"\\ud800\"}""#,
    #""effect": "reply", "body": "{\"id\":1e999999999999999999999,\"data\":-0.0e-1}""#,
    #""effect": "reply", "status": 204, "body": """#,
    #""effect": "reply", "headers": {"Content-Encoding": "gzip"}, "body": "not gzip""#,
    #""effect": "raw", "bytes": "no HTTP at all\r\n\r\n""#,
    #""effect": "raw", "bytes": "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"id\":""#,
    #""effect": "raw", "bytes": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}""#,
    #""effect": "raw", "bytes": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}""#,
]

extension FaultTests {
    @Suite("Graph answers nonsense")
    struct Replies {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        @Test(
            "F-05: a reply that is no answer refuses the login and writes nothing",
            arguments: ["me", "debug_token"],
            malformedReplies
        )
        func malformed(path: String, fault: String) async throws {
            let visitor = try await faults.newcomers(1)[0]
            let fault = #"{\#(fault), "path": "\#(path)", "token": "\#(visitor.token)"}"#
            try await faults.simulator.withFault(fault) {
                let attempt = try await faults.logIn(visitor, at: faults.instances[0])
                faults.expectAllRefused(
                    [attempt],
                    ["provider_bad_reply", "provider_unavailable", "credential_wrong_kind", "credential_invalid"]
                )
            }
            let rows = try await faults.database.psql("select 1 from demo.identities where subject = '\(visitor.id)'")
            #expect(rows.isEmpty, "a login that failed wrote something")
            // Malformed responses for one user do not open the circuit breaker.
            faults.expectAllLoggedIn([try await faults.logIn(visitor, at: faults.instances[0])])
        }

        @Test("F-05: several hundred mutated replies make no one else of a person, and no instance fall")
        func mutated() async throws {
            let seed = UInt64.random(in: 1...1_000_000)
            print("F-05: seed \(seed)")
            let visitors = try await faults.regulars(8)
            let before = try await faults.database.psql(
                "select subject, object_id from demo.identities order by subject"
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (worker, visitor) in visitors.enumerated() {
                    group.addTask {
                        var mutation = Mutation(seed: seed &+ UInt64(worker) &* 1_000_003)
                        let instance = faults.instances[worker % faults.instances.count]
                        for _ in 0..<40 { try await logIn(visitor, with: &mutation, at: instance) }
                    }
                }
                try await group.waitForAll()
            }
            try await faults.checkInvariants()
            let subjects = Set(before.compactMap(\.first))
            let after = try await faults.database.psql(
                "select subject, object_id from demo.identities order by subject"
            )
            #expect(after.filter { row in row.first.map(subjects.contains) ?? false } == before, "seed \(seed)")
            #expect(after.count == before.count + 1, "seed \(seed): one newcomer, of the invariants; no other")
        }

        /// Logs in with one of the two responses mutated; may succeed, since most of a response does not matter.
        private func logIn(_ visitor: Visitor, with mutation: inout Mutation, at instance: Deployment) async throws {
            let replies = [
                (
                    "me",
                    #"{"id":"\#(visitor.id)","email":"\#(visitor.id).canary@example.com","first_name":"Ann"}"#
                ),
                (
                    "debug_token",
                    """
                    {"data":{"app_id":"1234567890","type":"USER","application":"Demo","data_access_expires_at":0,\
                    "expires_at":0,"is_valid":true,"issued_at":1700000000,"scopes":["email","public_profile"],\
                    "user_id":"\(visitor.id)"}}
                    """
                ),
            ]
            guard let (path, reply) = replies.randomElement(using: &mutation.generator) else { return }
            let body = JSON.quoted(mutation.mutate(reply))
            let fault = try await faults.simulator.order(
                #"{"effect": "reply", "path": "\#(path)", "token": "\#(visitor.token)", "body": \#(body)}"#
            )
            _ = try await faults.logIn(visitor, at: instance)
            try await faults.simulator.cancel(fault)
        }

        @Test(
            "F-06: a reply without end, or with too much in it, is cut off and costs neither time nor memory",
            arguments: ["me", "debug_token"],
            [
                #""effect": "huge", "bytes": 200000000"#, #""effect": "endless""#,
                #""effect": "gzipBomb", "bytes": 1000000000"#, #""effect": "deep", "depth": 1000000"#,
                #""effect": "deep", "depth": 100000"#, #""effect": "extraKeys", "keys": 100000"#,
            ]
        )
        func oversized(path: String, fault: String) async throws {
            let instance = faults.instances[0]
            let visitors = try await faults.newcomers(2)
            try instance.service.process.resetPeak()
            let before = try instance.service.process.usage()
            try await faults.simulator.withFault(#"{\#(fault), "path": "\#(path)"}"#) {
                for visitor in visitors {
                    let attempt = try await faults.logIn(visitor, at: instance)
                    // Without the cut-off, the timeout of the call would end the login with another reason.
                    faults.expectAllRefused([attempt], ["provider_bad_reply"])
                }
                try await eventually("the connections are given up") {
                    let requests = try await faults.simulator.control.get("/requests?path=\(path)").text
                    return !requests.contains(#""outcome":"pending""#)
                }
            }
            let after = try instance.service.process.usage()
            let more = after.peakResidentBytes - before.residentBytes
            // The service reads 256 KiB of each response; these have from one to a thousand megabytes.
            #expect(more < 16 << 20, "\(more >> 10) KB more")
            let time = after.processorTime - before.processorTime
            #expect(time < .seconds(3) * visitors.count, "\(time) of a processor")
        }

        @Test("F-06: after all of it everything is as before")
        func oversizedAftermath() async throws {
            try await faults.checkInvariants()
        }
    }
}

/// A repeatable mutator of texts.
private struct Mutation {
    var generator: SeededRandom

    init(seed: UInt64) { generator = SeededRandom(seed) }

    /// Characters that are special in JSON, in numbers, in C, or nowhere.
    private static let pieces: [Character] = Array(
        "{}[]\":,\\ \n\t0123456789-+.eEtfnu/\u{0}\u{1}\u{7F}\u{80}\u{FEFF}é\u{301}😀"
    )

    /// Applies one to four mutations.
    ///
    /// Each removes, doubles, replaces or inserts a character, or removes, repeats or moves a stretch.
    mutating func mutate(_ text: String) -> String {
        var characters = Array(text)
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !characters.isEmpty {
            let start = Int.random(in: 0..<characters.count, using: &generator)
            let end = min(characters.count, start + Int.random(in: 1...24, using: &generator))
            let stretch = characters[start..<end]
            let piece = Self.pieces.randomElement(using: &generator) ?? " "
            switch Int.random(in: 0..<7, using: &generator) {
            case 0: characters.remove(at: start)
            case 1: characters.insert(characters[start], at: start)
            case 2: characters[start] = piece
            case 3: characters.insert(piece, at: start)
            case 4: characters.removeSubrange(start..<end)
            case 5: characters.insert(contentsOf: stretch, at: end)
            default:
                characters.removeSubrange(start..<end)
                characters.insert(
                    contentsOf: stretch,
                    at: Int.random(in: 0...characters.count, using: &generator)
                )
            }
        }
        return String(characters)
    }
}

extension ManagedProcess {
    /// Resets the peak of the resident memory to its current value (proc(5), `clear_refs`).
    fileprivate func resetPeak() throws {
        try Data("5".utf8).write(to: URL(filePath: "/proc/\(pid)/clear_refs"))
    }
}
