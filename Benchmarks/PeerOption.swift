import ArgumentParser
import Foundation
import TestSupport

/// The option that names a server of another product, which is measured beside this one in the same run.
struct PeerOption: ParsableArguments {
    @Option(
        help: """
            Path of another server that answers the same requests, to be measured beside this one. It gets its port as \
            its one argument, and the variables of scripts/benchmark.
            """
    )
    var peer: String?

    /// Starts the server if the option names one.
    func start() async throws -> (process: ManagedProcess, port: Int)? {
        guard let peer else { return nil }
        return try await Programs.startListening(peer) { [String($0)] }
    }
}
