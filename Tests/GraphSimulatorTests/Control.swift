import GraphSimulator
import Testing

/// A client of the control port of a simulator with the users of ``SampleWorld``.
struct Control {
    let port: Int

    func send(_ method: String, _ path: String, _ body: String = "") async throws -> Wire.Reply {
        let wire = try await Wire.connect(to: port)
        try await wire.send(
            Wire.request(method, path, headers: ["Content-Length: \(body.utf8.count)"]) + body
        )
        let reply = try await wire.reply()
        await wire.close()
        return reply
    }

    /// Sends a POST and returns the response as JSON.
    func post(_ path: String, _ body: String) async throws -> GraphSimulator.JSON {
        try GraphSimulator.JSON(parsing: try await send("POST", path, body).body)
    }

    /// Runs a closure with a new simulator and stops the simulator afterwards.
    static func run(_ body: (GraphSimulator, Control) async throws -> Void) async throws {
        let simulator = try await GraphSimulator.start(
            SampleWorld.dataset,
            controlAddress: GraphSimulator.Address(),
            clock: { SampleWorld.now }
        )
        do {
            try await body(simulator, Control(port: try #require(simulator.controlAddress).port))
            await simulator.stop()
        } catch {
            await simulator.stop()
            throw error
        }
    }
}
