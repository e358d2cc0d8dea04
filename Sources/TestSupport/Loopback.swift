import Glibc
import NIOCore
import NIOPosix

/// Opens connections over the loopback interface.
///
/// They run on event loops of the tests, which the code under test does not use.
enum Loopback {
    static let group: MultiThreadedEventLoopGroup = {
        raiseDescriptorLimit()
        return MultiThreadedEventLoopGroup(numberOfThreads: 2)
    }()

    /// Connects to a port on 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - source: The loopback address from which the connection comes.
    ///   - prepare: Sets up the new channel, on its event loop.
    /// - Returns: The result of `prepare`.
    /// - Throws: `IOError`, such as ECONNREFUSED, and the error of `prepare`.
    static func connect<Output: Sendable>(
        to port: Int,
        from source: String = "127.0.0.1",
        prepare: @escaping @Sendable (any Channel) throws -> Output
    ) async throws -> Output {
        try await ClientBootstrap(group: group)
            .connectTimeout(.seconds(60))
            .bind(to: SocketAddress(ipAddress: source, port: 0))
            .connect(to: SocketAddress(ipAddress: "127.0.0.1", port: port)) { channel in
                channel.eventLoop.makeCompletedFuture { try prepare(channel) }
            }
    }

    /// Raises the soft limit of open files, which is usually 1024.
    ///
    /// A thousand connections need more descriptors if both of their ends are in processes of the test.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
