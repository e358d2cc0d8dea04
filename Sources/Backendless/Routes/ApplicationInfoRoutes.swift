import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The routes by which client SDKs read facts about an application before a login.
struct ApplicationInfoRoutes {
    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "info", .info) { _, context, application in
            var writer = JSONWriter(capacity: 128)
            writer.object { writer in
                writer.member("appId", application.application.id.text)
                // A request by host name has no API key, so its response has none.
                writer.member("apiKey", context.apiKey?.text.reveal())
                // This service has no real-time service.
                writer.key("rtURL")
                writer.string(nil)
                // JS SDK 8 reads a list of log levels. It is empty, since this service takes no logs from clients.
                writer.member("loggers", .array([]))
            }
            return .json(writer)
        }
        routes.on(.get, "users/userclassprops", .describeUsers) { _, context, application in
            .json(UserClass.write(application, for: context.server == nil ? .owner : .server))
        }
    }
}

extension Operation {
    fileprivate static let info = Operation(
        "info",
        under: "session",
        "Reads which application this is. The first request of client SDKs.",
        .success(
            "Application and key. The key is null on a host name.",
            .object([
                "appId": .string,
                "apiKey": .string.nullable,
                "rtURL": .string.nullable.described("Always null: there is no real-time service."),
                "loggers": .array(of: .anyObject).count(upTo: 0),
            ])
        )
    )

    static let describeUsers = Operation(
        "describeUsers",
        under: "user",
        "Lists the members of user objects with their types.",
        .success(
            "One object per member. Undeclared ones come last, with the type UNKNOWN.",
            .array(of: .anyObject)
        )
    )
}
