/// Where a request comes from.
///
/// It is known to all that is done for the request, so whatever is shared gives each source its share; it stands in no
/// line of the log.
package enum RequestOrigin {
    /// The name of the source (an IPv4 address or the /64 of an IPv6 address), nil where it is not known.
    @TaskLocal package static var current: String?
}
