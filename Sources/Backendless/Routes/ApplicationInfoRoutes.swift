import Applications
import HTTP
import Hummingbird
import Vocabulary

/// What client SDKs ask of an application before anybody has logged in.
struct ApplicationInfoRoutes {
    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "info") { _, context, application in
            var writer = JSONWriter(capacity: 128)
            writer.object { writer in
                writer.member("appId", application.application.id.text)
                // Who came by a host name has no key, and gets none.
                writer.member("apiKey", context.apiKey?.text.reveal())
                // There is no real-time service here.
                writer.key("rtURL")
                writer.string(nil)
                // Levels of loggers, which JS SDK 8 reads as a list; nobody sends logs here.
                writer.member("loggers", .array([]))
            }
            return .json(writer)
        }
        routes.on(.get, "users/userclassprops") { _, context, application in
            .json(UserClass.write(application, for: context.server == nil ? .owner : .server))
        }
    }
}
