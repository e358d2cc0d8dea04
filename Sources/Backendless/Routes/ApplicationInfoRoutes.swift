import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The routes by which client SDKs read about an application before a login.
struct ApplicationInfoRoutes {
    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "info", .info) { _, context, application in
            var writer = JSONWriter(capacity: 128)
            writer.object { writer in
                writer.member("appId", application.application.id.text)
                // A request by host name has no API key, and the response has none.
                writer.member("apiKey", context.apiKey?.text.reveal())
                // There is no real-time service here.
                writer.key("rtURL")
                writer.string(nil)
                // JS SDK 8 reads the levels of loggers as a list; clients send no logs to this service.
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
        "What client SDKs ask first: which application this is.",
        .success(
            "Application and key; the key is null on a host name.",
            .object([
                "appId": .string,
                "apiKey": .string.nullable,
                "rtURL": .string.nullable.described("Always null: there is no real-time part."),
                "loggers": .array(of: .anyObject).count(upTo: 0),
            ])
        )
    )

    static let describeUsers = Operation(
        "describeUsers",
        under: "user",
        "The members of user objects, with their types.",
        .success(
            "One object for each member; what nobody declared comes last, with the type UNKNOWN.",
            .array(of: .anyObject)
        )
    )
}
