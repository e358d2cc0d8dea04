/// Where a request comes from.
///
/// All work for the request can read it, so that every queue gives each source its share. It is not for the log.
package enum RequestOrigin {
    /// The name of the source (an IPv4 address or the /64 of an IPv6 address), nil where it is not known.
    @TaskLocal package static var current: String?
}
