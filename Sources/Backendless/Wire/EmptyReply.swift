import HTTPTypes
import Hummingbird

extension Response {
    /// A successful response without body and content type.
    ///
    /// The Swift SDK takes any text in the body for an error (docs/protocols/backendless.md §2.3).
    static var empty: Response { Response(status: .ok, headers: [.cacheControl: "no-store"]) }
}
