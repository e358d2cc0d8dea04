import HTTPTypes
import Hummingbird

extension Response {
    /// Nothing, with no content type: any text would be a fault to the Swift SDK (docs/protocols/backendless.md §2.3).
    static var empty: Response { Response(status: .ok, headers: [.cacheControl: "no-store"]) }
}
