package import Hummingbird
import Logging

/// What the API keeps of one request.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Names this request in the reply, in `errorData` and in the log.
    let requestID: String

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        // The library gives every request an id and puts it into its logger; the log handler writes it as `request`.
        requestID = source.logger[metadataKey: "hb.request.id"]?.description ?? "-"
    }
}
