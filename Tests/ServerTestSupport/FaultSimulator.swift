import Encodings
import Testing
import TestSupport

/// The functions of the simulator's control port that only the fault tests use.
extension SimulatorProcess {
    /// Adds a fault to those in force; ``heal()`` removes all.
    ///
    /// - Returns: The fault's id.
    @discardableResult
    func order(_ fault: String) async throws -> Int64 {
        let reply = try await control.post("/faults", json: fault)
        try #require(reply.status == 201, "\(fault): \(reply.text)")
        return try #require(JSON.object(reply.text)?["id"]?.integer)
    }

    func cancel(_ fault: Int64) async throws {
        let reply = try await control.send("DELETE", "/faults/\(fault)")
        try #require(reply.status == 200, "\(reply.text)")
    }

    /// Returns a counter of the public port, such as `requests` or `openConnections`.
    func counter(_ name: String) async throws -> Int {
        let counters = try #require(JSON.object(try await control.get("/counters").text))
        return Int(try #require(counters[name]?.integer))
    }

    /// Closes the clients' idle connections, for faults that strike only new connections.
    func closeConnections() async throws {
        let reply = try await control.send("DELETE", "/connections")
        try #require(reply.status == 200, "\(reply.text)")
    }

    /// Runs a closure and returns the number of requests meanwhile.
    func requestCount(during body: () async throws -> Void) async throws -> Int {
        let before = try await counter("requests")
        try await body()
        return try await counter("requests") - before
    }
}
