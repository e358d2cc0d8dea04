import Glibc
import NIOCore
import ServiceLifecycle

/// The reason why a listener cannot use its address, with the configuration variable that sets the address.
struct ListenerProblem: Error, CustomStringConvertible {
    let description: String

    init(_ variable: String, _ address: ListenAddress, _ text: String) {
        description = "\(variable) \(address): \(text)"
    }

    /// Creates the problem from the system's error code (`errno`).
    init(_ variable: String, _ address: ListenAddress, errno code: Int32) {
        let text =
            switch code {
            case EADDRINUSE: "the address is in use: stop the process that listens there, or choose another port"
            case EADDRNOTAVAIL: "not an address of this machine"
            case EACCES:
                address.isSocket
                    ? "no permission to create a file there"
                    : "no permission to listen there; ports below 1024 need the capability CAP_NET_BIND_SERVICE"
            default: String(cString: strerror(code))
            }
        self.init(variable, address, text)
    }
}

/// Checks at start whether the listeners can use their addresses.
///
/// The check precedes the start of all services. So a failure is reported in one line.
enum ListenerCheck {
    /// Tries the address of each listener.
    ///
    /// - Throws: `ListenerProblem` for the first address that cannot be used.
    static func run(
        _ listeners: [(variable: String, address: ListenAddress)],
        access: UnixSocket.Access
    ) throws(ListenerProblem) {
        // All sockets are held until the end, since two listeners may have the same address.
        var held: [Int32] = []
        defer { for descriptor in held { close(descriptor) } }
        for (variable, address) in listeners {
            switch address {
            case .network(let host, let port):
                held.append(try bound(variable, address, host: host, port: port))
            case .socket(let path):
                do throws(UnixSocket.Problem) { try UnixSocket(path: path, access: access).prepare() } catch {
                    throw ListenerProblem(variable, address, error.description)
                }
                let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
                guard Glibc.access(folder.isEmpty ? "/" : folder, W_OK | X_OK) == 0 else {
                    let text = String(cString: strerror(errno))
                    throw ListenerProblem(variable, address, "the folder \(folder) cannot be written to: \(text)")
                }
            }
        }
    }

    private static func bound(
        _ variable: String,
        _ address: ListenAddress,
        host: String,
        port: Int
    ) throws(ListenerProblem) -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0, let first = list else {
            let text = gai_strerror(status).map { String(cString: $0) } ?? ""
            throw ListenerProblem(variable, address, "the host has no address: \(text)")
        }
        defer { freeaddrinfo(first) }
        let descriptor = socket(first.pointee.ai_family, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        // The listener sets this, too. With it, closed connections of a former process do not keep the address in use.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        // Only `listen` shows whether another process listens there.
        guard bind(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0, listen(descriptor, 1) == 0 else {
            let code = errno
            close(descriptor)
            throw ListenerProblem(variable, address, errno: code)
        }
        return descriptor
    }
}

/// Runs a listener, and reports an unusable address together with the variable that sets the address.
///
/// `ListenerCheck` may have found the address free, and another process may have taken the address since.
struct ListenerService: Service {
    let variable: String
    let address: ListenAddress
    let listener: any Service

    func run() async throws {
        do { try await listener.run() } catch let error as IOError {
            throw ListenerProblem(variable, address, errno: error.errnoCode)
        }
    }
}
