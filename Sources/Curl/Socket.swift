internal import CLibCurl
internal import Glibc

/// Sockets for libcurl's connections.
enum Socket {
    /// Opens a socket, and limits how long sent bytes may stay unacknowledged.
    ///
    /// Returns `CURL_SOCKET_BAD` if the system cannot open a socket.
    static func open(
        for address: UnsafeMutablePointer<curl_sockaddr>,
        unacknowledgedMilliseconds: Int32
    ) -> curl_socket_t {
        let descriptor = socket(
            address.pointee.family,
            address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
            address.pointee.protocol
        )
        guard descriptor >= 0 else { return CURL_SOCKET_BAD }
        var limit = unacknowledgedMilliseconds
        setsockopt(
            descriptor,
            Int32(IPPROTO_TCP),
            TCP_USER_TIMEOUT,
            &limit,
            socklen_t(MemoryLayout<Int32>.size)
        )
        return descriptor
    }
}
