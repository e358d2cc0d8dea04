import FoundationEssentials
import Glibc
import ServiceLifecycle

/// The file of a listener's Unix socket: prepares its path, sets who may connect, and removes the file.
struct UnixSocket: Sendable {
    /// The reason why a listener cannot use the file.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let path: String
    let access: Access

    /// Who may connect to the socket: users who have the right to write to its file.
    struct Access: Sendable {
        let mode: UInt32
        /// The group of the socket's file; nil for the group of the process.
        let group: UInt32?
    }

    /// The maximum length of a socket's path in bytes: one less than `sockaddr_un` holds, since a NUL ends the path.
    static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// Removes a socket that an earlier process left at the path.
    ///
    /// The method throws if the path has a file of another kind, or if a process listens on the socket.
    func prepare() throws(Problem) {
        // No other user can connect between the creation of the file and the change of its mode.
        umask(0o077)
        // The attributes are those of a symbolic link itself, not of its target.
        guard let facts = try? FileManager.default.attributesOfItem(atPath: path) else { return }
        guard facts[.type] as? FileAttributeType == .typeSocket else {
            throw Problem(description: "\(path) exists and is not a socket: remove it, or choose another path")
        }
        guard !(try isInUse()) else {
            throw Problem(description: "another process listens on \(path): stop it, or choose another path")
        }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw Problem(description: "the old socket \(path) cannot be removed: \(String(cString: strerror(errno)))")
        }
    }

    /// Sets the group and the mode of the socket's file, after the listener has created the file.
    func open() throws(Problem) {
        if let group = access.group, chown(path, uid_t.max, group) != 0 {
            throw Problem(description: "the group of \(path) cannot be set: the process must be a member of it")
        }
        guard chmod(path, access.mode) == 0 else {
            throw Problem(description: "the mode of \(path) cannot be set: \(String(cString: strerror(errno)))")
        }
    }

    /// Removes the socket's file, unless another process already listens on it.
    func remove() {
        if let isInUse = try? isInUse(), !isInUse { unlink(path) }
    }

    private func isInUse() throws(Problem) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(Self.longestPath)) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if status == 0 { return true }
        guard errno == ECONNREFUSED else {
            throw Problem(
                description: "\(path) exists, and the service cannot find out whether a process listens there: "
                    + String(cString: strerror(errno))
            )
        }
        return false
    }
}

/// Runs a listener on a Unix socket, and removes the socket's file when the listener ends.
struct UnixSocketService<Listener: Service>: Service {
    let socket: UnixSocket
    let listener: Listener

    func run() async throws {
        try socket.prepare()
        defer { socket.remove() }
        try await listener.run()
    }
}
