import Administration
import EmbeddedFiles
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    /// What is about the service as a whole.
    static let service: [AdministrationRoute] = [
        .init(.get, "secrets", .viewer) { call in
            .value(try await call.administration.secrets.count())
        },
        .init(.get, "token-keys", .viewer) { call in
            .value(try await call.administration.tokenKeys.list())
        },
        .init(.post, "token-keys/rotate", .owner, factor: .within5Minutes) { call in
            .value(try await call.administration.tokenKeys.rotate(call.document(), by: call.actor))
        },
        // Providers are asked by their own route: a page that looks every minute would use up what they allow.
        .init(.get, "doctor", .viewer) { call in
            .value(Doctor.document(try await call.administration.doctor.examine(askingProviders: false)))
        },
        .init(.get, "instance", .viewer) { call in
            .value(call.administration.instance())
        },
        .init(.get, "background", .viewer, query: .page) { call in
            .value(try await call.administration.background.show(call.page))
        },
        .init(.get, "mails", .viewer) { call in
            .value(call.administration.mails.list())
        },
        .init(.post, "mails", .owner) { call in
            .value(try await call.administration.mails.sendTest(call.document(), by: call.actor))
        },
        .init(.get, "mails/{template}", .viewer, query: ["language"]) { call in
            .value(try call.administration.mails.example(of: call["template"], language: call.query["language"]))
        },
        .init(.get, "log-level", .viewer) { call in
            .value(call.administration.logLevel.show())
        },
        .init(.put, "log-level", .owner) { call in
            .value(try await call.administration.logLevel.change(call.document(), by: call.actor))
        },
        .init(.get, "operator", .viewer, factor: .none) { call in
            .value(call.administration.operators.describe(call.caller.calling))
        },
        .init(.get, "openapi.json", .viewer, factor: .none) { _ in
            .text(EmbeddedFiles.managementOpenAPI)
        },
        .init(.get, "application.schema.json", .viewer) { _ in
            .text(EmbeddedFiles.applicationSchema)
        },
    ]
}
