/// What a request is sent with.
///
/// It is known to all that is done for the request, and stands in no line of the log: whoever keeps it says so.
package enum RequestAgent {
    /// `User-Agent`, nil where there is none.
    @TaskLocal package static var current: String?
}
