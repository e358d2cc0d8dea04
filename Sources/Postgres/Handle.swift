internal import CLibPQ
internal import Glibc

/// A libpq connection (`PGconn`), freed with this object.
///
/// Only the thread of the ``EventLoop`` uses it.
final class Handle {
    let pointer: OpaquePointer

    /// Begins to connect without waiting.
    ///
    /// Nil if there is no memory.
    init?(keywords: [(keyword: String, value: String)]) {
        // libpq copies both arrays; NULL ends each of them.
        let names = keywords.map { strdup($0.keyword) } + [nil]
        let values = keywords.map { strdup($0.value) } + [nil]
        defer { for string in names + values { free(string) } }
        let pointer = PQconnectStartParams(names.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 0)
        guard let pointer else { return nil }
        self.pointer = pointer
        // By default libpq prints notices to standard error. Notices can repeat values.
        PQsetNoticeReceiver(pointer, { _, _ in }, nil)
        // This verbosity adds the code to the message of a failed attempt. The text alone is in the server's language.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
    }

    deinit {
        PQfinish(pointer)
    }

    /// The socket; -1 if there is none.
    ///
    /// It may change while the connection is being established.
    var socket: Int32 { PQsocket(pointer) }

    /// libpq's message about the failed attempt to connect.
    var failure: String { String(cString: PQerrorMessage(pointer)) }
}
