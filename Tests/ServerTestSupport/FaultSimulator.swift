import TestSupport
import Testing
import Vocabulary

/// The simulator's control port, as far as only the fault tests use it.
extension SimulatorProcess {
    /// Puts a fault in force beside those that are; ``heal()`` takes all of them back.
    ///
    /// - Returns: Its id.
    @discardableResult
    func order(_ fault: String) async throws -> Int64 {
        let reply = try await control.post("/faults", json: fault)
        try #require(reply.status == 201, "\(fault): \(reply.text)")
        return try #require(JSON.object(reply.text)?["id"]?.integer)
    }

    /// Takes one fault back.
    func cancel(_ fault: Int64) async throws {
        let reply = try await control.send("DELETE", "/faults/\(fault)")
        try #require(reply.status == 200, "\(reply.text)")
    }

    /// A counter of the public port, such as `requests` or `openConnections`.
    func counter(_ name: String) async throws -> Int {
        let counters = try #require(JSON.object(try await control.get("/counters").text))
        return Int(try #require(counters[name]?.integer))
    }

    /// Ends the connections that clients keep for their next calls, for faults that only new ones suffer.
    func closeConnections() async throws {
        let reply = try await control.send("DELETE", "/connections")
        try #require(reply.status == 200, "\(reply.text)")
    }

    /// Runs a closure and returns how many requests came meanwhile.
    func requestCount(during body: () async throws -> Void) async throws -> Int {
        let before = try await counter("requests")
        try await body()
        return try await counter("requests") - before
    }
}
