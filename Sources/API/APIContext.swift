package import Hummingbird
import Logging

/// What the API keeps of one request.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Names this request in the reply, in `errorData` and in the log.
    let requestID: String

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        var generator = SystemRandomNumberGenerator()
        requestID = String(generator.next() as UInt64, radix: 36)
        // One id is enough: ours stands for the library's own.
        logger[metadataKey: "hb.request.id"] = nil
        logger[metadataKey: "request"] = "\(requestID)"
    }
}
